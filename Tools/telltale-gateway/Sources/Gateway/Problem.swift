public import TelltaleModel
public import TelltaleWire

/// A refusal in HTTP's form (RFC 9457), with the daemon's code.
public struct Problem: Error, Hashable, Sendable {
    public var status: Int
    /// Stable; from the daemon's table or from ``gatewayCodes``.
    public var code: String
    /// For people: the fault, its place, and the remedy.
    public var title: String
    /// The next step of a program: `no now later auth resync`.
    public var retry: String
    /// Further members of the body.
    public var details: JSONObject
    /// Header fields in addition to those that every problem has.
    public var headers: [(name: String, value: String)] = []

    /// - Parameters:
    ///   - code: Decides the status and `retry`.
    ///   - title: For people.
    public init(_ code: String, _ title: String, details: JSONObject = JSONObject()) {
        let known = Self.byCode[code]
        self.code = code
        status = known?.status ?? 500
        retry = known?.retry ?? "later"
        self.title = title
        self.details = details
    }

    /// The daemon's `ERR` line.
    public init(_ line: ServerLine) {
        let code = line["code"] ?? "internal"
        var details = line.tail ?? JSONObject()
        // Drops the daemon's advice, which is for people who type its protocol.
        let title = (details["msg"]?.string ?? code)
            .replacing("say HELLO client=NAME token=TOKEN first", with: "send Authorization: Bearer TOKEN")
            .replacing("with HELLO account=NAME", with: "with ?account=NAME")
        details["msg"] = nil
        self.init(code, title, details: details)
        if let retry = line["retry"], Self.retries.contains(retry) { self.retry = retry }
        if Self.byCode[code] == nil { status = retry == "later" ? 503 : 502 }
    }

    public init(_ error: WireError) {
        self.init(error.code.rawValue, error.message, details: error.details)
    }

    private static let retries: Set<String> = ["no", "now", "later", "auth", "resync"]

    /// One row of the published table.
    public struct Known: Hashable, Sendable {
        public var code: String
        public var status: Int
        public var retry: String
        public var summary: String
    }

    /// Codes of the gateway itself, in addition to the daemon's.
    public static let gatewayCodes: [Known] = [
        Known(
            code: "bad_request", status: 400, retry: "no",
            summary: "a header field or the query has a value that is not taken"),
        Known(
            code: "bad_signature", status: 401, retry: "no", summary: "the delivery's signature or its time is not good"
        ),
        Known(code: "cross_origin", status: 403, retry: "no", summary: "a page of another origin asks"),
        Known(code: "unknown_hook", status: 404, retry: "no", summary: "no hook file has that name"),
        Known(code: "not_found", status: 404, retry: "no", summary: "there is no such path"),
        Known(
            code: "method", status: 405, retry: "no",
            summary: "the path does not take this method; `Allow` names those that it takes"),
        Known(code: "not_acceptable", status: 406, retry: "no", summary: "none of the types in `Accept` is to be had"),
        Known(
            code: "late_body", status: 408, retry: "now",
            summary: "the body of the request did not come in time; nothing was done"),
        Known(code: "media_type", status: 415, retry: "no", summary: "the body is of a type that is not taken here"),
        Known(
            code: "wrong_host", status: 421, retry: "no",
            summary: "the `Host` is none of this gateway's names (`--host NAME`)"),
        Known(
            code: "bad_kind", status: 422, retry: "no",
            summary: "the kind file of a play has faults, which `POST /v1/lint` tells, or is a widget's"),
        Known(
            code: "too_complex", status: 422, retry: "no",
            summary: "a machine is too large to be drawn, or takes too long to be played; the limits are in the message"
        ),
        Known(
            code: "busy", status: 503, retry: "later",
            summary:
                "too much is asked at once: kinds that are drawn or played, registrations, long answers, or bodies on their way"
        ),
        Known(
            code: "push_refused", status: 502, retry: "no",
            summary: "the push service refuses the request of telltale-push, for the reason in the message"),
        Known(
            code: "daemon_unreachable", status: 503, retry: "later",
            summary: "the daemon cannot be reached; nothing was sent"),
        Known(
            code: "push_unreachable", status: 503, retry: "later",
            summary: "telltale-push does not answer; a registration may be repeated"),
        Known(
            code: "outcome_unknown", status: 504, retry: "now",
            summary: "the request was sent and the answer did not come; repeat it with `eid` as the `Idempotency-Key`"),
    ]

    /// The statuses of the daemon's codes.
    static func status(of code: ErrorCode) -> Int {
        switch code {
        case .badJSON, .badAttribute, .badKey, .badPattern, .badCursor, .badLine, .badUTF8, .limitSubscriptions,
            .unknownSubscription:
            400
        case .authenticationRequired, .authenticationFailed: 401
        case .forbidden: 403
        case .unknownKind, .unknownKey: 404
        case .unavailable: 409
        case .staleRev: 412
        case .tooLarge, .lineTooLong: 413
        case .duplicateMismatch, .machineError, .badAction, .notOffered: 422
        case .limitActivities, .limitSources, .limitAccounts, .limitKeys, .limitTiles, .limitRate, .cooling: 429
        case .internal: 500
        case .versionUnsupported, .unknownVerb: 502
        case .limitConnections, .shuttingDown, .notLeader, .storageFailed: 503
        case .storageFull: 507
        }
    }

    /// All codes, in the order of the daemon's table.
    public static let all: [Known] =
        ErrorCode.allCases.map { code in
            Known(
                code: code.rawValue, status: status(of: code), retry: code.retry.rawValue, summary: code.summary)
        } + gatewayCodes

    private static let byCode = Dictionary(all.map { ($0.code, $0) }, uniquingKeysWith: { first, _ in first })

    // MARK: What is sent

    /// `application/problem+json`.
    public var body: [UInt8] {
        JSONWriter.object { writer in
            writer.member("type", "/errors#\(code)")
            writer.member("title", title)
            writer.member("status", status)
            writer.member("code", code)
            writer.member("retry", retry)
            for member in details where !Self.ownMembers.contains(member.name) {
                writer.member(named: member.name, member.value)
            }
        }
    }

    private static let ownMembers: Set<String> = ["type", "title", "status", "code", "retry"]

    /// Seconds for `Retry-After`, rounded up; `nil` unless ``retry`` is `later`.
    ///
    /// - Parameter now: The time from which an `until` of the daemon is measured.
    public func retryAfter(now: Timestamp) -> Int64? {
        guard retry == "later" else { return nil }
        if let wait = details["wait"]?.integer { return Self.seconds(Milliseconds(wait)) }
        if let until = details["until"]?.integer { return Self.seconds(Timestamp(milliseconds: until) - now) }
        return 5
    }

    private static func seconds(_ span: Milliseconds) -> Int64 { max(1, min((span.count + 999) / 1_000, 86_400)) }

    public static func == (left: Problem, right: Problem) -> Bool {
        left.status == right.status && left.code == right.code && left.title == right.title
            && left.retry == right.retry && left.details == right.details
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(title)
    }
}
