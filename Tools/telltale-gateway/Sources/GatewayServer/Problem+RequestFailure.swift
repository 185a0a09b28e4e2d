internal import Gateway
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

extension Command {
    /// Whether it changes something, so that its outcome is unknown without an answer.
    var acts: Bool {
        switch self {
        case .event, .tap, .dismiss, .seen, .serve, .done, .supply, .fail, .report, .reload, .tile, .handover, .drain,
            .node:
            true
        case .hello, .ping, .bye, .help, .subscribe, .unsubscribe, .get, .list, .kinds, .kind, .gallery, .history,
            .stats, .traits, .open, .refused:
            false
        }
    }
}

extension Problem {
    /// - Parameter acts: Whether the request changes something.
    init(_ failure: RequestFailure, acts: Bool) {
        switch failure {
        case .unreachable(let reason):
            self.init(
                "daemon_unreachable", "the daemon cannot be reached (\(reason)); nothing was sent, ask again later")
        case .outcomeUnknown(let eid) where acts:
            var details = JSONObject()
            if let eid { details["eid"] = .string(eid) }
            self.init(
                "outcome_unknown",
                "the daemon did not answer in time; repeat the request with Idempotency-Key: \(eid ?? "the same")",
                details: details)
        case .outcomeUnknown:
            self.init("daemon_unreachable", "the daemon does not answer; ask again later")
        case .refused(_, let line?) where line.verb == "ERR": self.init(line)
        case .refused(let reason, _): self.init("version_unsupported", "the daemon cannot be spoken with: \(reason)")
        case .closed: self.init("shutting_down", "the gateway goes down; ask again in a moment")
        }
    }
}
