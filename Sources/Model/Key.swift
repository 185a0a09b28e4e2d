/// The name of one live activity or control: `kind/id`.
///
/// Both segments are 1 to 64 bytes of `[A-Za-z0-9._~:@-]` (protocol.md §1), so a key is ASCII and two keys are equal
/// exactly when their bytes are.
public struct Key: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The whole key, `kind/id`.
    public let text: String
    private let kindLength: UInt8

    public var kind: Substring { text.prefix(Int(kindLength)) }
    public var id: Substring { text.dropFirst(Int(kindLength) + 1) }
    public var description: String { text }

    /// The longest segment, in bytes.
    public static let segmentLengthLimit = 64

    /// `nil` when `text` is outside the grammar.
    public init?(_ text: some StringProtocol) {
        guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let kind = text.utf8[..<slash]
        let id = text.utf8[text.utf8.index(after: slash)...]
        guard Self.isSegment(kind), Self.isSegment(id) else { return nil }
        self.text = String(text)
        kindLength = UInt8(kind.count)
    }

    public init?(kind: some StringProtocol, id: some StringProtocol) {
        self.init("\(kind)/\(id)")
    }

    /// Whether `bytes` could stand on either side of a key's slash.
    public static func isSegment(_ bytes: some Collection<UInt8>) -> Bool {
        (1...segmentLengthLimit).contains(bytes.count) && bytes.allSatisfy(isSegmentByte)
    }

    public static func < (left: Key, right: Key) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
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

/// What a subscription follows: one key, every key of a kind (`kind/*`), or everything (`*`).
public enum Pattern: Hashable, Sendable, CustomStringConvertible {
    case all
    case kind(String)
    case key(Key)

    /// `nil` when `text` is outside the grammar of protocol.md §1.
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
