public import TelltaleModel

/// A state machine as its author wrote it, before any check.
///
/// A kind file (Protocols/Kinds/README.md) is read into this type; ``Statechart/compile(_:isAdmitted:)`` checks and
/// compiles it. Every part carries the JSON path that it came from, so that a diagnostic can point there.
public struct MachineDescription: Hashable, Sendable {
    /// The machine itself: a compound or parallel state with an empty key and an empty path.
    public var root: StateDescription

    public init(root: StateDescription) {
        self.root = root
    }
}

/// One state with its descendants.
public struct StateDescription: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case atomic
        /// `initial` holds paths or unique keys: several if they are in different regions, none if it is missing.
        case compound(initial: [String])
        case parallel
        case final
        /// `target` is the default; empty if there is none.
        case history(deep: Bool, target: [String])
    }

    /// The last component of the state's path.
    public var key: String
    public var kind: Kind
    /// The children: of a compound state sorted by the bytes of their keys (the order of JSON members has no meaning),
    /// of a parallel state in the order of its `regions` array.
    public var children: [StateDescription] = []
    /// The transitions under `on`, `always`, `after` and `onDone`. Alternatives for one trigger are in the order of
    /// their array; the order between triggers has no meaning.
    public var transitions: [TransitionDescription] = []
    /// The transitions under `reopen`, which only a top-level final state has.
    public var reopen: [TransitionDescription] = []
    public var entry: [ActionDescription] = []
    public var exit: [ActionDescription] = []
    /// The event names under `defer`.
    public var deferred: [String] = []
    /// The progress that this state stands for, compared by `skip` transitions.
    public var rank: Int?
    /// The JSON path: `machine.states.brewing`.
    public var location: String

    public init(key: String, kind: Kind, location: String) {
        self.key = key
        self.kind = kind
        self.location = location
    }
}

public enum Trigger: Hashable, Sendable {
    /// An event by name.
    case event(String)
    /// `*`: any event for which the same state has no transition by name.
    case wildcard
    case always
    /// A delay after the state was entered.
    case after(Milliseconds)
    /// The completion of the state (`onDone`).
    case done
}

public struct TransitionDescription: Hashable, Sendable {
    public var trigger: Trigger
    /// Paths or unique keys; empty for a transition that only runs actions.
    public var targets: [String] = []
    public var condition: Guard?
    public var actions: [ActionDescription] = []
    /// Whether to exit and re-enter the source even if the target is the source or inside it.
    public var reenter = false
    /// Whether the transition may skip ahead by ``StateDescription/rank``, and never back.
    public var skip = false
    public var location: String

    public init(trigger: Trigger, location: String) {
        self.trigger = trigger
        self.location = location
    }
}

public struct ActionDescription: Hashable, Sendable {
    public enum Action: Hashable, Sendable {
        /// Sets members of the content.
        case assign([Assignment])
        case raise(String)
        case send(event: String, delay: Milliseconds, id: String?)
        case cancel(id: String)
    }

    public struct Assignment: Hashable, Sendable {
        public enum Source: Hashable, Sendable {
            case literal(JSON)
            /// Copies the value at a path; a missing value removes the member.
            case path(ValuePath)
        }

        public var name: String
        public var source: Source

        public init(name: String, source: Source) {
            self.name = name
            self.source = source
        }
    }

    public var action: Action
    public var location: String

    public init(_ action: Action, location: String) {
        self.action = action
        self.location = location
    }
}
