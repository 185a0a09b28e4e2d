internal import DequeModule

/// Work for one thread, taken in turn by the addresses that caused it: an address with much work delays only its own.
///
/// Invariants:
/// - Addresses take turns. So the first piece of an address waits for the one that the thread has, and for one of each other
///   address.
/// - An owner has at most one piece, and none once it is gone.
/// - An address without work is not remembered, nor is one whose owners are gone once no work is left.
public struct AddressLanes<Address: Hashable & Sendable, Owner: Hashable & Sendable, Work: Sendable>: Sendable {
    private var work: [Owner: Work] = [:]
    /// The owners of an address in the order in which they came. Some may be gone.
    private var lanes: [Address: Deque<Owner>] = [:]
    /// The addresses in ``lanes``, each once.
    private var turns: Deque<Address> = []

    public init() {}

    /// Whether ``next()`` returns `nil`.
    public var isEmpty: Bool { work.isEmpty }
    /// How many addresses are remembered.
    public var addressCount: Int { lanes.count }

    /// Adds a piece of work, in place of one that its owner had.
    public mutating func add(_ work: Work, of owner: Owner, at address: Address) {
        guard self.work.updateValue(work, forKey: owner) == nil else { return }
        if lanes[address] == nil { turns.append(address) }
        lanes[address, default: []].append(owner)
    }

    /// The owner is gone: its work, if it has any, is not begun.
    public mutating func remove(_ owner: Owner) {
        work[owner] = nil
        if work.isEmpty { self = Self() }
    }

    /// Takes the next piece of work; `nil` = there is none.
    public mutating func next() -> Work? {
        while let address = turns.popFirst() {
            // Taken out, so that it is changed in place.
            guard var lane = lanes.removeValue(forKey: address) else { continue }
            var next: Work?
            while next == nil, let owner = lane.popFirst() { next = work.removeValue(forKey: owner) }
            if !lane.isEmpty {
                lanes[address] = lane
                turns.append(address)
            }
            if let next { return next }
        }
        return nil
    }
}
