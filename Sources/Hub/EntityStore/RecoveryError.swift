internal import FanOut
internal import Journal
internal import Kinds
internal import Machines
internal import TelltaleModel

/// Why a journal does not give a trustworthy state.
public enum RecoveryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A record or a snapshot does not have the form that this release writes.
    case unreadable(place: String, reason: String)
    /// The same input gives a different result than when it was recorded.
    case diverged(sequence: Int64, entity: String, expected: String, computed: String)

    public var description: String {
        switch self {
        case .unreadable(let place, let reason):
            "\(place) cannot be read: \(reason) (start the release that wrote it, stop it in order, then this one)"
        case .diverged(let sequence, let entity, let expected, let computed):
            "record \(sequence) (\(entity)) gave \(expected) when it was written and gives \(computed) now (start the release that wrote it, stop it in order, then this one)"
        }
    }
}
