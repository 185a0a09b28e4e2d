import TelltaleEventLoop

/// A server that takes events and acknowledges each: the differences between the compared servers.
protocol IngestTarget: AnyObject {
    var name: String { get }
    var process: ServerProcess { get }
    var endpoint: Endpoint { get }
    /// The opening of connection `connection`, which follows the server's greeting.
    func opening(_ connection: Int) -> [UInt8]

    /// Appends event number `number` of connection `connection`.
    func append(_ number: Int, connection: Int, to bytes: inout [UInt8])

    /// The meaning of one line of the server.
    func meaning(of line: Span<UInt8>) -> IngestAnswer
}

enum IngestAnswer {
    case acknowledged
    case refused
    /// Neither: a heartbeat, the head of a message.
    case nothing
}

/// The same event for every server: one line of our protocol, `byteCount` long with its line end.
struct IngestEvent {
    private var template: [UInt8]
    private let keyPosition: Int
    private let sourcePosition: Int
    private let eidPosition: Int
    /// Of a number that makes each content another one.
    private let contentPosition: Int
    private let keyCount: Int

    private static let keyDigits = 7
    private static let sourceDigits = 3
    private static let eidDigits = 10

    /// With content of `contentByteCount` bytes instead.
    init(contentByteCount: Int, keyCount: Int) {
        let empty = IngestEvent(byteCount: 0, keyCount: keyCount)
        let emptyContent = #"{"n":10000000000,"note":""}"#.utf8.count
        self.init(byteCount: empty.byteCount + contentByteCount - emptyContent, keyCount: keyCount)
    }

    init(byteCount: Int, keyCount: Int) {
        self.keyCount = keyCount
        func zeros(_ count: Int) -> String { String(repeating: "0", count: count) }
        let head = "EVT tally/"
        var text = head + zeros(Self.keyDigits) + " type=tick src=b"
        sourcePosition = text.utf8.count
        text += zeros(Self.sourceDigits) + " eid=e"
        eidPosition = text.utf8.count
        // A leading 1, because JSON's numbers do not begin with 0.
        text += zeros(Self.eidDigits) + #" {"content-state":{"n":1"#
        contentPosition = text.utf8.count
        text += zeros(Self.eidDigits) + #","note":""#
        let tail = "\"}}\n"
        text += String(repeating: "x", count: max(0, byteCount - text.utf8.count - tail.utf8.count)) + tail
        keyPosition = head.utf8.count
        template = Array(text.utf8)
    }

    var byteCount: Int { template.count }

    /// Events of one connection go round its own keys, so that none waits for another's order.
    func append(_ number: Int, connection: Int, to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes += template
        bytes.write((connection * 7_919 + number) % keyCount, digits: Self.keyDigits, at: start + keyPosition)
        bytes.write(connection, digits: Self.sourceDigits, at: start + sourcePosition)
        bytes.write(number, digits: Self.eidDigits, at: start + eidPosition)
        bytes.write(number, digits: Self.eidDigits, at: start + contentPosition)
    }
}

extension [UInt8] {
    /// Writes the last `digits` decimal digits of a number over those at `position`. Inlined, because `Tools/ci/guard-deliveries`
    /// counts the instructions of the load too.
    @inline(__always)
    mutating func write(_ number: Int, digits: Int, at position: Int) {
        var rest = number
        for index in stride(from: position + digits - 1, through: position, by: -1) {
            self[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }
}

extension Span<UInt8> {
    /// Whether `text` stands at `position`.
    func has(_ text: StaticString, at position: Int) -> Bool {
        guard position + text.utf8CodeUnitCount <= count else { return false }
        return text.withUTF8Buffer { text in
            for index in text.indices where unsafe self[position + index] != text[index] { return false }
            return true
        }
    }
}
