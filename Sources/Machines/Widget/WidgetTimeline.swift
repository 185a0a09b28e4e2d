public import TelltaleModel

/// The content of a widget from a date on.
public struct WidgetEntry: Hashable, Sendable {
    public var date: Timestamp
    /// An object.
    public var content: JSON
    /// Its relevance from its date on; an object, as posted.
    public var relevance: JSON?

    public init(date: Timestamp, content: JSON, relevance: JSON? = nil) {
        (self.date, self.content, self.relevance) = (date, content, relevance)
    }
}

/// When a source wants to be asked for the next timeline.
public enum WidgetPolicy: Hashable, Sendable {
    /// At the date of the last entry.
    case atEnd
    case never
    case after(Timestamp)
}

/// A timeline as a producer posts it: the tail of `EVT … type=timeline` (Protocols/Line/line-protocol.md §4).
public struct WidgetTimeline: Hashable, Sendable {
    /// In ascending order of dates.
    public var entries: [WidgetEntry]
    public var policy: WidgetPolicy

    /// W8: limits for the number of entries, and for the size of their content, each and together, in bytes of compact JSON.
    public static let entryLimit = 64
    public static let contentByteLimit = 4_096
    public static let byteLimit = 32_768

    public init(entries: [WidgetEntry], policy: WidgetPolicy = .atEnd) {
        (self.entries, self.policy) = (entries, policy)
    }

    /// The known members of a tail, and those of an entry.
    public static let members = ["entries", "policy"]
    private static let entryMembers = ["date", "content-state", "relevance"]

    /// Parses a tail.
    ///
    /// - Parameter unknown: Receives the names of unknown members, those of the tail first.
    public init(tail: JSONObject, unknown: inout [String]) throws(WidgetRejection) {
        for member in tail where !Self.members.contains(member.name) { Self.note(member.name, in: &unknown) }
        guard let json = tail["entries"], case .array(let elements) = json, !elements.isEmpty else {
            throw .badTail(path: "entries", expected: "an array of 1 to \(Self.entryLimit) entries")
        }
        guard elements.count <= Self.entryLimit else {
            throw .tooLarge(path: "entries", count: elements.count, limit: Self.entryLimit, unit: "entries")
        }
        var entries: [WidgetEntry] = []
        entries.reserveCapacity(elements.count)
        var byteCount = 0
        for (index, element) in elements.enumerated() {
            let path = "entries[\(index)]"
            let entry = try Self.entry(element, at: path, unknown: &unknown)
            if let last = entries.last, entry.date <= last.date {
                throw .badTail(path: "\(path).date", expected: "later than the date of the entry before it")
            }
            let count = entry.content.textByteCount
            guard count <= Self.contentByteLimit else {
                throw .tooLarge(
                    path: "\(path).content-state", count: count, limit: Self.contentByteLimit, unit: "bytes")
            }
            byteCount += count
            entries.append(entry)
        }
        guard byteCount <= Self.byteLimit else {
            throw .tooLarge(path: "entries", count: byteCount, limit: Self.byteLimit, unit: "bytes")
        }
        self.entries = entries
        policy = try Self.policy(tail["policy"])
    }

    private static func note(_ name: String, in unknown: inout [String]) {
        if unknown.count < 256, !unknown.contains(name) { unknown.append(name) }
    }

    private static func entry(
        _ json: JSON, at path: String, unknown: inout [String]
    ) throws(WidgetRejection) -> WidgetEntry {
        guard case .object(let object) = json else { throw .badTail(path: path, expected: "an object") }
        for member in object where !entryMembers.contains(member.name) { note(member.name, in: &unknown) }
        guard let date = date(object["date"]) else {
            throw .badTail(path: "\(path).date", expected: "a date in Unix seconds")
        }
        guard case .object(let content)? = object["content-state"] else {
            throw .badTail(path: "\(path).content-state", expected: "an object")
        }
        // The object is stored, and the limit does not cover the rest of the tail that it would retain.
        return WidgetEntry(
            date: date, content: .object(content.compacted), relevance: try relevance(object["relevance"], at: path))
    }

    private static func relevance(_ json: JSON?, at path: String) throws(WidgetRejection) -> JSON? {
        guard let json else { return nil }
        let place = "\(path).relevance"
        guard case .object(let object) = json else { throw .badTail(path: place, expected: "an object") }
        guard let score = object["score"], score.double != nil else {
            throw .badTail(path: "\(place).score", expected: "a number")
        }
        var kept = JSONObject()
        kept["score"] = score
        if let span = object["for"] {
            guard let seconds = span.double, seconds >= 0 else {
                throw .badTail(path: "\(place).for", expected: "seconds, 0 or more")
            }
            kept["for"] = span
        }
        return .object(kept)
    }

    private static func policy(_ json: JSON?) throws(WidgetRejection) -> WidgetPolicy {
        switch json {
        case nil, .string("atEnd")?: return .atEnd
        case .string("never")?: return .never
        case .object(let object)?:
            guard object.count == 1, let date = date(object["after"]) else { break }
            return .after(date)
        default: break
        }
        throw .badTail(path: "policy", expected: "\"atEnd\", \"never\" or {\"after\": a date in Unix seconds}")
    }

    private static func date(_ json: JSON?) -> Timestamp? { json?.double.flatMap { Timestamp(seconds: $0) } }
}

extension [WidgetEntry] {
    /// The entries without those hidden by a newer one at `now`. A date equal to the clock counts as passed (W7).
    public func cut(at now: Timestamp) -> [WidgetEntry] {
        guard let shown = lastIndex(where: { $0.date <= now }) else { return self }
        return Array(self[shown...])
    }
}

/// Why an event is answered with `ERR`. The widget is unchanged.
public enum WidgetRejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// A member of the tail has the wrong type or value (`bad_json`, with the path).
    case badTail(path: String, expected: String)
    /// More than a limit allows (`too_large`, with the path).
    case tooLarge(path: String, count: Int, limit: Int, unit: String)

    public var path: String {
        switch self {
        case .badTail(let path, _), .tooLarge(let path, _, _, _): path
        }
    }

    public var description: String {
        switch self {
        case .badTail(let path, let expected): "\(path) in the JSON tail is to be \(expected)"
        case .tooLarge(let path, let count, let limit, let unit):
            "\(path) in the JSON tail has \(count) \(unit), \(limit) is the limit"
        }
    }
}
