import Hub
import TelltaleModel

/// The daemon's clock within a moment of the world: deciding and writing take their time, although the world stands still.
struct TurnClock {
    /// How long an action takes.
    private let cost: Duration
    private var newest = MonotonicTime.distantPast

    /// How far the daemon's clock may be ahead of the world's. A daemon that is always busy is tested elsewhere.
    private static let lead = Milliseconds(5)

    init(cost: Duration = .zero) {
        self.cost = cost
    }

    /// The clocks as the daemon reads them; its monotonic one never goes back.
    func reading(_ time: HubTime) -> HubTime {
        var time = time
        time.monotonic = max(newest, time.monotonic)
        return time
    }

    /// An action took its time, at a moment of the world.
    mutating func tick(at world: HubTime) {
        let now = reading(world).monotonic
        newest = max(now, min(now + cost, world.monotonic + Self.lead))
    }
}
