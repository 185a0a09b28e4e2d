public import TelltaleModel

/// How reliably a simulated device acts. The shares are percentages.
public struct ProviderTemper: Hashable, Sendable {
    /// The time of an action, at least and at most.
    public var shortest: Milliseconds
    public var longest: Milliseconds
    /// The share of actions that it reports as failed.
    public var failPercent: Int
    /// The share of actions that it never answers.
    public var silentPercent: Int
    /// The share of actions that it reports as done while the device keeps the other state.
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

/// Simulated devices behind controls: a pure plan of a provider's answers and their delays.
///
/// Its client calls ``answer(to:value:)`` for each `DO`, sends the answer after the delay, and calls ``finish(_:on:)``
/// at that moment. The same seed gives the same answers.
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
    /// The real state of each toggle.
    public private(set) var values: [Key: Bool]
    private var random: SimulationRandom

    /// - Parameter values: The initial state of each toggle.
    public init(temper: ProviderTemper = ProviderTemper(), values: [Key: Bool] = [:], seed: UInt64) {
        self.temper = temper
        self.values = values
        random = SimulationRandom(seed: seed)
    }

    /// The outcome of an action, and the time that it takes.
    ///
    /// - Parameter value: The target of a toggle; `nil` for a press.
    public mutating func answer(to key: Key, value: Bool?) -> (delay: Milliseconds, answer: Answer) {
        let width = UInt64(max(0, temper.longest.count - temper.shortest.count)) + 1
        let delay = Milliseconds(temper.shortest.count + Int64(random.next() % width))
        let die = Int(random.next() % 100)
        if die < temper.silentPercent { return (delay, .silence) }
        if die < temper.silentPercent + temper.failPercent {
            let (code, message) = Self.failures[Int(random.next() % UInt64(Self.failures.count))]
            return (delay, .failed(code: code, message: message))
        }
        guard let value else { return (delay, .done(value: nil)) }
        let isStubborn = die < temper.silentPercent + temper.failPercent + temper.stubbornPercent
        return (delay, .done(value: isStubborn ? !value : value))
    }

    /// The delay is over. From now on the device is in the state that the answer reports.
    public mutating func finish(_ answer: Answer, on key: Key) {
        if case .done(let value?) = answer { values[key] = value }
    }

    /// A person uses the switch on the wall. Returns the new value, which is to be reported; `nil` when there is no
    /// toggle.
    public mutating func useSwitch() -> (key: Key, value: Bool)? {
        let keys = values.keys.sorted { $0.text < $1.text }
        guard !keys.isEmpty else { return nil }
        let key = keys[Int(random.next() % UInt64(keys.count))]
        let value = values[key] != true
        values[key] = value
        return (key, value)
    }

    private static let failures = [
        ("no_power", "There is no power"), ("jammed", "It is jammed"), ("unreachable", "It does not answer"),
    ]
}
