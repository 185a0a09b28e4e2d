internal import TelltaleModel
internal import TelltaleWire

/// A parsed request that waits to be decided.
enum WaitingRequest: Sendable {
    /// The most frequent request, in the form in which it is recorded, so that it is not copied on the way.
    case event(PostedEvent)
    indirect case other(Request)
    /// A `RELOAD` of many keys, partly decided by earlier batches.
    indirect case reload(ReloadScan)
    /// On a node that follows: a request that the leader decides.
    indirect case forwarded(ForwardedRequest)
    /// The hub's own word that the session ends once what precedes it is answered: its last line.
    indirect case farewell([UInt8])

    /// `id=`, which its reply repeats.
    var id: String? {
        switch self {
        case .event(let event): event.requestID
        case .other(let request): request.id
        case .reload(let scan): scan.request.id
        case .forwarded(let forwarded): forwarded.request.id
        case .farewell: nil
        }
    }

    /// The key that it would change.
    var key: Key? {
        switch self {
        case .event(let event): event.command.key
        case .other(let request): request.command.changedKey
        case .reload, .farewell: nil
        case .forwarded(let forwarded): forwarded.request.key
        }
    }

    /// Whether a node that follows lets the leader decide it.
    var isForwarded: Bool {
        switch self {
        case .event, .forwarded: true
        case .reload, .farewell: false
        case .other(let request): request.command.isWrite
        }
    }
}

/// A request for the leader, parsed and as it came.
struct ForwardedRequest: Sendable {
    let request: WaitingRequest
    /// Without a line ending.
    let line: [UInt8]

    /// The kind that the connection would serve.
    var servedKind: String? {
        guard case .other(let request) = request, case .serve(let kind) = request.command else { return nil }
        return kind
    }
}

extension Command {
    /// Whether the leader decides it, so that a client that says it does more than read.
    var isWrite: Bool {
        switch self {
        case .event, .tap, .tile, .dismiss, .seen, .serve, .done, .supply, .fail, .report, .reload: true
        case .hello, .ping, .bye, .help, .subscribe, .unsubscribe, .get, .list, .kinds, .kind, .gallery, .history,
            .stats, .traits, .open, .handover, .drain, .node, .refused:
            false
        }
    }

    /// The key that it would change. The answer to an operation names none.
    fileprivate var changedKey: Key? {
        switch self {
        case .event(let event): event.key
        case .tap(let tap): tap.key
        case .tile(let tile): tile.key
        case .dismiss(let key), .seen(let key, _), .report(let key, _, _), .reload(.key(let key)):
            key
        case .hello, .ping, .bye, .help, .subscribe, .unsubscribe, .get, .list, .kinds, .kind, .gallery,
            .history, .stats, .traits, .open, .serve, .done, .supply, .fail, .reload, .handover, .drain, .node,
            .refused:
            nil
        }
    }
}

extension WireError {
    /// The reply to a request that can no longer be made durable.
    static let journalFailed = WireError(
        .storageFailed, "the disk failed, and the server ends; send it again when it is back, with the same eid")
}
