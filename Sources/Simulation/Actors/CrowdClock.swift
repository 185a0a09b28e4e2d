/// The time of a crowd: the scenario's milliseconds, which run `speed` times as fast as the owner's clock, or stand still.
struct CrowdClock {
    /// How many times as fast as real time the scenario's time runs.
    private(set) var speed: Double
    private(set) var isPaused = false
    /// The newest moment of the owner's clock, in microseconds.
    private(set) var instant: Int64 = 0
    /// The scenario's time in milliseconds. It never goes back.
    private(set) var now: Int64 = 0
    private var baseInstant: Int64 = 0
    private var baseTime: Int64 = 0

    init(speed: Double) { self.speed = speed }

    /// The scenario's time at ``instant``, if it has run since the last change of speed.
    var time: Int64 { baseTime + Int64(Double(instant - baseInstant) / 1_000 * speed) }

    /// The moment of the owner's clock at which the scenario's time is `time`.
    func instant(of time: Int64) -> Int64 { baseInstant + Int64(Double(time - baseTime) * 1_000 / speed) }

    /// The scenario begins at the current moment, at 0.
    mutating func restart() { (baseInstant, baseTime, now) = (instant, 0, 0) }

    mutating func observe(_ instant: Int64) { self.instant = max(self.instant, instant) }

    mutating func reach(_ time: Int64) { now = max(now, time) }

    mutating func pause(_ isPaused: Bool) {
        rebase()
        self.isPaused = isPaused
    }

    /// While the time stands still, moves it to `time`.
    mutating func step(to time: Int64) {
        reach(time)
        baseTime = now
    }

    mutating func setSpeed(_ speed: Double) {
        rebase()
        self.speed = speed
    }

    /// From here on the time runs from its present value.
    mutating func rebase() {
        if !isPaused { baseTime = time }
        baseInstant = instant
    }
}

/// The clock of the daemon, as its greeting reported it.
struct DaemonClock {
    private let greetedAt: Int64
    private let timeAtGreeting: Int64
    /// How many times as fast as real time it runs.
    let speed: Double

    /// `nil` for a line that is no greeting.
    ///
    /// - Parameter instant: When the greeting came, in microseconds.
    init?(greeting: ClientLine, at instant: Int64) {
        guard greeting.verb == "TELLTALE" else { return nil }
        greetedAt = instant
        timeAtGreeting = greeting.integer("now") ?? 0
        speed = greeting["speed"].flatMap { Double($0) } ?? 1
    }

    /// Unix milliseconds of the daemon's clock at `instant`.
    func time(at instant: Int64) -> Int64 { timeAtGreeting + Int64(Double(instant - greetedAt) / 1_000 * speed) }
}
