internal import Kinds
internal import Synchronization
public import TelltaleModel
public import TelltaleWire

/// The event that a request posts: path, query and body, as the daemon's `EVT` takes them.
public enum EventRequest {
    /// The longest body of a request, in bytes, hooks aside: a line of the daemon holds it with its attributes.
    public static let bodyByteLimit = 64_000
    /// The longest body of a batch of CloudEvents, in bytes.
    public static let batchByteLimit = 1_048_576
    /// The longest body of a hook's delivery, in bytes: shops send whole orders, and disable a hook that refuses some.
    public static let deliveryByteLimit = 8_388_608

    /// - Throws: `bad_key`, `bad_attr`, `bad_json`.
    public static func make(
        kind: String, id: String, type: String, query: Query, body: [UInt8], eid: String
    ) throws(Problem) -> EventCommand {
        var event = EventCommand(key: try key(kind, id), type: try Self.type(type), eid: eid)
        event.source = try query.word("src")
        event.happenedAt = try query.number("at").map { Timestamp(milliseconds: $0) }
        event.version = try query.number("ver")
        event.accounts = try accounts(query.word("for"))
        event.tail = try object(body.span)
        return event
    }

    /// - Throws: `bad_key`.
    public static func key(_ kind: String, _ id: String) throws(Problem) -> Key {
        guard let key = Key(kind: kind, id: id) else { throw badKey("\(kind)/\(id)") }
        return key
    }

    static func badKey(_ text: String) -> Problem {
        Problem(
            "bad_key",
            "\"\(text.prefix(140))\" is no key: kind/id, each 1 to \(Key.segmentLengthLimit) bytes of A-Z a-z 0-9 . _ ~ : @ -"
        )
    }

    /// - Throws: `bad_attr`.
    public static func type(_ text: String) throws(Problem) -> String {
        guard EventName.isValid(text) else {
            throw Problem(
                "bad_attr",
                "\"\(text.prefix(70))\" is no event's name: 1 to \(WireLimits.eventNameLength) bytes of A-Z a-z 0-9 _ . : -"
            )
        }
        return text
    }

    /// The accounts of a `for=`, comma-separated.
    ///
    /// - Throws: `bad_attr` for an empty one.
    static func accounts(_ text: String?) throws(Problem) -> [String] {
        guard let text else { return [] }
        let accounts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard !accounts.contains("") else {
            throw Problem("bad_attr", "for= is to be accounts with commas between them, none empty")
        }
        return accounts
    }

    /// One JSON object, or nothing.
    ///
    /// - Throws: `bad_json`.
    public static func object(_ body: Span<UInt8>) throws(Problem) -> JSONObject {
        var isBlank = true
        for index in body.indices where ![0x20, 0x09, 0x0A, 0x0D].contains(body[index]) {
            isBlank = false
            break
        }
        if isBlank { return JSONObject() }
        guard case .object(let object) = try json(body) else {
            throw Problem("bad_json", "the body is no JSON object; send {…} or nothing")
        }
        return object
    }

    /// - Throws: `bad_json`.
    public static func json(_ body: Span<UInt8>) throws(Problem) -> JSON {
        do {
            return try SharedJSONParser.parse(body)
        } catch {
            throw Problem("bad_json", "the body: \(error)")
        }
    }
}

/// Parsers for any task, which keep their buffers from one use to the next.
enum SharedJSONParser {

    private final class Box: @unchecked Sendable {
        let parser = JSONParser()
    }

    private static let spare = Mutex<[Box]>([])

    static func parse(_ bytes: Span<UInt8>) throws(JSONError) -> JSON {
        let box = spare.withLock { $0.popLast() } ?? Box()
        defer { spare.withLock { if $0.count < 8 { $0.append(box) } } }
        return try box.parser.parse(bytes)
    }
}
