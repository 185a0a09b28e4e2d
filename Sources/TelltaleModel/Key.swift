/// The name of one live activity or control: `kind/id`.
///
/// Both segments are 1 to 64 bytes of `[A-Za-z0-9._~:@-]` (Protocols/Line/line-protocol.md §2), so a key is ASCII and
/// two keys are equal exactly when their bytes are.
public struct Key: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The whole key, `kind/id`.
    public let text: String
    private let kindLength: UInt8

    // Sliced by bytes, because `prefix` would search for character boundaries.
    public var kind: Substring { text[..<text.utf8.index(text.startIndex, offsetBy: Int(kindLength))] }
    public var id: Substring { text[text.utf8.index(text.startIndex, offsetBy: Int(kindLength) + 1)...] }
    public var description: String { text }

    /// The longest segment, in bytes.
    public static let segmentLengthLimit = 64

    /// `nil` when `text` is outside the grammar.
    public init?(_ text: some StringProtocol) {
        let text = String(text)
        self.init(text.utf8.span)
    }

    /// `nil` when `bytes` are outside the grammar.
    public init?(_ bytes: Span<UInt8>) {
        guard let kindLength = Self.segmentLength(bytes, from: 0), kindLength < bytes.count,
            bytes[kindLength] == UInt8(ascii: "/"),
            let idLength = Self.segmentLength(bytes, from: kindLength + 1),
            kindLength + 1 + idLength == bytes.count, let text = String(ascii: bytes)
        else { return nil }
        self.text = text
        self.kindLength = UInt8(kindLength)
    }

    /// The length of the segment at `start`, in bytes; `nil` if it is empty or over the limit.
    private static func segmentLength(_ bytes: Span<UInt8>, from start: Int) -> Int? {
        var end = start
        while end < bytes.count, isSegmentByte(bytes[end]) { end += 1 }
        return (1...segmentLengthLimit).contains(end - start) ? end - start : nil
    }

    public init?(kind: some StringProtocol, id: some StringProtocol) {
        self.init("\(kind)/\(id)")
    }

    /// Whether `bytes` are valid on either side of a key's slash.
    public static func isSegment(_ bytes: some Collection<UInt8>) -> Bool {
        (1...segmentLengthLimit).contains(bytes.count) && bytes.allSatisfy(isSegmentByte)
    }

    public static func < (left: Key, right: Key) -> Bool {
        left.text.precedesInBytes(right.text)
    }

    private static func isSegmentByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: ":"), UInt8(ascii: "@"),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

/// The keys that a subscription follows: one key, every key of a kind (`kind/*`), or all keys (`*`).
public enum Pattern: Hashable, Sendable, CustomStringConvertible {
    case all
    case kind(String)
    case key(Key)

    /// `nil` when `text` is outside the grammar of Protocols/Line/line-protocol.md §2.
    public init?(_ text: some StringProtocol) {
        if text == "*" {
            self = .all
        } else if text.utf8.suffix(2).elementsEqual("/*".utf8), Key.isSegment(text.utf8.dropLast(2)) {
            self = .kind(String(text.dropLast(2)))
        } else if let key = Key(text) {
            self = .key(key)
        } else {
            return nil
        }
    }

    /// Whether it is a single key.
    public var isKey: Bool { if case .key = self { true } else { false } }

    public var description: String {
        switch self {
        case .all: "*"
        case .kind(let kind): "\(kind)/*"
        case .key(let key): key.text
        }
    }

    public func matches(_ key: Key) -> Bool {
        switch self {
        case .all: true
        case .kind(let kind): key.kind == kind
        case .key(let own): key == own
        }
    }
}
