/// SplitMix64: the same numbers for the same seed, on every machine.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) {
        state = seed
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    /// A number in `0..<bound`. The bias is negligible, and the call is much cheaper than `Int.random` in a debug
    /// build.
    public mutating func below(_ bound: UInt64) -> UInt64 { next() % bound }

    /// Whether something that happens `percent` times of a hundred happens now.
    public mutating func chance(_ percent: UInt64) -> Bool { below(100) < percent }
}
