public import TelltaleModel

/// One attempt to change a real device, identified by the commit number of its `SET` or `PRESS`.
///
/// On the wire it is `o` and the number: `o18`.
public struct OperationID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let number: Int64

    public init(_ number: Int64) {
        self.number = number
    }

    /// `nil` unless `text` is `o` and a canonical decimal number.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.first == UInt8(ascii: "o"), let number = Int64(text.dropFirst()), number >= 0,
            text == "o\(number)"
        else { return nil }
        self.number = number
    }

    public var description: String { "o\(number)" }

    public static func < (left: OperationID, right: OperationID) -> Bool { left.number < right.number }
}

/// A connection, by the number that the hub assigned. A number is used once between two restarts.
public typealias ConnectionNumber = Int64

/// The end of an operation. Each operation ends exactly once (Protocols/Line/line-protocol.md §9).
public enum OperationResult: Hashable, Sendable {
    public enum Reason: String, CaseIterable, Hashable, Sendable {
        /// The provider reported `FAIL`.
        case failed
        /// The provider was connected and did not answer before the deadline.
        case timeout
        /// The provider answered with another state than the requested one.
        case overridden
        /// The provider disconnected, and no other one took over in time.
        case unavailable
    }

    case confirmed
    case reverted(Reason)
    /// The operation was queued after another one, and a newer tap replaced it.
    case superseded

    /// `confirmed`, `reverted` or `superseded`.
    public var name: String {
        switch self {
        case .confirmed: "confirmed"
        case .reverted: "reverted"
        case .superseded: "superseded"
        }
    }

    public var reason: Reason? {
        if case .reverted(let reason) = self { reason } else { nil }
    }
}

/// The end of an operation, as rows show it under `last`.
public struct OperationEnd: Hashable, Sendable {
    public var operation: OperationID
    public var result: OperationResult
    /// The reason that the provider's `FAIL` gave.
    public var failure: ProviderFailure?

    public init(_ operation: OperationID, _ result: OperationResult, failure: ProviderFailure? = nil) {
        self.operation = operation
        self.result = result
        self.failure = failure
    }

    /// Appends `{"op":…,"result":…,"reason":…,"code":…,"message":…}` without the absent members.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("op", operation.description)
        writer.member("result", result.name)
        if let reason = result.reason { writer.member("reason", reason.rawValue) }
        if let code = failure?.code { writer.member("code", code) }
        if let message = failure?.message { writer.member("message", message) }
        writer.endObject()
    }
}

/// The reason for a failure, in the provider's own words.
public struct ProviderFailure: Hashable, Sendable {
    public let code: String?
    public let message: String?

    /// The longest code and message that are kept, in Unicode scalars. A longer one is cut, because rows repeat it to
    /// every subscriber.
    public static let lengthLimit = 128

    public init(code: String?, message: String?) {
        self.code = code.map { String($0.unicodeScalars.prefix(Self.lengthLimit)) }
        self.message = message.map { String($0.unicodeScalars.prefix(Self.lengthLimit)) }
    }
}
