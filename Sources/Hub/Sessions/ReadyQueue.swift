internal import DequeModule

/// Sessions that have something to send, in the order in which they came to have it, each of them once.
struct ReadyQueue {
    private var sessions: Deque<SessionID> = []
    /// Which slots' sessions stand there. Beside the sessions themselves: a change asks this of everybody who follows its
    /// key, and of thousands of objects most are long out of the cache.
    private var isWaiting: [Bool] = []

    var isEmpty: Bool { sessions.isEmpty }
    /// How many there are at most: who stands there may be gone.
    var count: Int { sessions.count }

    /// Another session has the slot from now on, and it does not stand here.
    mutating func open(slot: Int32) {
        while isWaiting.count <= Int(slot) { isWaiting.append(false) }
        isWaiting[Int(slot)] = false
    }

    func contains(slot: Int32) -> Bool { isWaiting[Int(slot)] }

    /// - Precondition: It does not stand here.
    mutating func append(_ session: SessionID) {
        isWaiting[Int(session.slot)] = true
        sessions.append(session)
    }

    /// Takes the first, who may be gone. If not, ``left(slot:)`` is to be told.
    mutating func popFirst() -> SessionID? { sessions.popFirst() }

    mutating func left(slot: Int32) { isWaiting[Int(slot)] = false }
}
