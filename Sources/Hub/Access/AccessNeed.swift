internal import TelltaleModel
internal import TelltaleWire

/// The right that a request needs (Protocols/Line/access.table).
enum AccessNeed: Equatable {
    /// No credential: `HELLO`, `PING`, `HELP`.
    case nothing
    /// No credential, and the request does not count against a limit: `BYE`.
    case farewell
    /// A credential of any kind: `TRAIT`, `UNSUB`.
    case credential
    case scope(Scope)
    /// The right on these keys, and the `src=` that the event names.
    case post(KeyRange, source: String?)
    /// The right on these keys, and the account whose rows are requested.
    case follow(KeyRange, account: String?)
    /// The right to post, or to serve the kind.
    case reload(KeyRange)
    /// The right to act for a provider. The kind follows from the operation.
    case operation

    init(_ event: borrowing EventCommand) {
        self = .post(KeyRange(event.key), source: event.source)
    }

    init(_ command: Command) {
        switch command {
        case .hello, .ping, .help, .node: self = .nothing
        case .bye: self = .farewell
        case .traits, .unsubscribe: self = .credential
        case .event(let event): self = AccessNeed(event)
        case .subscribe(let command): self = .follow(KeyRange(command.pattern), account: command.account)
        case .get(let key, _, _), .history(let key), .open(let key, _): self = .scope(.read(KeyRange(key)))
        case .list(let pattern, _, _): self = .scope(.read(KeyRange(pattern)))
        case .kinds, .gallery: self = .scope(.read(.all))
        case .kind(let kind): self = .scope(.read(.kind(kind)))
        case .stats: self = .scope(.stats)
        case .handover, .drain: self = .scope(.admin)
        case .tap(let command): self = .scope(.act(KeyRange(command.key)))
        case .dismiss(let key), .seen(let key, _): self = .scope(.act(KeyRange(key)))
        case .tile(let command): self = .scope(.act(KeyRange(command.key)))
        case .serve(let kind): self = .scope(.serve(kind))
        case .report(let key, _, _): self = .scope(.serve(String(key.kind)))
        case .done, .supply, .fail: self = .operation
        case .reload(let pattern): self = .reload(KeyRange(pattern))
        case .refused(let error): self = Self.need(of: error)
        }
    }

    /// A malformed line is answered without a credential if the error ends the connection or the verb needs no credential.
    private static func need(of error: WireError) -> AccessNeed {
        let isFree = ["HELLO", "PING", "HELP", "BYE"].contains { error.message.hasPrefix("\($0):") }
        return error.isFatal || error.code == .badJSON || isFree ? .nothing : .credential
    }

    /// The error with which `principal` is refused; `nil` = it is allowed.
    func refusal(for principal: Principal) -> WireError? {
        switch self {
        case .nothing, .farewell, .credential: return nil
        case .scope(let scope): return Self.refusal(of: scope, for: principal)
        case .post(let keys, let source):
            if let error = Self.refusal(of: .post(keys), for: principal) { return error }
            guard let source, !principal.may(postAs: source) else { return nil }
            return WireError(.forbidden, "\(principal.name) may not post as src=\(source); leave it out")
        case .follow(let keys, let account):
            if let error = Self.refusal(of: .read(keys), for: principal) { return error }
            guard let account, !principal.may(use: account) else { return nil }
            return WireError(.forbidden, "\(principal.name) has no account \(account)")
        case .reload(let keys):
            if principal.has(.serve(keys.kind)) { return nil }
            return Self.refusal(of: .post(keys), for: principal)
        case .operation: return principal.mayServe ? nil : Self.refusal(of: .serve(nil), for: principal)
        }
    }

    private static func refusal(of scope: Scope, for principal: Principal) -> WireError? {
        guard !principal.has(scope) else { return nil }
        var details = JSONObject()
        details["need"] = .string(scope.description)
        return WireError(.forbidden, "this needs \(scope), which \(principal.name) does not have", details: details)
    }
}
