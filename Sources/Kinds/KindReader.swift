internal import TelltaleModel
internal import TelltaleStatechart

/// Reads one kind file, part by part, and collects its faults.
///
/// Reading continues after a fault: an invalid part is left out, so that the author sees all faults at once.
struct KindReader {
    let file: String
    var diagnostics: [Diagnostic] = []
    /// Every template of the file with its location, for the lint of paths.
    var templates: [(template: Template, path: String)] = []
    /// Where private texts stand, and whose they are: `views.small.subtitle` of `small`.
    var privatePlaces: [(path: String, owner: String)] = []
    /// The states that views name in a `when`, and where.
    var namedStates: [(name: String, path: String)] = []
    /// Whether what is drawn is an activity, which has states.
    var viewsHaveStates = true

    /// Whether an earlier release accepted the kind; faults reported by ``refuse(_:_:advice:)`` are then warnings.
    let isAdmitted: Bool

    init(file: String, isAdmitted: Bool = false) {
        self.file = file
        self.isAdmitted = isAdmitted
    }

    // MARK: - Diagnostics

    mutating func error(_ path: String, _ message: String, advice: String) {
        diagnose(.error, path, message, advice: advice)
    }

    /// Reports an error, or a warning if activities may already depend on this kind: see ``Kind/read(journaled:)``.
    mutating func refuse(_ path: String, _ message: String, advice: String) {
        if isAdmitted {
            warn(path, message, advice: advice)
        } else {
            error(path, message, advice: advice)
        }
    }

    mutating func warn(_ path: String, _ message: String, advice: String) {
        diagnose(.warning, path, message, advice: advice)
    }

    private mutating func diagnose(_ severity: Diagnostic.Severity, _ path: String, _ message: String, advice: String) {
        diagnostics.append(Diagnostic(shortening: severity, file: file, path: path, message, advice: advice))
    }

    /// The distinct diagnostics: errors first, then by path.
    func sortedDiagnostics() -> [Diagnostic] { Diagnostic.sorted(diagnostics) }

    // MARK: - Objects

    /// The object at `path`. Reports an error for every member that is not in `names`.
    mutating func object(_ json: JSON, at path: String, knows names: [String]) -> JSONObject? {
        guard let object = json.object else {
            wrongType(json, at: path, expected: "an object")
            return nil
        }
        for member in object where !names.contains(where: { $0.utf8.elementsEqual(member.name.utf8) }) {
            let close = Spelling.nearest(to: member.name, among: names)
            error(
                Self.join(path, member.name), "\(quoted(member.name)) is not known here",
                advice: close.map { "did you mean \(quoted($0))?" }
                    ?? (names.isEmpty ? "take it out" : "take it out; known are \(names.joined(separator: ", "))"))
        }
        return object
    }

    static func join(_ path: String, _ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    // MARK: - Values. Each is `nil` if the member is absent, or invalid and reported.

    /// - Parameter read: The value of the right type.
    private mutating func value<Value>(
        _ object: JSONObject, _ name: String, at path: String, expected: String, _ read: (JSON) -> Value?
    ) -> Value? {
        guard let json = object[name] else { return nil }
        guard let value = read(json) else {
            wrongType(json, at: Self.join(path, name), expected: expected)
            return nil
        }
        return value
    }

    mutating func string(_ object: JSONObject, _ name: String, at path: String) -> String? {
        value(object, name, at: path, expected: "a text", \.string)
    }

    /// A text that is present and not empty.
    mutating func requiredString(_ object: JSONObject, _ name: String, at path: String, example: String) -> String? {
        guard object[name] != nil else {
            missing(name, at: path, example: quoted(example))
            return nil
        }
        guard let text = string(object, name, at: path) else { return nil }
        guard !text.isEmpty else {
            error(Self.join(path, name), "\(quoted(name)) is empty", advice: "write for example \(quoted(example))")
            return nil
        }
        return text
    }

    /// A text that rows repeat to every subscriber, of at most ``textLimit`` characters.
    mutating func text(_ object: JSONObject, _ name: String, at path: String) -> String? {
        guard let text = string(object, name, at: path) else { return nil }
        checkLength(of: text, limit: Self.textLimit, at: Self.join(path, name))
        return text
    }

    /// The largest number of characters of a displayed text, a symbol name or a template, in Unicode scalars as JSON
    /// Schema counts them.
    static let textLimit = 256
    static let templateLimit = 1_024

    mutating func checkLength(of text: String, limit: Int, at path: String) {
        // A scalar takes at least one byte.
        guard text.utf8.count > limit else { return }
        let count = text.unicodeScalars.count
        guard count > limit else { return }
        refuse(path, "it has \(count) characters, \(limit) are the limit", advice: "shorten it")
    }

    mutating func bool(_ object: JSONObject, _ name: String, at path: String) -> Bool? {
        value(object, name, at: path, expected: "true or false", \.bool)
    }

    mutating func integer(_ object: JSONObject, _ name: String, at path: String) -> Int? {
        value(object, name, at: path, expected: "a whole number") { $0.integer.flatMap { Int(exactly: $0) } }
    }

    mutating func duration(
        _ object: JSONObject, _ name: String, at path: String, canBeZero: Bool = false
    ) -> Milliseconds? {
        guard object[name] != nil, let text = string(object, name, at: path) else { return nil }
        guard let span = duration(text, at: Self.join(path, name)) else { return nil }
        guard canBeZero || span > .zero else {
            error(
                Self.join(path, name), "\(quoted(name)) is no time at all",
                advice: "write a duration above 0, or take it out")
            return nil
        }
        return span
    }

    mutating func duration(_ text: String, at path: String) -> Milliseconds? {
        if let span = Milliseconds(duration: text) { return span }
        error(
            path, "\(quoted(text)) is not a duration",
            advice: "write 500ms, 30s, 5m, 2h, 7d, or ISO 8601 like PT5M (years and months have no fixed length)")
        return nil
    }

    mutating func array(_ object: JSONObject, _ name: String, at path: String, of what: String) -> [JSON]? {
        value(object, name, at: path, expected: "an array of \(what)", \.array)
    }

    mutating func strings(_ object: JSONObject, _ name: String, at path: String, of what: String) -> [String]? {
        guard let array = array(object, name, at: path, of: what) else { return nil }
        var strings: [String] = []
        // A set of byte strings, because a kind may have thousands of instances.
        var known: Set<[UInt8]> = []
        for (index, element) in array.enumerated() {
            let place = "\(Self.join(path, name))[\(index)]"
            guard let string = element.string else {
                wrongType(element, at: place, expected: "a text")
                continue
            }
            if known.insert(Array(string.utf8)).inserted {
                strings.append(string)
            } else {
                error(place, "\(quoted(string)) stands twice", advice: "take one out")
            }
        }
        return strings
    }

    mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ object: JSONObject, _ name: String, at path: String, _ type: Choice.Type
    ) -> Choice? where Choice.RawValue == String {
        guard let text = string(object, name, at: path) else { return nil }
        if let choice = Choice(rawValue: text) { return choice }
        let all = Choice.allCases.map { quoted($0.rawValue) }.joined(separator: " or ")
        error(Self.join(path, name), "\(quoted(text)) is not a \(name)", advice: "write \(all)")
        return nil
    }

    mutating func eventName(_ text: String, at path: String) -> String? {
        if EventName.isValid(text) { return text }
        error(
            path, "\(quoted(text)) is not an event's name", advice: "use 1 to 64 of A-Z a-z 0-9 _ . : - (and no spaces)"
        )
        return nil
    }

    mutating func template(_ object: JSONObject, _ name: String, at path: String) -> Template? {
        guard let text = string(object, name, at: path) else { return nil }
        return template(text, at: Self.join(path, name))
    }

    mutating func template(_ text: String, at path: String) -> Template? {
        checkLength(of: text, limit: Self.templateLimit, at: path)
        do throws(TemplateSyntaxError) {
            let template = try Template(text)
            templates.append((template, path))
            return template
        } catch {
            self.error(
                path, "the template \(quoted(text)) is broken at byte \(error.offset): \(error.reason)",
                advice: "write {{path}} or {{path | filter}}")
            return nil
        }
    }

    // MARK: - Faults that many parts share

    mutating func missing(_ name: String, at path: String, example: String) {
        error(Self.join(path, name), "\(quoted(name)) is missing", advice: "add \(quoted(name)): \(example)")
    }

    mutating func wrongType(_ json: JSON, at path: String, expected: String) {
        let found =
            switch json {
            case .null: "null"
            case .bool: "true or false"
            case .integer, .number: "a number"
            case .string: "a text"
            case .array: "an array"
            case .object: "an object"
            }
        error(path, "\(expected) is expected, not \(found)", advice: "write \(expected)")
    }
}

extension Diagnostic {
    /// The distinct diagnostics: errors first, then by file and path.
    static func sorted(_ diagnostics: [Diagnostic]) -> [Diagnostic] {
        var seen: Set<Diagnostic> = []
        return diagnostics.enumerated()
            .filter { seen.insert($0.element).inserted }
            .sorted { left, right in
                if left.element.severity != right.element.severity { return left.element.severity == .error }
                if left.element.file != right.element.file {
                    return left.element.file.utf8.lexicographicallyPrecedes(right.element.file.utf8)
                }
                return left.offset < right.offset
            }
            .map(\.element)
    }
}

/// The grammar of event names in Protocols/Line/line-protocol.md §2.
public enum EventName {
    public static func isValid(_ text: String) -> Bool { text.isName(with: "_.:-") }
}

/// Suggestions for misspelt names.
enum Spelling {
    /// The candidate with the smallest edit distance from `name`, ignoring case; `nil` if the distance exceeds a third
    /// of the letters.
    static func nearest(to name: String, among candidates: [String]) -> String? {
        guard name.utf8.count <= 64 else { return nil }
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let distance = self.distance(Array(name.lowercased().utf8), Array(candidate.lowercased().utf8))
            guard distance * 3 <= max(candidate.utf8.count, 3) else { continue }
            if best.map({ distance < $0.distance }) ?? true { best = (candidate, distance) }
        }
        return best?.candidate
    }

    /// The Levenshtein distance: letters to insert, remove or replace.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (i, byte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in right.enumerated() {
                let replaced = diagonal + (byte == other ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(replaced, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[right.count]
    }
}
