/// The message of a publisher for each event, with places for the numbers of the key and of the event.
///
/// The number stands behind a mark that occurs nowhere else in a connection, so that deliveries are found without
/// knowledge of the protocol (CFanOut.h).
struct FanOutMessage {
    /// Where the key's seven digits go.
    static let key = "KKKKKKK"
    /// Where the event's ten digits go, mark included.
    static let number = "@NNNNNNNNNN"

    let bytes: [UInt8]
    let keyPosition: Int
    let numberPosition: Int

    /// - Parameter bytes: Hold ``key`` and ``number`` once.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        keyPosition = Self.position(of: Self.key, in: bytes)
        numberPosition = Self.position(of: Self.number, in: bytes) + 1
    }

    init(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// The digits of a key.
    static func digits(_ key: Int) -> String {
        let digits = String(key)
        return String(repeating: "0", count: max(0, Self.key.utf8.count - digits.utf8.count)) + digits
    }

    /// A JSON object of `count` bytes with ``number`` in it.
    static func body(_ count: Int) -> String {
        let empty = #"{"n":""# + number + #"","note":""}"#
        let note = String(repeating: "x", count: max(0, count - empty.utf8.count))
        return #"{"n":""# + number + #"","note":""# + note + #""}"#
    }

    private static func position(of text: String, in bytes: [UInt8]) -> Int {
        let wanted = Array(text.utf8)
        return bytes.indices.first { bytes[$0...].starts(with: wanted) } ?? 0
    }
}
