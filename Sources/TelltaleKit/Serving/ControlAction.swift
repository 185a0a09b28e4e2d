public import TelltaleModel

/// An operation that a provider is to perform.
public struct ControlAction: Hashable, Sendable {
    public var operation: String
    public var key: Key
    /// The value to set on a toggle; `nil` for a press.
    public var value: Bool?
    /// When the server gives up on the operation, in real time.
    public var deadline: Timestamp

    public var isPress: Bool { value == nil }
}

/// Thrown by the function of a provider: the operation failed. `code` is for programs, `message` for people.
public struct ActionFailure: Error, Hashable, Sendable {
    /// 1 to 64 of `a-z`, `0-9` and `_`; any other is sent as `failed`.
    public var code: String
    public var message: String?

    public init(code: String = "failed", message: String? = nil) {
        let isCode =
            (1...64).contains(code.utf8.count)
            && code.utf8.allSatisfy {
                ($0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "z"))
                    || ($0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9"))
                    || $0 == UInt8(ascii: "_")
            }
        self.code = isCode ? code : "failed"
        self.message = message
    }
}
