internal import TelltaleModel
internal import TelltaleWire

/// A request that was understood, and waits to be decided.
enum WaitingRequest: Sendable {
    /// Most of them. In the form in which it is recorded, so that nothing of it is copied on the way.
    case event(PostedEvent)
    indirect case other(Request)
    /// A `RELOAD` of many keys, of which some were decided by former batches.
    indirect case reload(ReloadWalk)

    /// `id=`, which its answer repeats.
    var id: String? {
        switch self {
        case .event(let event): event.requestID
        case .other(let request): request.id
        case .reload(let walk): walk.request.id
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
    /// The key that it would change. Whoever answers an operation names none.
    fileprivate var changedKey: Key? {
        switch self {
        case .event(let event): event.key
        case .set(let set): set.key
        case .tile(let tile): tile.key
        case .dismiss(let key), .seen(let key, _), .press(let key, _), .report(let key, _, _), .reload(.key(let key)):
            key
        case .hello, .ping, .bye, .help, .subscribe, .unsubscribe, .get, .list, .kinds, .kind, .gallery,
            .history, .stats, .traits, .open, .serve, .done, .supply, .fail, .reload, .handover, .refused:
            nil
        }
    }
}

extension WireError {
    /// The answer to what cannot be made durable any more.
    static let journalFailed = WireError(
        .storageFailed, "the disk failed, and the server ends; send it again when it is back, with the same eid")
}
