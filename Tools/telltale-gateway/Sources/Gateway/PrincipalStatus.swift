public import TelltaleWire

/// The principal of a token and its limits, from the daemon's answer to `HELLO`.
public struct PrincipalStatus: Hashable, Sendable {
    public let principal: String
    /// Requests a second; `nil` = no limit.
    public let rate: Int64?

    /// `nil` for an answer that names no principal.
    public init?(_ hello: ServerLine) {
        guard let principal = hello["principal"] else { return nil }
        self.principal = principal
        rate = hello.integer("rate")
    }

    /// The value of `WebHook-Allowed-Rate`: requests a minute, or `*` for no limit.
    public var allowance: String { rate.map { "\(min(max(0, $0), Int64.max / 60) * 60)" } ?? "*" }
}
