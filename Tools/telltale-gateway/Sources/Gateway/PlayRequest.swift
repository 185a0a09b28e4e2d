internal import KindPreview
internal import Kinds
internal import Machines
internal import Surfaces
public import TelltaleModel

/// `POST /v1/play`: a kind file, and the steps of one entity. Nothing is stored: each request contains all steps.
public struct PlayRequest: Sendable {
    /// The longest body, in bytes.
    public static let byteLimit = 128_000
    static let stepLimit = 500
    /// The largest size of all rows together, in bytes.
    static let rowLimit = 512 * 1_024
    /// The longest log, in bytes.
    static let logLimit = 512 * 1_024
    /// The longest time of one step.
    static let spanLimit = Milliseconds.days(366)

    private var preview: EntityPreview
    private var steps: [EntityPreview.Step]
    private var traits = Traits()

    /// - Parameters:
    ///   - body: `{"kind":{…},"id":…,"at":…,"steps":[…],"traits":{…}}`, all but `kind` optional.
    ///   - now: The start of the play, if the body does not set it.
    /// - Throws: `bad_json`, `bad_kind`.
    public init(_ body: [UInt8], now: Timestamp) throws(Problem) {
        let object = try EventRequest.object(body.span)
        try Self.check(object, "the body", ["kind", "id", "at", "steps", "traits"])
        guard let source = object["kind"], source.object != nil else {
            throw Self.fault("kind", "is to be a kind file, as an object")
        }
        // Checked before it is parsed, because parsing counts as play time but cannot be interrupted.
        guard source.textByteCount <= LintReport.byteLimit else {
            throw Problem("too_large", "the kind is larger than \(LintReport.byteLimit) bytes; say less")
        }
        let (kind, diagnostics) = Kind.read(source, file: "")
        guard let kind else {
            let first = diagnostics.first
            throw Problem(
                "bad_kind",
                "the kind file has faults, the first one at \(first?.path ?? "its beginning"): \(first?.message ?? "it is no kind"); POST /v1/lint tells all of them"
            )
        }
        if case .widget = kind.body {
            throw Problem("bad_kind", "a widget has no machine to be played; `telltale kinds run` draws its timeline")
        }
        var begin = now
        if let at = object["at"] {
            guard let time = at.integer, (0...253_402_300_799_999).contains(time) else {
                throw Self.fault("at", "is to be Unix milliseconds")
            }
            begin = Timestamp(milliseconds: time)
        }
        let id = object["id"] ?? "1042"
        guard let text = id.string, let preview = EntityPreview(kind, id: text, at: begin) else {
            throw Self.fault("id", "is to be the second half of a key")
        }
        self.preview = preview
        let list = object["steps"] ?? .array([])
        guard let array = list.array, array.count <= Self.stepLimit else {
            throw Self.fault("steps", "is to be an array of at most \(Self.stepLimit) steps")
        }
        steps = []
        for (index, step) in array.enumerated() { steps.append(try PlayStep.read(step, "steps[\(index)]")) }
        guard let names = (object["traits"] ?? .object(JSONObject())).object else {
            throw Self.fault("traits", "is to be an object of texts")
        }
        for member in names {
            do throws(TraitError) {
                try traits.set(member.name, to: member.value.string ?? "")
            } catch {
                throw Self.fault("traits", "\(error)")
            }
        }
    }

    /// Takes all steps.
    ///
    /// - Parameter mayGoOn: Called between the parts of the play.
    /// - Returns: The log of the play, and the rows of every screen at its end.
    /// - Throws: `too_complex` if it may not continue, or if the rows are too long.
    public consuming func play(mayGoOn: () -> Bool) throws(Problem) -> [UInt8] {
        for step in steps {
            guard preview.performStep(step, mayGoOn: mayGoOn), mayGoOn() else {
                throw Self.tooComplex("takes too long")
            }
        }
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("kind")
        LintReport.write(preview.kind, to: &writer)
        writer.member("key", preview.key.text)
        writer.member("now", preview.now.milliseconds)
        writer.name("next")
        if let next = preview.deadline { writer.value(next.milliseconds) } else { writer.null() }
        writeLog(to: &writer)
        guard writer.bytes.count <= Self.logLimit else {
            throw Self.tooComplex("makes a log of more than \(Self.logLimit) bytes")
        }
        writer.name("rows")
        guard preview.writeRows(traits: traits, limit: Self.rowLimit, to: &writer) else {
            throw Self.tooComplex("makes rows of more than \(Self.rowLimit) bytes")
        }
        writer.name("opened")
        if let row = preview.openedRow(traits: traits) { writer.raw(row) } else { writer.null() }
        writeAlerts(to: &writer)
        writer.endObject()
        guard mayGoOn() else { throw Self.tooComplex("takes too long") }
        return writer.take()
    }

    private static func tooComplex(_ what: String) -> Problem {
        Problem("too_complex", "the play \(what); take fewer steps, or a smaller machine")
    }

    private func writeLog(to writer: inout JSONWriter) {
        writer.objects("log", of: preview.log) { entry, writer in
            writer.member("step", entry.step)
            writer.member("at", entry.time.milliseconds)
            writer.member("type", entry.name)
            writer.member("verdict", entry.verdict?.rawValue ?? "refused")
            writer.member("state", entry.state)
            if let note = entry.note { writer.member("note", note) }
            if let alert = entry.alert {
                writer.name("alert")
                alert.write(style: nil, to: &writer)
            }
        }
    }

    /// The alert of the last step, on each surface that draws it.
    private func writeAlerts(to writer: inout JSONWriter) {
        writer.object("alerts") { writer in
            if let alert = preview.alert {
                for surface in EntityPreview.surfaces {
                    guard let style = preview.alertStyle(on: surface, traits: traits) else { continue }
                    writer.name(of: surface.rawValue)
                    let isRedacted = traits.isRedacted(on: surface, SurfaceSettings())
                    let drawn = isRedacted ? alert.redacted(title: preview.kind.title) : alert
                    drawn.write(style: style.rawValue, to: &writer)
                }
            }
        }
    }

    static func fault(_ place: String, _ words: String) -> Problem { Problem("bad_json", "\(place) \(words)") }

    static func check(_ object: JSONObject, _ place: String, _ names: Set<String>) throws(Problem) {
        for member in object where !names.contains(member.name) {
            throw fault(
                place,
                "has no member \"\(member.name.prefix(70))\"; there are \(names.sorted().joined(separator: ", "))")
        }
    }
}

/// One step of a play: an object with one member that names the step, and `data` beside `event`.
enum PlayStep {
    static func read(_ json: JSON, _ place: String) throws(Problem) -> EntityPreview.Step {
        guard let object = json.object, let first = object.first(where: { $0.name != "data" }) else {
            throw PlayRequest.fault(place, "is to be an object such as {\"event\":\"ready\"} or {\"after\":\"5m\"}")
        }
        try PlayRequest.check(object, place, first.name == "event" ? ["event", "data"] : [first.name])
        let value = first.value
        switch first.name {
        case "event": return try event(value, object["data"], place)
        case "after": return .pass(try span(value, place))
        case "set": return .set(try isOn(value, "\(place).set"))
        case "report": return .report(try isOn(value, "\(place).report"))
        case "press":
            guard value.bool == true else { throw PlayRequest.fault("\(place).press", "is true") }
            return .press
        case "done": return .done(value.bool == true ? nil : try isOn(value, "\(place).done"))
        case "fail":
            guard let text = value.string else { throw PlayRequest.fault("\(place).fail", "is a text: why it fails") }
            return .fail(text)
        case "provider":
            guard let text = value.string, ["there", "gone"].contains(text) else {
                throw PlayRequest.fault("\(place).provider", "is \"there\" or \"gone\"")
            }
            return .serve(text == "there")
        default:
            throw PlayRequest.fault(
                place,
                "says \"\(first.name.prefix(70))\"; a step says event, after, set, press, report, done, fail or provider"
            )
        }
    }

    private static func event(_ name: JSON, _ data: JSON?, _ place: String) throws(Problem) -> EntityPreview.Step {
        guard let text = name.string, EventName.isValid(text) else {
            throw PlayRequest.fault("\(place).event", "is to be an event's name: A-Z a-z 0-9 _ . : -")
        }
        guard let tail = (data ?? .object(JSONObject())).object else {
            throw PlayRequest.fault("\(place).data", "is to be an object such as {\"content-state\":{…}}")
        }
        var unknown: [String] = []
        let details: EventDetails
        do throws(ActivityRejection) {
            details = try EventDetails(tail: tail, unknown: &unknown)
        } catch {
            throw PlayRequest.fault("\(place).data", "is faulty: \(error)")
        }
        guard unknown.isEmpty else {
            throw PlayRequest.fault(
                "\(place).data",
                "has no \(unknown.prefix(5).joined(separator: ", ").prefix(200)); there are \(EventDetails.members.joined(separator: ", "))"
            )
        }
        return .event(text, details)
    }

    private static func span(_ json: JSON, _ place: String) throws(Problem) -> Milliseconds {
        let span = json.integer.map { Milliseconds($0) } ?? json.string.flatMap { Milliseconds(duration: $0) }
        guard let span, span >= .zero, span <= PlayRequest.spanLimit else {
            throw PlayRequest.fault(
                "\(place).after", "is to be a duration such as \"5m\", or milliseconds; at most 366 days")
        }
        return span
    }

    private static func isOn(_ json: JSON, _ place: String) throws(Problem) -> Bool {
        guard let text = json.string, ["on", "off"].contains(text) else {
            throw PlayRequest.fault(place, "is \"on\" or \"off\"")
        }
        return text == "on"
    }
}
