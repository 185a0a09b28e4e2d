/// What a person's tap requests of a control: `SET value=` or `PRESS`.
public enum Tap: Hashable, Sendable {
    /// The value that is wanted, never a flip.
    case set(Bool)
    case press

    /// - Parameter value: `nil` = a press, as records and `DO` lines write it.
    public init(value: Bool?) {
        self = value.map { .set($0) } ?? .press
    }

    /// `set` or `press`.
    public var name: String {
        switch self {
        case .set: "set"
        case .press: "press"
        }
    }

    public var value: Bool? {
        if case .set(let value) = self { value } else { nil }
    }
}
