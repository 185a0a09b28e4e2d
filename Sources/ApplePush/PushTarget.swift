public import TelltaleModel

/// The newest state of one activity, as its device should show it.
public struct PushedState: Hashable, Sendable {
    /// The `rev` of the row.
    public var rev: Int64
    /// Whether the activity has ended.
    public var isEnd: Bool
    /// The rev of its newest alert; 0 for none.
    public var alert: Int64

    public init(rev: Int64, isEnd: Bool = false, alert: Int64 = 0) {
        self.rev = rev
        self.isEnd = isEnd
        self.alert = alert
    }
}

/// The answer to one push, as far as a target needs it.
public enum PushAnswerClass: Hashable, Sendable {
    case accepted
    /// 410: the token has been invalid since this time.
    case unregistered(since: Timestamp)
    /// 400 `BadDeviceToken` or `DeviceTokenNotForTopic`: the token was never valid. For a channel: it is gone.
    case badToken
    /// 429 `TooManyRequests`, with the requested delay, if any.
    case throttled(Milliseconds?)
    /// 500 and 503.
    case failed
    /// The provider token needs renewal or another connection. The push itself is fine.
    case unauthorized
    /// This payload will never be accepted.
    case refused
    /// No answer: the push may have been accepted.
    case unknown
    /// There was no connection, or not all bytes were sent: the push was not accepted.
    case unsent

    /// The name for other programs, as `Protocols/HTTP/push.md` lists it.
    public var name: String {
        switch self {
        case .accepted: "accepted"
        case .unregistered: "unregistered"
        case .badToken: "bad-token"
        case .throttled: "throttled"
        case .failed: "failed"
        case .unauthorized: "unauthorized"
        case .refused: "refused"
        case .unknown: "unknown"
        case .unsent: "unsent"
        }
    }

    /// - Parameters:
    ///   - reason: Of the body; `nil` where there is none.
    ///   - timestamp: Of the body, Unix ms.
    ///   - retryAfter: Of the header field, in seconds.
    public init(status: Int, reason: String?, timestamp: Int64? = nil, retryAfter: Int64? = nil) {
        switch (status, reason) {
        case (200, _): self = .accepted
        case (410, _): self = .unregistered(since: timestamp.map { Timestamp(milliseconds: $0) } ?? .distantFuture)
        case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"), (400, "BadChannelId"),
            (400, "ChannelNotRegistered"):
            self = .badToken
        case (400, "IdleTimeout"): self = .unauthorized
        case (429, "TooManyProviderTokenUpdates"), (403, "ExpiredProviderToken"), (403, "UnrelatedKeyIdInToken"):
            self = .unauthorized
        case (429, _): self = .throttled(retryAfter.map { .seconds(min(max(0, $0), 86_400)) })
        // The operator has to correct a wrong key or team. Retries are as rare as for a failing service.
        case (403, _), (500..., _): self = .failed
        default: self = .refused
        }
    }
}

/// Delivers one activity's state to one device token: a pure state machine (Protocols/Machines/push-target.table).
///
/// At most one push is in flight, with the newest state; nothing is queued. Its actions follow from the value alone. A
/// performer that stores the value before it acts may therefore be killed at any moment: the device ends up with the
/// daemon's state, never shows an older state after a newer one, and alerts at most once for each alert.
public struct PushTarget: Hashable, Sendable {
    /// The pushes that a token is for.
    public enum Role: UInt8, CaseIterable, Hashable, Sendable {
        /// Updates of an activity, and its end.
        case update
        /// The start of an activity, once. A start that may have been accepted is not repeated, because that would make
        /// a second card with a second alert.
        case start
    }

    public enum Phase: Hashable, Sendable {
        /// No token is registered.
        case absent
        case valid
        /// Sends nothing before that time.
        case backingOff(until: Timestamp)
        /// The token is no longer useful.
        case dead
    }

    /// One push in flight.
    public struct Attempt: Hashable, Sendable {
        public var number: Int64
        public var token: String
        public var state: PushedState
        public var role: Role
        /// Whether it carries the alert. A start always does.
        public var alerts: Bool
        /// 10 for a start, an alert and an end, which should show immediately; 5 for all others, which do not count
        /// against the budget.
        public var priority: Int
        /// Whether the priority is 10 beyond the device's budget, so that the device may hold the push back.
        public var isThrottled: Bool
        /// `aps.timestamp`, Unix seconds; larger with every push, so that a device drops what arrives late.
        public var timestamp: Int64
        var alertedBefore: Int64
    }

    public enum Input: Hashable, Sendable {
        /// The app handed in a token, or another one.
        case registered(String)
        /// The newest state; one that is known already has no effect. Its alert may follow later.
        case changed(PushedState)
        /// The activity has left the daemon, so a push ends it on the device.
        case gone
        /// The daemon has another history, so what is known of its states is void.
        case newHistory
        /// The target is no longer needed.
        case dismissed
        /// The person changed a switch of the app: all of its activities ended on the device.
        case permissionChanged
        case answered(Int64, PushAnswerClass)
        /// The performer was killed, and restarts from what it had stored.
        case restarted
        /// Time passed.
        case woke
    }

    public enum Action: Hashable, Sendable {
        case send(Attempt)
        case wake(at: Timestamp)
    }

    /// The delay after a lost answer, and when the provider token needs renewal.
    public static let shortDelay = Milliseconds(1_000)
    /// The delay after 429; doubled each time.
    public static let throttleDelay = Milliseconds(60_000)
    /// The delay after 500 and 503; doubled each time.
    public static let failureDelay = Milliseconds(900_000)
    public static let longestDelay = Milliseconds(3_600_000)

    public internal(set) var phase = Phase.absent
    public internal(set) var underWay: Attempt?
    public internal(set) var token: String?
    var registered = Timestamp.distantPast
    public internal(set) var wanted: PushedState?
    /// The newest state that was accepted or will never be; 0 for none.
    public internal(set) var settled: Int64 = 0
    /// The newest alert that was sent, or may have been.
    var alerted: Int64 = 0
    /// Whether the newest state's alert arrived when the state had already been sent.
    var isAlertLate = false
    var attempts: Int64 = 0
    var failures = 0
    var timestamp: Int64 = 0
    var budget: PushBudget
    public let role: Role

    public init(_ role: Role = .update, isFrequent: Bool = false, at now: Timestamp) {
        self.role = role
        budget = PushBudget(isFrequent: isFrequent, at: now)
    }

    /// Takes one input.
    ///
    /// - Returns: The actions to perform once this value is stored.
    public mutating func decide(_ input: Input, at now: Timestamp) -> [Action] {
        absorb(input, at: now)
        return next(at: now)
    }

    /// Takes one input without deciding what is next; the next input does.
    mutating func absorb(_ input: Input, at now: Timestamp) {
        switch input {
        case .registered(let token): register(token, at: now)
        case .changed(let state): change(state)
        case .gone: if wanted?.isEnd != true { change(PushedState(rev: latest + 1, isEnd: true)) }
        case .newHistory:
            wanted = nil
            settled = 0
            alerted = 0
            isAlertLate = false
            // A push in flight says nothing about the states of the new history.
            underWay?.state.rev = 0
            underWay?.alertedBefore = 0
        case .dismissed, .permissionChanged: die()
        case .answered(let number, let answer):
            guard let attempt = underWay, attempt.number == number else { return }
            underWay = nil
            settle(attempt, answer, at: now)
        case .restarted:
            // The push may have been accepted. The state is sent again; an alert and a start are not.
            if underWay != nil { role == .start ? die() : delay(Self.shortDelay, at: now) }
            underWay = nil
        case .woke: break
        }
    }

    private var latest: Int64 { max(wanted?.rev ?? 0, settled) }

    private mutating func change(_ state: PushedState) {
        let alert = max(state.alert, wanted?.alert ?? 0)
        if state.rev > wanted?.rev ?? 0 {
            wanted = PushedState(rev: state.rev, isEnd: state.isEnd, alert: alert)
        } else if state.rev == wanted?.rev, alert > wanted?.alert ?? 0 {
            wanted?.alert = alert
            isAlertLate = true
        }
        // An activity that has ended is not started.
        if role == .start, wanted?.isEnd == true, underWay == nil { die() }
    }

    private mutating func register(_ token: String, at now: Timestamp) {
        // A token that is registered again after it was dead belongs to a device that shows nothing yet.
        if phase == .dead { settled = 0 }
        registered = now
        if token != self.token || phase == .dead || phase == .absent {
            self.token = token
            failures = 0
            phase = .valid
        }
    }

    private mutating func die() {
        phase = .dead
        underWay = nil
    }

    private mutating func settle(_ attempt: Attempt, _ answer: PushAnswerClass, at now: Timestamp) {
        let isCurrent = attempt.token == token
        switch answer {
        case .accepted:
            settled = max(settled, attempt.state.rev)
            failures = 0
            if isCurrent, attempt.state.isEnd || role == .start { die() }
        case .refused where role == .start: die()
        case .refused:
            // Before the state counts as settled: this alert is refused with its state, and is not sent later.
            if attempt.alerts { alerted = attempt.alertedBefore }
            settled = max(settled, attempt.state.rev)
            failures = 0
        case .unregistered(let since):
            giveAlertBack(attempt)
            guard isCurrent else { break }
            // Otherwise the answer is about a time before the app registered the token again.
            if since >= registered { die() } else { backOff(Self.throttleDelay, at: now) }
        case .badToken:
            giveAlertBack(attempt)
            if isCurrent { die() }
        case .throttled(let delay):
            giveAlertBack(attempt)
            if let delay { self.delay(delay, at: now) } else { backOff(Self.throttleDelay, at: now) }
        case .failed:
            giveAlertBack(attempt)
            backOff(Self.failureDelay, at: now)
        case .unauthorized:
            giveAlertBack(attempt)
            // With a wrong clock no new token helps, so each target backs off by itself.
            backOff(Self.shortDelay, at: now)
        case .unknown where role == .start: die()
        case .unknown: delay(Self.shortDelay, at: now)
        case .unsent:
            giveAlertBack(attempt)
            backOff(Self.shortDelay, at: now)
        }
        if role == .start, wanted?.isEnd == true { die() }
    }

    /// A refused push alerted nobody.
    private mutating func giveAlertBack(_ attempt: Attempt) {
        guard attempt.alerts else { return }
        alerted = attempt.alertedBefore
        // A state that was delivered without its alert still has to bring it.
        if attempt.state.rev <= settled, attempt.state.rev == wanted?.rev { isAlertLate = true }
    }

    private mutating func backOff(_ first: Milliseconds, at now: Timestamp) {
        let span = min(Self.longestDelay, first.multiplied(by: 1 << Int64(min(failures, 10))))
        failures += 1
        delay(span, at: now)
    }

    private mutating func delay(_ span: Milliseconds, at now: Timestamp) {
        guard phase != .dead, phase != .absent else { return }
        phase = .backingOff(until: now + span)
    }

    // MARK: What is next

    private mutating func next(at now: Timestamp) -> [Action] {
        guard underWay == nil, let token, let wanted, wanted.rev > settled || isAlertLate else { return [] }
        switch phase {
        case .absent, .dead: return []
        case .backingOff(let until):
            guard until <= now else { return [.wake(at: until)] }
            phase = .valid
        case .valid: break
        }
        let second = now.milliseconds / 1_000
        // A device that receives two pushes of the same second in the wrong order could not see it.
        guard second > timestamp else {
            return [.wake(at: Timestamp(milliseconds: Milliseconds.seconds(timestamp + 1).count))]
        }
        timestamp = second
        attempts += 1
        let alerts = wanted.alert > alerted || role == .start
        let isUrgent = alerts || wanted.isEnd
        let isThrottled = isUrgent ? !budget.spend(at: now) : false
        let attempt = Attempt(
            number: attempts, token: token, state: wanted, role: role, alerts: alerts, priority: isUrgent ? 10 : 5,
            isThrottled: isThrottled, timestamp: second, alertedBefore: alerted)
        alerted = max(alerted, wanted.alert)
        isAlertLate = false
        underWay = attempt
        return [.send(attempt)]
    }

    /// Whether nothing is left to do until a new input.
    public var isSettled: Bool {
        underWay == nil && (phase == .dead || phase == .absent || (wanted?.rev ?? 0) <= settled && !isAlertLate)
    }
}
