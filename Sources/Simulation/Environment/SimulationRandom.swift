/// SplitMix64: the same numbers for the same seed, on every machine.
struct SimulationRandom {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    /// A number in `0..<bound`; 0 for an empty range. The bias is negligible.
    mutating func below(_ bound: Int) -> Int { bound > 0 ? Int(next() % UInt64(bound)) : 0 }

    mutating func pick(_ range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    mutating func pick<Element>(of elements: [Element]) -> Element { elements[below(elements.count)] }

    /// Whether something that happens `permille` times of a thousand happens now.
    mutating func chance(_ permille: Int) -> Bool { below(1_000) < permille }

    /// A second stream of numbers, so that draws of one part of a run do not shift the draws of another part.
    mutating func fork() -> SimulationRandom { SimulationRandom(seed: next()) }
}
