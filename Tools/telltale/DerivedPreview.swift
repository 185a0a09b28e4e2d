import Hub
import Kinds
import Server
import Surfaces
import TelltaleModel
import TelltaleWire

/// Runs widgets that show activities, and the activities, without a daemon: `telltale kinds run` of kinds whose source is
/// `one`, `each` or `over`.
///
/// A server without a disk decides, and one screen follows each family of each kind: it gets what a screen of the
/// daemon gets. The lines are `KEY EVENT` with the words and the tail of `EVT`, and `after` with a duration.
final class DerivedPreview: DrawnPreview {
    private var server: Server
    private let json: Bool
    private let start: Timestamp
    private var now: Timestamp
    private let poster: SessionID
    private let screen: SessionID
    private let parser = JSONParser()
    /// The rows that the screen holds, in the order of their keys.
    private var held: [Place: JSON] = [:]

    /// The most deadlines of one line. A machine whose timers arm each other would never end.
    private static let deadlineLimit = 10_000

    private struct Place: Hashable, Comparable {
        var key: String
        var subscription: Int64

        static func < (left: Place, right: Place) -> Bool {
            (left.key, left.subscription) < (right.key, right.subscription)
        }
    }

    /// - Parameters:
    ///   - kinds: All kinds in force.
    ///   - shown: The names of the kinds whose widgets are shown.
    ///   - now: When the preview begins; `after` moves it.
    /// - Throws: ``PreviewFault`` if the surface shows none of them.
    init(_ kinds: [Kind], showing shown: Set<String>, surface: Surface, json: Bool, at now: Timestamp) throws {
        (self.json, start, self.now) = (json, now, now)
        server = Server(
            Hub(configuration: HubConfiguration(), epoch: 1), configuration: .withoutDisk, snapshotSequence: 0)
        try server.adopt(kinds)
        let begin = HubTime(time: now, wall: now, monotonic: MonotonicTime(milliseconds: 0))
        (poster, screen) = (server.connected(at: begin), server.connected(at: begin))
        turn()
        var count = 0
        for kind in kinds where shown.contains(kind.name) {
            guard case .widget(let definition) = kind.body else { continue }
            // A widget with situations is shown in the first one.
            if let situation = definition.relevance?.situations.first {
                say("TRAIT \(situation.trait)=\(situation.value)", from: screen)
            }
            for family in definition.families {
                guard let scene = WidgetPicture.scene(of: definition, family, on: surface) else { continue }
                say(
                    "SUB \(kind.name)/* view=\(surface.rawValue) family=\(family.rawValue) placement=\(scene.place.rawValue)",
                    from: screen)
                count += 1
            }
        }
        guard count > 0 else {
            throw PreviewFault(text: "no family of it is shown on \(surface.rawValue); name another --view")
        }
        turn()
        _ = lines(for: poster)
    }

    /// The widgets before any line.
    func first() -> [String] { shown("start", reply: nil) }

    func apply(_ word: String, _ tail: String) throws -> [String] {
        guard Key(word) != nil, let type = tail.split(separator: " ").first, type.first != "{" else {
            throw PreviewFault(text: "a line is KEY EVENT, as in coffee-order/1 confirm, or after with a duration")
        }
        say("EVT \(word) type=\(tail)", from: poster)
        turn()
        // A heartbeat may precede the reply.
        guard let reply = lines(for: poster).last(where: { $0.verb != "MARK" }) else {
            throw PreviewFault(text: "it has no answer")
        }
        guard reply.verb == "OK" else { throw PreviewFault(text: reply.message ?? "it is refused") }
        if let ignored = reply["ignored"] { throw PreviewFault(text: "an event has no \(ignored)") }
        return shown("\(word) \(type)", reply: reply)
    }

    // MARK: The server

    private var time: HubTime {
        HubTime(
            time: now, wall: now, monotonic: MonotonicTime(milliseconds: max(0, (now - start).count)), leap: .zero)
    }

    private func say(_ line: String, from session: SessionID) {
        // Lines are sent one by one, so none waits unread.
        _ = server.received(Array((line + "\n").utf8).span, from: session, at: time)
    }

    /// Decides all there is; everything decided is durable.
    private func turn() {
        repeat {
            server.turnWithoutDisk(at: time) { collect(own: $1, shared: $2, for: $0) }
        } while !server.isIdle(at: time)
    }

    /// Lets time pass: what falls due meanwhile happens at its own time.
    func pass(_ span: Milliseconds, _ text: String) throws -> [String] {
        let end = now + span
        for _ in 0..<Self.deadlineLimit {
            let due = [server.nextDeadline, server.nextWallDeadline].compactMap(\.self).min()
            guard let due, due <= end else {
                now = end
                turn()
                return shown(text, reply: nil)
            }
            now = max(now, due)
            turn()
        }
        throw PreviewFault(text: "more than \(Self.deadlineLimit) things fall due meanwhile")
    }

    /// The lines to a session since the last call.
    private func lines(for session: SessionID) -> [ServerLine] {
        waiting.removeValue(forKey: session) ?? []
    }

    private var waiting: [SessionID: [ServerLine]] = [:]

    private func collect(own: [UInt8], shared: ArraySlice<UInt8>, for id: SessionID) {
        for line in (own + shared).split(separator: UInt8(ascii: "\n")) {
            guard let line = try? ServerLine(Array(line).span, parser: parser) else { continue }
            waiting[id, default: []].append(line)
        }
    }

    // MARK: What is shown

    /// The rows sent to the screen since the last input line, and those whose next entry has come due.
    private func shown(_ event: String, reply: ServerLine?) -> [String] {
        var reported: Set<Place> = []
        var removed: [JSON] = []
        for line in lines(for: screen) {
            guard let key = line["key"], let number = line.integer("sub") else { continue }
            let place = Place(key: key, subscription: number)
            switch line.verb {
            case "SNAP", "UPD":
                held[place] = .object(line.tail ?? JSONObject())
                reported.insert(place)
            case "DEL":
                held[place] = nil
                reported.remove(place)
                let entry: JSON = ["key": .string(key), "why": .string(line["why"] ?? "")]
                if !removed.contains(entry) { removed.append(entry) }
            default: break
            }
        }
        let turned = held.keys.filter { !reported.contains($0) && hasTurned($0) }.sorted()
        since = now
        let rows = reported.sorted()
        guard json else {
            let head = [event, reply?["verdict"] ?? "", reply?["state"] ?? ""].filter { !$0.isEmpty }
            let gone = removed.map { "  \($0["key"]?.string ?? "")  gone (\($0["why"]?.string ?? ""))" }
            return ([head.joined(separator: " ")] + gone).map(\.harmless)
                + rows.flatMap { picture($0, "") } + turned.flatMap { picture($0, "by itself: ") }
        }
        func objects(_ places: [Place]) -> JSON {
            .array(places.map { ["key": .string($0.key), "row": held[$0] ?? .null] })
        }
        var object: JSONObject = ["event": .string(event)]
        if let reply {
            object["verdict"] = reply["verdict"].map(JSON.string)
            object["state"] = reply["state"].map(JSON.string)
        }
        object["rows"] = objects(rows)
        object["removed"] = .array(removed)
        object["turned"] = objects(turned)
        return [JSON.object(object).description]
    }

    private lazy var since = start

    /// Whether the date of an entry has come since the last line.
    private func hasTurned(_ place: Place) -> Bool {
        (held[place]?["entries"]?.array ?? []).contains { entry in
            entry["date"]?.integer.map { $0 > since.milliseconds && $0 <= now.milliseconds } ?? false
        }
    }

    private func picture(_ place: Place, _ label: String) -> [String] {
        guard var row = held[place]?.object else { return [] }
        // Entries before the shown one are over.
        let entries = row["entries"]?.array ?? []
        let shown = entries.lastIndex { $0["date"]?.integer.map { $0 <= now.milliseconds } ?? false } ?? 0
        row["entries"] = .array(Array(entries.dropFirst(shown)))
        return WidgetPicture.lines(of: .object(row), label: "\(label)\(place.key)  ", at: now)
    }
}
