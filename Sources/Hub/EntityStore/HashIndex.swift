internal import Prefetch
internal import TelltaleModel

/// Finds the numbers of things by the hashes of their names. The names are not in it: whoever owns the things has them.
///
/// A miss, which is what every new event id is, looks at one line of memory where a `Dictionary` of a million strings
/// takes three, and a name stands in memory once. And it does not stop to grow: a `Dictionary` that is full moves every
/// entry at once; with 800,000 ids that took a quarter of a second, in which nobody was served.
///
/// Numbers are those of things that are there at once, modulo 2^32: whoever counts further tells which one is meant.
struct HashIndex: Sendable {
    /// Eight bytes, of which a million entries take 13 to 26 MB: what is looked up at random is to stay near the processor.
    private struct Slot: Sendable {
        /// The lower half of the hash, 0 where the slot is free. It says where the entry belongs, however long its part is.
        var mark: UInt32 = 0
        var number: UInt32 = 0

        var isFree: Bool { mark == 0 }

        /// Its highest bit is always set, and says nothing.
        static func mark(of hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash) | 1 << 31 }
    }

    /// An entry stands in the slot that its hash names or behind it, before the next free one.
    private struct Part: Sendable {
        /// As long as a power of two, or empty.
        private(set) var slots: [Slot]
        /// Of the slots; they would have to be looked at to be asked.
        let length: UInt32
        /// How many are taken.
        var count: UInt32 = 0

        init(length: Int) {
            slots = Array(repeating: Slot(), count: length)
            self.length = UInt32(length)
        }

        var isEmpty: Bool { length == 0 }
        var mask: Int { Int(length) - 1 }
        /// At most five eighths are taken, so that a row of neighbours is short.
        var isFull: Bool { count >= length / 8 * 5 }

        subscript(slot: Int) -> Slot {
            get { slots[slot] }
            set { slots[slot] = newValue }
        }
    }

    /// One, or ``partCount``.
    private var parts = [Part(length: 0)]
    /// Another one in every process, so that nobody can choose names that meet. Only speed depends on it.
    private static let seed = UInt64(truncatingIfNeeded: Hasher().finalize())

    /// Of a million entries each has some 16,000; moving as many takes a fraction of a millisecond.
    private static let partCount = 64
    /// Up to so many entries there is one part, so that few of them take little memory.
    private static let loneLimit = 1_024
    private static let shortestLength = 8

    var count: Int { parts.reduce(0) { $0 + Int($1.count) } }

    /// The hash under which the thing of this name is found.
    static func hash(of name: String) -> UInt64 {
        var hash = StableHash(seed: seed)
        hash.combine(name)
        return hash.finalize()
    }

    /// The number of the thing with this hash that `isMeant`, which is asked of all whose hashes look alike.
    func number(hash: UInt64, where isMeant: (UInt32) -> Bool) -> UInt32? {
        let part = part(of: hash)
        guard !parts[part].isEmpty else { return nil }
        let entry = parts[part][slot(hash: hash, in: part, where: isMeant)]
        return entry.isFree ? nil : entry.number
    }

    /// The number that is asked about first: nearly always it is the one that is meant.
    func candidate(hash: UInt64) -> UInt32? { number(hash: hash) { _ in true } }

    /// Asks the processor for what a lookup will look at.
    func prefetch(hash: UInt64) {
        let part = part(of: hash)
        guard !parts[part].isEmpty else { return }
        // In front of the first slot stands how many there are.
        parts[part].slots.address(at: 0).prefetch()
        parts[part].slots.address(at: Int(Slot.mark(of: hash)) & parts[part].mask).prefetch()
    }

    /// Adds `number`, in the place of the one that `isMeant` where there is such.
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
        // An entry behind the hole moves up, unless it would come to stand before its own place.
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

    /// Makes room for so many entries in all.
    mutating func reserveCapacity(_ capacity: Int) {
        if capacity > Self.loneLimit, parts.count == 1 { split() }
        // They do not fill evenly.
        let share = capacity / parts.count
        for part in parts.indices {
            move(part, to: max(Int(parts[part].length), Self.length(for: share + share / 8)))
        }
    }

    // MARK: Slots

    /// The parts go by six bits of the mark, and the slots of each by those below.
    private func part(of hash: UInt64) -> Int { part(ofMark: Slot.mark(of: hash)) }

    private func part(ofMark mark: UInt32) -> Int { parts.count == 1 ? 0 : Int(mark >> Self.slotBits) % Self.partCount }

    /// A part is never longer: 2^25 slots are far beyond what fits into memory 64 times.
    private static let slotBits = 25

    /// The slot of the entry that `isMeant`, or the free one where it would be.
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

    /// Where there is room for it, and it is not yet.
    private mutating func put(_ entry: Slot, in part: Int) {
        parts[part][slot(mark: entry.mark, in: part) { _ in false }] = entry
        parts[part].count += 1
    }
}
