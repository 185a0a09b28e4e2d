public import TelltaleModel
public import TelltaleStatechart

/// The result of an event or of a deadline.
public struct ActivityOutcome: Hashable, Sendable {
    /// The activity entered a state that its kind marks `milestone`.
    public struct Milestone: Hashable, Sendable {
        /// The state's dotted path.
        public var state: String
        public var time: Timestamp
    }

    public var verdict: Verdict
    public var effects: ActivityEffects = []
    /// In the order of entry.
    public var milestones: [Milestone] = []
    /// The alert, if `effects` contains ``ActivityEffects/alert``.
    public var alert: ActivityAlert?
    /// Whether an `end` older than the newest event was applied all the same: `old_end` in its reply.
    public var isOldEnd = false
    var guardErrors: GuardErrors?
    /// The error of a timer's step. The timer was dropped, and nothing else changed.
    public var failure: MachineError?

    /// The number of guards that could not be evaluated and counted as false.
    public var guardErrorCount: Int { guardErrors?.count ?? 0 }
    /// The location of the first such guard in the kind's file.
    public var guardErrorLocation: String? { guardErrors?.location }

    public init(_ verdict: Verdict, _ effects: ActivityEffects = []) {
        self.verdict = verdict
        self.effects = effects
    }

    /// Takes over the result of a machine's step, before the activity applies it.
    mutating func adopt(_ step: StepResult) {
        verdict = step.verdict
        guardErrors = step.guardErrors
    }
}

/// The actions that a transition requires of its owner.
///
/// An effect names an action; the activity's state holds the data for it.
public struct ActivityEffects: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The full row changed: the key gets a new `rev` and is published to its subscribers.
    public static let publish = Self(rawValue: 1 << 0)
    /// The person's attention is required.
    public static let alert = Self(rawValue: 1 << 1)
    /// The activity is dismissed: no further transition is possible, and every view removes it.
    public static let retire = Self(rawValue: 1 << 2)
}

/// The reason why an event is answered with `ERR`. The activity is unchanged.
public enum ActivityRejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// The activity does not exist, and the event does not start one (`unknown_key`).
    case notStarted
    /// A member of the tail has the wrong type (`bad_json`).
    case badTail(member: String, expected: String)
    /// A future `start-date` requires an alert (`bad_json`).
    case alertMissing
    /// Attributes and content exceed the limit after the merge, in bytes of compact JSON (`too_large`).
    case tooLarge(byteCount: Int, limit: Int)
    /// The kind's machine failed on the event (`machine_error`).
    case machine(MachineError)
    /// The account has the largest allowed number of activities of this app (`limit_activities`).
    case appLimit(Int)
    /// The account has the largest allowed number of activities (`limit_activities`).
    case accountLimit(Int)
    /// More accounts have dismissed or seen the activity than it can store (`limit_activities`).
    case markLimit(Int)

    public var description: String {
        switch self {
        case .notStarted: "there is no such activity, and this event starts none; send type=start first"
        case .badTail(let member, let expected): "\(member) must be \(expected)"
        case .alertMissing: "a start-date ahead of now needs an alert; add alert with title and body"
        case .tooLarge(let byteCount, let limit):
            "attributes and content-state are \(byteCount) bytes together, \(limit) is the limit"
        case .machine(.alwaysLoop):
            "the kind's machine does not settle: its always transitions, or its after of no time, go in a circle, or one event has more than 10,000 actions"
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
