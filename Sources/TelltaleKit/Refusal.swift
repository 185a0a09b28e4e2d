public import TelltaleModel
internal import TelltaleWire

/// An error that the server answered with (Protocols/Line/line-protocol.md §10).
public struct Refusal: Hashable, Sendable, CustomStringConvertible {
    /// The advice to a program after an error.
    public enum Retry: String, Hashable, Sendable {
        /// The same request will fail again.
        case no
        case now
        /// After a pause.
        case later
        /// Authenticate with a valid token.
        case authenticate = "auth"
        /// Read the newest row, and decide again.
        case resync
    }

    /// Stable, for programs: `stale_rev`, `unavailable`, …
    public var code: String
    /// The server's sentence, for people.
    public var text: String
    public var retry: Retry
    /// Further members of the answer, such as `have`, `need` or `wait`.
    public var details: JSONObject
    /// The event id of the refused request, where it has one. A refusal does not use it.
    public var eid: String?

    init(_ line: ServerLine, eid: String? = nil) {
        code = line["code"] ?? "internal"
        text = line.message ?? "the server gave no reason"
        retry = line["retry"].flatMap(Retry.init) ?? .no
        details = line.tail ?? JSONObject()
        details["msg"] = nil
        self.eid = eid
    }

    /// Whether the tap was made on an outdated row. Nothing was done.
    public var isStaleTap: Bool { code == ErrorCode.staleRev.rawValue }
    /// Whether no provider serves the control now.
    public var isUnavailable: Bool { code == ErrorCode.unavailable.rawValue }
    /// After a stale tap: the `rev` of the control now.
    public var currentRev: Int64? { details["have"]?.integer }

    public var description: String { "\(code): \(text) (\(remedy))" }

    /// The advice as a sentence.
    public var remedy: String {
        switch retry {
        case .no: "the same request will fail again"
        case .now: "ask again"
        case .later: "ask again after a pause"
        case .authenticate: "use a token that the server accepts"
        case .resync: "look at the newest row, and ask again"
        }
    }
}
