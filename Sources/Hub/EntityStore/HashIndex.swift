internal import Prefetch
internal import TelltaleModel

/// Finds the numbers of things by the hashes of their names. The names are stored by the owner of the things.
///
/// Every new event id is a miss. A miss reads one cache line here; a `Dictionary` of a million strings reads three and stores
/// each name again. And growing does not cause a pause: a full `Dictionary` moves every entry at once, which took a quarter of a
/// second with 800,000 ids.
///
/// Numbers are unique among the present things, modulo 2^32; an owner that counts further resolves the ambiguity.
struct HashIndex: Sendable {
    /// Eight bytes, so that a million entries take 13 to 26 MB: randomly accessed memory should stay in the cache.
    private struct Slot: Sendable {
        /// The lower half of the hash; 0 = the slot is free. It determines the position at every length of the part.
        var mark: UInt32 = 0
        var number: UInt32 = 0

        var isFree: Bool { mark == 0 }

        /// The highest bit is always set and carries no information.
        static func mark(of hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash) | 1 << 31 }
    }

    /// An entry is in the slot that its hash names, or after it before the next free slot.
    private struct Part: Sendable {
        /// The length is a power of two, or 0.
        private(set) var slots: [Slot]
        /// The number of slots. Stored, because reading it from the array would touch its memory.
        let length: UInt32
        /// The number of used slots.
        var count: UInt32 = 0

        init(length: Int) {
            slots = Array(repeating: Slot(), count: length)
            self.length = UInt32(length)
        }

        var isEmpty: Bool { length == 0 }
        var mask: Int { Int(length) - 1 }
        /// At most five eighths are used, so that runs of neighbours stay short.
        var isFull: Bool { count >= length / 8 * 5 }

        subscript(slot: Int) -> Slot {
            get { slots[slot] }
            set { slots[slot] = newValue }
        }
    }

    /// One, or ``partCount``.
    private var parts = [Part(length: 0)]
    /// Differs in every process, so that nobody can choose colliding names. Only speed depends on it.
    private static let seed = UInt64(truncatingIfNeeded: Hasher().finalize())

    /// With a million entries, each part has about 16,000; moving that many takes a fraction of a millisecond.
    private static let partCount = 64
    /// Up to this many entries there is one part, so that a small index takes little memory.
    private static let loneLimit = 1_024
    private static let shortestLength = 8

    var count: Int { parts.reduce(0) { $0 + Int($1.count) } }

    /// The hash for the thing with this name.
    static func hash(of name: String) -> UInt64 {
        var hash = StableHash(seed: seed)
        hash.combine(name)
        return hash.finalize()
    }

    /// The number with this hash for which `isMeant` is true. It is called for every entry with the same mark.
    func number(hash: UInt64, where isMeant: (UInt32) -> Bool) -> UInt32? {
        let part = part(of: hash)
        guard !parts[part].isEmpty else { return nil }
        let entry = parts[part][slot(hash: hash, in: part, where: isMeant)]
        return entry.isFree ? nil : entry.number
    }

    /// The number that is tried first, nearly always the right one.
    func candidate(hash: UInt64) -> UInt32? { number(hash: hash) { _ in true } }

    /// Prefetches the memory that a lookup reads.
    func prefetch(hash: UInt64) {
        let part = part(of: hash)
        guard !parts[part].isEmpty else { return }
        // The count is stored before the first slot.
        parts[part].slots.address(at: 0).prefetch()
        parts[part].slots.address(at: Int(Slot.mark(of: hash)) & parts[part].mask).prefetch()
    }

    /// Adds `number`, replacing the entry for which `isMeant` is true, if there is one.
    mutating func insert(_ number: UInt32, hash: UInt64, inPlaceOf isMeant: (UInt32) -> Bool = { _ in false }) {
        var part = part(of: hash)
        if parts[part].isFull {
            if parts.count == 1, parts[0].count >= Self.loneLimit { split() } else { grow(part) }
            part = self.part(of: hash)
        }
        let slot = slot(hash: hash, in: part, where: isMeant)
        if parts[part][slot].isFree { parts[part].count += 1 }
        parts[part][slot] = Slot(mark: Slot.mark(of: hash), number: number)
    }

    /// Removes `number`, if it is there.
    mutating func remove(_ number: UInt32, hash: UInt64) {
        let part = part(of: hash)
        guard !parts[part].isEmpty else { return }
        var hole = slot(hash: hash, in: part) { $0 == number }
        guard !parts[part][hole].isFree else { return }
        parts[part].count -= 1
        // An entry after the hole moves up, unless it would land before its own position.
        let mask = parts[part].mask
        var next = hole
        while true {
            next = (next + 1) & mask
            let candidate = parts[part][next]
            guard !candidate.isFree else { break }
            let distance = (next - Int(candidate.mark)) & mask
            guard distance >= (next - hole) & mask else { continue }
            parts[part][hole] = candidate
            hole = next
        }
        parts[part][hole] = Slot()
    }

    /// Reserves room for this many entries in total.
    mutating func reserveCapacity(_ capacity: Int) {
        if capacity > Self.loneLimit, parts.count == 1 { split() }
        // The parts do not fill evenly.
        let share = capacity / parts.count
        for part in parts.indices {
            move(part, to: max(Int(parts[part].length), Self.length(for: share + share / 8)))
        }
    }

    // MARK: Slots

    /// The part is given by six bits of the mark, and the slot by the bits below.
    private func part(of hash: UInt64) -> Int { part(ofMark: Slot.mark(of: hash)) }

    private func part(ofMark mark: UInt32) -> Int { parts.count == 1 ? 0 : Int(mark >> Self.slotBits) % Self.partCount }

    /// No part gets longer: 64 parts of 2^25 slots are far beyond any memory.
    private static let slotBits = 25

    /// The slot of the entry for which `isMeant` is true, or the free slot where it would be.
    private func slot(hash: UInt64, in part: Int, where isMeant: (UInt32) -> Bool) -> Int {
        slot(mark: Slot.mark(of: hash), in: part, where: isMeant)
    }

    private func slot(mark: UInt32, in part: Int, where isMeant: (UInt32) -> Bool) -> Int {
        let mask = parts[part].mask
        var slot = Int(mark) & mask
        while true {
            let entry = parts[part][slot]
            if entry.isFree || entry.mark == mark && isMeant(entry.number) { return slot }
            slot = (slot + 1) & mask
        }
    }

    /// The least length with room for `count` entries.
    private static func length(for count: Int) -> Int {
        var length = shortestLength
        while length / 8 * 5 < count { length *= 2 }
        return length
    }

    private mutating func grow(_ part: Int) {
        move(part, to: max(Self.shortestLength, 2 * Int(parts[part].length)))
    }

    private mutating func move(_ part: Int, to length: Int) {
        guard length != parts[part].length else { return }
        let entries = parts[part].slots
        parts[part] = Part(length: length)
        for entry in entries where !entry.isFree { put(entry, in: part) }
    }

    private mutating func split() {
        let entries = parts[0].slots
        let length = Self.length(for: Int(parts[0].count) / Self.partCount * 2)
        parts = (0..<Self.partCount).map { _ in Part(length: length) }
        for entry in entries where !entry.isFree {
            let part = part(ofMark: entry.mark)
            if parts[part].isFull { grow(part) }
            put(entry, in: part)
        }
    }

    /// - Precondition: There is room, and the entry is not present.
    private mutating func put(_ entry: Slot, in part: Int) {
        parts[part][slot(mark: entry.mark, in: part) { _ in false }] = entry
        parts[part].count += 1
    }
}
