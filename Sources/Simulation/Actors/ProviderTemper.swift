public import TelltaleModel

/// How well a simulated thing does what it is told, in parts of a hundred.
public struct ProviderTemper: Hashable, Sendable {
    /// How long it takes, at least and at most.
    public var shortest: Milliseconds
    public var longest: Milliseconds
    /// It says that it could not.
    public var failPercent: Int
    /// It never answers.
    public var silentPercent: Int
    /// It says that it acted, and the thing is in the other state.
    public var stubbornPercent: Int

    /// Slow, and failing one time in six: one sees pending, confirm and revert within a minute of playing with it.
    public init(
        shortest: Milliseconds = Milliseconds(300), longest: Milliseconds = Milliseconds(1_800), failPercent: Int = 16,
        silentPercent: Int = 0, stubbornPercent: Int = 0
    ) {
        self.shortest = max(.zero, shortest)
        self.longest = max(self.shortest, longest)
        self.failPercent = failPercent
        self.silentPercent = silentPercent
        self.stubbornPercent = stubbornPercent
    }
}

/// Real things behind controls, made up: a pure plan of what a provider answers and when.
///
/// Whoever speaks for it asks ``answer(to:value:)`` for each `DO`, and does what it says after the delay, with
/// ``finish(_:on:)`` at that moment. The same seed gives the same answers.
public struct SimulatedProvider: Sendable {
    public enum Answer: Hashable, Sendable {
        /// `DONE`, with the value that the thing has then; a button has none.
        case done(value: Bool?)
        /// `FAIL`.
        case failed(code: String, message: String)
        /// Nothing, ever.
        case silence
    }

    public let temper: ProviderTemper
    /// What each toggle really is.
    public private(set) var values: [Key: Bool]
    private var state: UInt64

    /// - Parameter values: What each toggle is at first.
    public init(temper: ProviderTemper = ProviderTemper(), values: [Key: Bool] = [:], seed: UInt64) {
        self.temper = temper
        self.values = values
        state = seed
    }

    /// What comes of an action, and how long that takes.
    ///
    /// - Parameter value: What a toggle is to become; `nil` for a press.
    public mutating func answer(to key: Key, value: Bool?) -> (delay: Milliseconds, answer: Answer) {
        let width = UInt64(max(0, temper.longest.count - temper.shortest.count)) + 1
        let delay = Milliseconds(temper.shortest.count + Int64(next() % width))
        let die = Int(next() % 100)
        if die < temper.silentPercent { return (delay, .silence) }
        if die < temper.silentPercent + temper.failPercent {
            let (code, message) = Self.failures[Int(next() % UInt64(Self.failures.count))]
            return (delay, .failed(code: code, message: message))
        }
        guard let value else { return (delay, .done(value: nil)) }
        let isStubborn = die < temper.silentPercent + temper.failPercent + temper.stubbornPercent
        return (delay, .done(value: isStubborn ? !value : value))
    }

    /// The delay is over: what it said is true from now on.
    public mutating func finish(_ answer: Answer, on key: Key) {
        if case .done(let value?) = answer { values[key] = value }
    }

    /// Somebody used the switch on the wall: what it is now, to be reported; `nil` = there is no toggle.
    public mutating func useSwitch() -> (key: Key, value: Bool)? {
        let keys = values.keys.sorted { $0.text < $1.text }
        guard !keys.isEmpty else { return nil }
        let key = keys[Int(next() % UInt64(keys.count))]
        let value = values[key] != true
        values[key] = value
        return (key, value)
    }

    private static let failures = [
        ("no_power", "There is no power"), ("jammed", "It is jammed"), ("unreachable", "It does not answer"),
    ]

    /// SplitMix64.
    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
