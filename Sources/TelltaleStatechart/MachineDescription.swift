public import TelltaleModel

/// A state machine as somebody wrote it, before anything about it has been checked.
///
/// The kind files of Kinds/README.md are read into this; ``Statechart/compile(_:)`` checks it and makes it run. Every part
/// carries the JSON path from which it came, so that a fault can be told where it was made.
public struct MachineDescription: Hashable, Sendable {
    /// The machine itself: a compound or parallel state whose key is "" and whose path is "".
    public var root: StateDescription

    public init(root: StateDescription) {
        self.root = root
    }
}

/// One state, with everything inside it.
public struct StateDescription: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case atomic
        /// `initial` holds paths or unique keys, several where they lie in several regions; empty where it is missing.
        case compound(initial: [String])
        case parallel
        case final
        /// `target` is the default; empty where there is none.
        case history(deep: Bool, target: [String])
    }

    /// The last part of its path.
    public var key: String
    public var kind: Kind
    /// The children: of a compound state in the order of their keys' bytes (nothing depends on the order of JSON keys),
    /// of a parallel state in the order of its `regions` array.
    public var children: [StateDescription] = []
    /// Everything under `on`, `always`, `after` and `onDone`. Alternatives for one trigger stand in the order of their
    /// array; between triggers there is no order that matters.
    public var transitions: [TransitionDescription] = []
    /// The edges of `reopen`: of a top-level final state alone.
    public var reopen: [TransitionDescription] = []
    public var entry: [ActionDescription] = []
    public var exit: [ActionDescription] = []
    /// The names under `defer`.
    public var deferred: [String] = []
    /// How far along this state is, for `skip` transitions.
    public var rank: Int?
    /// Its JSON path, `machine.states.brewing`.
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
    /// `*`: any event for which the same state has no key of its own.
    case wildcard
    case always
    /// So long after the state was entered.
    case after(Milliseconds)
    /// The state is done (`onDone`).
    case done
}

public struct TransitionDescription: Hashable, Sendable {
    public var trigger: Trigger
    /// Paths or unique keys. Empty: actions alone.
    public var targets: [String] = []
    public var condition: Guard?
    public var actions: [ActionDescription] = []
    /// Exit and enter again even where the target is the source or lies inside it.
    public var reenter = false
    /// May jump ahead by ``StateDescription/rank``, and never back.
    public var skip = false
    public var location: String

    public init(trigger: Trigger, location: String) {
        self.trigger = trigger
        self.location = location
    }
}

public struct ActionDescription: Hashable, Sendable {
    public enum Action: Hashable, Sendable {
        /// Members of the content to set.
        case assign([Assignment])
        case raise(String)
        case send(event: String, delay: Milliseconds, id: String?)
        case cancel(id: String)
    }

    public struct Assignment: Hashable, Sendable {
        public enum Source: Hashable, Sendable {
            case literal(JSON)
            /// Copies the value at a path; a missing one removes the member.
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
