internal import TelltaleModel

/// Settings that cannot take effect in a history.
public enum SettingsRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds' clock of this journal ran at another speed, so its dates would change their meaning.
    case clockSpeed(journal: Double, asked: Double)

    public var description: String {
        switch self {
        case .clockSpeed(let journal, let asked):
            "this journal was written with --clock-speed \(journal), not \(asked); start with that speed, or with another --data"
        }
    }
}
