internal import DequeModule
internal import FanOut
internal import Machines
internal import Prefetch
internal import TelltaleModel
internal import TelltaleWire

/// In what memory a waiting event will be decided, as far as that is known before.
///
/// A thousand events are read before the first of them is decided, and by then the nearest caches have forgotten what they
/// were read into, let alone the state of ten thousand keys: more than half of the time of deciding went into waiting for
/// memory, one piece after another. So it is asked for a few events ahead. Nothing that is decided depends on it.
struct PrefetchHint: Sendable {
    private(set) var event = MemoryAddress.none
    private(set) var tail = MemoryAddress.none
    private(set) var tailByteCount: Int32 = 0
    /// The entity that most likely stands behind its key.
    var entity: EntityIndex?
    private(set) var keyHash: UInt64 = 0
    /// 0 where it has no id.
    private(set) var eidHash: UInt64 = 0

    /// More is not asked for: what is so long is read from its beginning to its end, which the processor sees by itself.
    private static let tailLimit = 1_024

    /// Of a request that is no event, and waits for memory no more than once.
    init() {}

    init(_ posted: PostedEvent) {
        event = MemoryAddress(of: posted)
        tail = posted.tailPlace.address
        tailByteCount = Int32(min(posted.tailPlace.byteCount, Self.tailLimit))
        keyHash = posted.keyHash
        eidHash = posted.eidHash
    }

    var isEvent: Bool { keyHash != 0 }
}

extension EntityStore {
    /// Asks for the memory of what is decided for a session after its next request.
    ///
    /// Each step needs what the one before it asked for, so every event goes through them one by one while those before it
    /// are decided.
    func prefetch(for session: Session) {
        let count = session.prefetchHints.count
        if count > 4 {
            let event = session.prefetchHints[4]
            if event.isEvent {
                event.event.prefetch(byteCount: PostedEvent.byteCount)
                entities.prefetch(hash: event.keyHash)
                if event.eidHash != 0 { eventIDs.prefetch(hash: event.eidHash) }
            }
        }
        if count > 3 {
            let event = session.prefetchHints[3]
            if event.isEvent { session.prefetchHints[3].entity = entities.prefetchEntity(hash: event.keyHash) }
        }
        if count > 2, let entity = session.prefetchHints[2].entity, case .activity(let box) = self[entity].state {
            box.prefetch()
        }
        if count > 1 {
            let event = session.prefetchHints[1]
            event.tail.prefetch(byteCount: Int(event.tailByteCount))
            if let entity = event.entity, case .activity(let box) = self[entity].state { box.prefetchParts() }
        }
    }
}
