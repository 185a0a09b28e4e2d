/// How long a flush waits behind the one before.
public enum Pace: Hashable, Sendable {
    /// While busy, as long as this; zero = never.
    case fixed(Duration)
    /// Not at all while the loop has time to spare, and longer the less it has: up to this.
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
