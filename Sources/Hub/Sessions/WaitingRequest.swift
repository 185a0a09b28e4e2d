internal import TelltaleModel
internal import TelltaleWire

/// A parsed request that waits to be decided.
enum WaitingRequest: Sendable {
    /// The most frequent request, in the form in which it is recorded, so that it is not copied on the way.
    case event(PostedEvent)
    indirect case other(Request)
    /// A `RELOAD` of many keys, partly decided by earlier batches.
    indirect case reload(ReloadScan)

    /// `id=`, which its reply repeats.
    var id: String? {
        switch self {
        case .event(let event): event.requestID
        case .other(let request): request.id
        case .reload(let scan): scan.request.id
        }
    }

    /// The key that it would change.
    var key: Key? {
        switch self {
        case .event(let event): event.command.key
        case .other(let request): request.command.changedKey
        case .reload: nil
        }
    }
}

extension Command {
    /// The key that it would change. The answer to an operation names none.
    fileprivate var changedKey: Key? {
        switch self {
        case .event(let event): event.key
        case .tap(let tap): tap.key
        case .tile(let tile): tile.key
        case .dismiss(let key), .seen(let key, _), .report(let key, _, _), .reload(.key(let key)):
            key
        case .hello, .ping, .bye, .help, .subscribe, .unsubscribe, .get, .list, .kinds, .kind, .gallery,
            .history, .stats, .traits, .open, .serve, .done, .supply, .fail, .reload, .handover, .refused:
            nil
        }
    }
}

extension WireError {
    /// The reply to a request that can no longer be made durable.
    static let journalFailed = WireError(
        .storageFailed, "the disk failed, and the server ends; send it again when it is back, with the same eid")
}
