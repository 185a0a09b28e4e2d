internal import DequeModule

/// Work for a thread, taken in turn by the addresses that caused it: an address with much work delays only its own.
///
/// Invariants:
/// - At most ``limitForAddress`` pieces of an address are under way, and ``limit`` in all.
/// - The first piece of an address waits for no more than those under way, and one of each other address.
/// - An address without work is not remembered.
public struct AddressLanes<Address: Hashable & Sendable, Work: Sendable>: Sendable {
    private struct Lane {
        var waiting: Deque<Work> = []
        var underWayCount = 0
        /// Whether the address stands in ``turns``.
        var hasTurn = false

        var mayBegin: Bool { !waiting.isEmpty && underWayCount < AddressLanes.limitForAddress }
    }

    private var lanes: [Address: Lane] = [:]
    /// Addresses that may begin a piece, each once.
    private var turns: Deque<Address> = []
    private var underWayCount = 0

    public static var limitForAddress: Int { 4 }
    /// So many take a few milliseconds, which is the longest that a new address waits.
    public static var limit: Int { 64 }

    public init() {}

    public mutating func add(_ work: Work, of address: Address) {
        change(address) { $0.waiting.append(work) }
    }

    /// The piece to begin now; `nil` = none may. Call ``ended(of:)`` when it is done.
    public mutating func next() -> (work: Work, address: Address)? {
        guard underWayCount < Self.limit, let address = turns.popFirst() else { return nil }
        var work: Work?
        change(address) { lane in
            lane.hasTurn = false
            work = lane.waiting.popFirst()
            lane.underWayCount += 1
        }
        underWayCount += 1
        return work.map { ($0, address) }
    }

    /// A piece of an address is done, or given up.
    public mutating func ended(of address: Address) {
        underWayCount -= 1
        change(address) { $0.underWayCount -= 1 }
    }

    private mutating func change(_ address: Address, _ body: (inout Lane) -> Void) {
        var lane = lanes.removeValue(forKey: address) ?? Lane()
        body(&lane)
        if lane.mayBegin, !lane.hasTurn {
            lane.hasTurn = true
            turns.append(address)
        }
        if lane.underWayCount > 0 || !lane.waiting.isEmpty { lanes[address] = lane }
    }

    /// How many addresses are remembered.
    public var addressCount: Int { lanes.count }
}
