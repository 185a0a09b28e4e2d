public import TelltaleModel

/// One try to change something real: the commit number of the `SET` or `PRESS` that asked for it.
///
/// On the wire it is `o` and the number: `o18`.
public struct OperationID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let number: Int64

    public init(_ number: Int64) {
        self.number = number
    }

    /// `nil` when `text` is not `o` and a canonical decimal number.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.first == UInt8(ascii: "o"), let number = Int64(text.dropFirst()), number >= 0,
            text == "o\(number)"
        else { return nil }
        self.number = number
    }

    public var description: String { "o\(number)" }

    public static func < (left: OperationID, right: OperationID) -> Bool { left.number < right.number }
}

/// A connection, by the number that the hub gave it. Numbers are not used twice between two restarts.
public typealias ConnectionNumber = Int64

/// How an operation ended. Each one ends exactly once (line-protocol.md §9).
public enum OperationResult: Hashable, Sendable {
    public enum Reason: String, CaseIterable, Hashable, Sendable {
        /// The provider said `FAIL`.
        case failed
        /// The provider was there, and silent until the deadline.
        case timeout
        /// The provider did it, and the thing is in another state than was wanted.
        case overridden
        /// The provider left, and nobody took over in time.
        case unavailable
    }

    case confirmed
    case reverted(Reason)
    /// It waited behind another operation, and a newer tap took its place.
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

/// The end of an operation, as rows tell it under `last`.
public struct OperationEnd: Hashable, Sendable {
    public var operation: OperationID
    public var result: OperationResult
    /// What the provider's `FAIL` said.
    public var failure: ProviderFailure?

    public init(_ operation: OperationID, _ result: OperationResult, failure: ProviderFailure? = nil) {
        self.operation = operation
        self.result = result
        self.failure = failure
    }

    /// Appends `{"op":…,"result":…,"reason":…,"code":…,"message":…}`; what there is not is left out.
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

/// Why a provider could not do it, in its own words.
public struct ProviderFailure: Hashable, Sendable {
    public let code: String?
    public let message: String?

    /// The longest code and message that are kept, in Unicode scalars. What is longer is cut: rows repeat it to everybody.
    public static let lengthLimit = 128

    public init(code: String?, message: String?) {
        self.code = code.map { String($0.unicodeScalars.prefix(Self.lengthLimit)) }
        self.message = message.map { String($0.unicodeScalars.prefix(Self.lengthLimit)) }
    }
}
