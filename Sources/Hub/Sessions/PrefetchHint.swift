internal import DequeModule
internal import FanOut
internal import Prefetch
internal import TelltaleModel

/// The memory that deciding a waiting event will read, as far as it is known in advance.
///
/// A thousand events are parsed before the first one is decided. By then the nearest caches have lost the parsed events, and even
/// more so the state of ten thousand keys: more than half of the time of deciding was spent waiting for memory, one load after
/// another. So memory is prefetched a few events ahead. No decision depends on it.
/// memory, one piece after another. So it is asked for a few events ahead. Nothing that is decided depends on it.
struct PrefetchHint: Sendable {
    private(set) var event = MemoryAddress.none
    private(set) var tail = MemoryAddress.none
    private(set) var tailByteCount: Int32 = 0
    /// The entity that is most likely at its key.
    var entity: EntityIndex?
    private(set) var keyHash: UInt64 = 0
    /// 0 if it has no id.
    private(set) var eidHash: UInt64 = 0

    /// Longer tails are not prefetched: they are read sequentially, which the processor detects.
    private static let tailLimit = 1_024

    /// The hint of a request that is not an event, and waits for memory at most once.
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
    /// Prefetches for the requests of a session after its next one.
    ///
    /// Each step needs what the previous one prefetched, so every event goes through the steps one by one while earlier events
    /// are decided.
    func prefetch(for session: Session) {
        let count = session.prefetchHints.count
        if count > 4 {
            let event = session.prefetchHints[4]
            if event.isEvent {
                event.event.prefetch(byteCount: PostedEvent.byteCount)
                prefetch(keyHash: event.keyHash, eidHash: event.eidHash)
            }
        }
        if count > 3 {
            let event = session.prefetchHints[3]
            if event.isEvent { session.prefetchHints[3].entity = prefetchEntity(keyHash: event.keyHash) }
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
