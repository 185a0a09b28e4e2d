public import TelltaleModel
public import TelltaleStatechart

/// What became of an event, or of a deadline.
public struct ActivityOutcome: Hashable, Sendable {
    /// A state that its kind marks `milestone` was entered.
    public struct Milestone: Hashable, Sendable {
        /// The state's path, dotted.
        public var state: String
        public var time: Timestamp

        public init(state: String, time: Timestamp) {
            self.state = state
            self.time = time
        }
    }

    public var verdict: Verdict
    public var effects: ActivityEffects = []
    /// In the order of entry.
    public var milestones: [Milestone] = []
    /// What to say, where `effects` has ``ActivityEffects/alert``.
    public var alert: ActivityAlert?
    /// An `end` older than the newest event was taken all the same: `old_end` on its reply.
    public var isOldEnd = false
    var guardErrors: GuardErrors?
    /// A timer whose step was refused; the timer is gone, nothing else changed.
    public var failure: MachineError?

    /// Guards that failed to evaluate, and were false.
    public var guardErrorCount: Int { guardErrors?.count ?? 0 }
    /// Where the first of them stands in the kind's file.
    public var guardErrorLocation: String? { guardErrors?.location }

    public init(_ verdict: Verdict, _ effects: ActivityEffects = []) {
        self.verdict = verdict
        self.effects = effects
    }

    /// Becomes as a step of the machine leaves it, which its activity has yet to make something of.
    mutating func take(_ step: StepResult) {
        verdict = step.verdict
        guardErrors = step.guardErrors
    }
}

/// What a transition asks its owner to do.
///
/// An effect says *that* something is to be done; the activity's state says *what*.
public struct ActivityEffects: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The full row is another one now: the key has a new `rev`, and goes to whoever follows it.
    public static let publish = Self(rawValue: 1 << 0)
    /// Draw attention to it.
    public static let alert = Self(rawValue: 1 << 1)
    /// Dismissed: nothing more can happen, every view loses it.
    public static let retire = Self(rawValue: 1 << 2)
}

/// Why an event has no effect and is answered with `ERR`; the activity is as it was.
public enum ActivityRejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// There is no such activity, and this event starts none (`unknown_key`).
    case notStarted
    /// A member of the tail is of the wrong type (`bad_json`).
    case badTail(member: String, expected: String)
    /// A `start-date` ahead of now needs an alert (`bad_json`).
    case alertMissing
    /// Attributes and content, after the merge, as compact JSON (`too_large`).
    case tooLarge(byteCount: Int, limit: Int)
    /// The kind's machine could not take it (`machine_error`).
    case machine(MachineError)
    /// This person has as many activities of this app as they may (`limit_activities`).
    case appLimit(Int)
    /// This person has as many activities as they may (`limit_activities`).
    case accountLimit(Int)
    /// More accounts have dismissed or seen it than one activity remembers (`limit_activities`).
    case markLimit(Int)

    public var description: String {
        switch self {
        case .notStarted: "there is no such activity, and this event starts none; send type=start first"
        case .badTail(let member, let expected): "\(member) must be \(expected)"
        case .alertMissing: "a start-date ahead of now needs an alert; add alert with title and body"
        case .tooLarge(let byteCount, let limit):
            "attributes and content-state are \(byteCount) bytes together, \(limit) is the limit"
        case .machine(.alwaysLoop):
            "the kind's machine does not settle: its always transitions, or its after of no time, go in a circle"
        case .machine(.contentTooLarge(let byteCount, let limit)):
            "an assignment of the kind's machine makes the content \(byteCount) bytes, \(limit) is the limit"
        case .machine(.parkedTooLarge(let byteCount, let limit)):
            "the content-state of an event that has to wait is \(byteCount) bytes, \(limit) is the limit"
        case .machine(.tooManyPending(let limit)):
            "more than \(limit) events are parked or under way in the kind's machine"
        case .appLimit(let limit):
            "this person has \(limit) activities of this app already; end one, or raise the limit"
        case .accountLimit(let limit): "this person has \(limit) activities already; end one, or raise the limit"
        case .markLimit(let limit): "\(limit) accounts have dismissed or seen this activity already"
        }
    }
}
