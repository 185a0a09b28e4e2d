/// The pause between two flushes.
public enum Pace: Hashable, Sendable {
    /// This long while busy; zero = no pause.
    case fixed(Duration)
    /// None while the loop has time to spare, and longer the less it has, up to this.
    case adaptive(upTo: Duration)

    /// The longest that a flush waits.
    public var bound: Duration {
        switch self {
        case .fixed(let duration), .adaptive(let duration): duration
        }
    }

    var isAdaptive: Bool {
        if case .adaptive = self { true } else { false }
    }
}
