internal import HeapModule

/// The events of a simulated world, in the order of their times; at one time, in the order in which they were
/// scheduled.
struct EventQueue {
    enum Event {
        /// Bytes of a client reach the daemon's machine.
        case toServer(Link, [UInt8])
        /// Bytes of the daemon reach the client's machine.
        case toClient(Link, [UInt8])
        /// The client's side is shut, and everything it sent before has arrived.
        case halfClosed(Link)
        /// The connection is gone, and the daemon notices it.
        case lostAtServer(Link)
        /// The connection is gone, and the client notices it.
        case lostAtClient(Link)
        /// A client that reads slowly reads on.
        case read(Link)
        /// A client makes its next move.
        case move(client: Int)
        /// A client does an action that it has postponed.
        case later(client: Int, what: Int)
        case synced(generation: Int)
        case snapshotWritten(generation: Int)
        case daemonTimer(generation: Int, version: Int)
        case lookAtBlocked(generation: Int)
        case crash
        case stop
        /// A stop that was requested in that life must be over.
        case stopIsDue(generation: Int)
        case syncFails
        case start
        case disk(isFull: Bool)
        case clockJump(Int64)
        /// All connections break.
        case storm
        /// The operator changes the rights of a guest.
        case rightsChange
        /// The operator edits the kinds of widgets, and has them reloaded.
        case kindsChange
        /// The daemon has read the file of principals, or must have ended what was revoked in it.
        case principals(isPromise: Bool, guest: Int)
        /// So many events of an open model are due.
        case arrival(count: Int)
    }

    private struct Entry: Comparable {
        var time: Int64
        var order: Int64
        var event: Event

        static func < (left: Entry, right: Entry) -> Bool { (left.time, left.order) < (right.time, right.order) }
        static func == (left: Entry, right: Entry) -> Bool { left.order == right.order }
    }

    private var heap = Heap<Entry>()
    private var count: Int64 = 0

    mutating func schedule(_ event: Event, at time: Int64) {
        count += 1
        heap.insert(Entry(time: time, order: count, event: event))
    }

    var nextTime: Int64? { heap.min?.time }

    mutating func pop() -> (time: Int64, event: Event)? { heap.popMin().map { ($0.time, $0.event) } }
}
