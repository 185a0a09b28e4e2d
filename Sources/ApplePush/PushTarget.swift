public import TelltaleModel

/// The newest state of one activity, as its device is to show it.
public struct PushedState: Hashable, Sendable {
    /// Of the row.
    public var rev: Int64
    /// Whether the activity has ended.
    public var isEnd: Bool
    /// The rev of its newest alert; 0 where it has none.
    public var alert: Int64

    public init(rev: Int64, isEnd: Bool = false, alert: Int64 = 0) {
        self.rev = rev
        self.isEnd = isEnd
        self.alert = alert
    }
}

/// The answer to one push, as far as a target is concerned.
public enum PushAnswerClass: Hashable, Sendable {
    case accepted
    /// 410: the token is no longer good, since this time.
    case unregistered(since: Timestamp)
    /// 400 `BadDeviceToken` or `DeviceTokenNotForTopic`: the token never was. For a channel: it is gone.
    case badToken
    /// 429 `TooManyRequests`, with the delay that was asked for, if one was.
    case throttled(Milliseconds?)
    /// 500 and 503.
    case failed
    /// The provider token needs renewal or another connection: nothing is wrong with the push.
    case unauthorized
    /// This payload will never be taken.
    case refused
    /// No answer: it may have been taken.
    case unknown
    /// There was no connection, or not all of it left: it was not taken.
    case unsent

    /// For other programs, as `Protocols/HTTP/push.md` lists them.
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
        // A wrong key or team is for the operator to mend; it is tried again as seldom as a failing service.
        case (403, _), (500..., _): self = .failed
        default: self = .refused
        }
    }
}

/// The way of one activity's state to one device token: a pure state machine (Protocols/Machines/push-target.table).
///
/// At most one push is under way, and it is the newest state; nothing is queued. What it asks its performer to do follows
/// from the value alone, so that a performer that keeps the value before it acts may be killed at any moment: the device
/// ends on the daemon's state, is never shown an older one after a newer, and is alerted at most once for each alert.
public struct PushTarget: Hashable, Sendable {
    /// The push that a token takes.
    public enum Role: UInt8, CaseIterable, Hashable, Sendable {
        /// Updates of an activity, and its end.
        case update
        /// The start of an activity, once. A start that may have been taken is not sent again: a second one would be a
        /// second card, with a second alert.
        case start
    }

    public enum Phase: Hashable, Sendable {
        /// There is no token.
        case absent
        case valid
        /// Nothing is sent before that time.
        case backingOff(until: Timestamp)
        /// The token is of no use any more.
        case dead
    }

    /// One push that is under way.
    public struct Attempt: Hashable, Sendable {
        public var number: Int64
        public var token: String
        public var state: PushedState
        public var role: Role
        /// Whether it carries the alert. A start always does.
        public var alerts: Bool
        /// 10 for a start, an alert and an end, which are to be seen now; 5 for all others, which no device counts.
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
        /// The newest state; nothing happens for one that is known. Its alert may be told later than itself.
        case changed(PushedState)
        /// The activity has left the daemon: the device is told that it ends now.
        case gone
        /// The daemon has another history: what is known of its states means nothing any more.
        case newHistory
        /// The target is of no use any more.
        case dismissed
        /// The person changed a switch of the app: all of its activities ended on the device.
        case permissionChanged
        case answered(Int64, PushAnswerClass)
        /// The performer was killed, and begins again from what it had kept.
        case restarted
        /// Time passed.
        case woke
    }

    public enum Action: Hashable, Sendable {
        case send(Attempt)
        case wake(at: Timestamp)
    }

    /// The shortest time between two pushes of a target.
    public static let pace = Milliseconds(1_000)
    /// After an answer that was not heard, and when the provider token needs renewal.
    public static let shortDelay = Milliseconds(1_000)
    /// After 429; doubled each time.
    public static let throttleDelay = Milliseconds(60_000)
    /// After 500 and 503; doubled each time.
    public static let failureDelay = Milliseconds(900_000)
    public static let longestDelay = Milliseconds(3_600_000)

    public internal(set) var phase = Phase.absent
    public internal(set) var underWay: Attempt?
    public internal(set) var token: String?
    var registered = Timestamp.distantPast
    public internal(set) var wanted: PushedState?
    /// The newest state that was accepted, or will never be taken; 0 for none.
    public internal(set) var settled: Int64 = 0
    /// The newest alert that was sent, or may have been.
    var alerted: Int64 = 0
    /// Whether the newest state's alert was told when the state was on its way already.
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
    /// - Returns: What is to be done, once this value is kept.
    public mutating func take(_ input: Input, at now: Timestamp) -> [Action] {
        absorb(input, at: now)
        return next(at: now)
    }

    /// Takes one input whose consequence the next one brings.
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
            // A push that is under way says nothing about the states to come.
            underWay?.state.rev = 0
            underWay?.alertedBefore = 0
        case .dismissed, .permissionChanged: die()
        case .answered(let number, let answer):
            guard let attempt = underWay, attempt.number == number else { return }
            underWay = nil
            settle(attempt, answer, at: now)
        case .restarted:
            // It may have been taken. The state goes out again; the alert does not, and neither does a start.
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
        // An activity that has ended is not begun.
        if role == .start, wanted?.isEnd == true, underWay == nil { die() }
    }

    private mutating func register(_ token: String, at now: Timestamp) {
        // A token that comes back after its end belongs to a device that shows nothing yet.
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
            // Before it counts as settled: this alert is refused with its state, and not told late.
            if attempt.alerts { alerted = attempt.alertedBefore }
            settled = max(settled, attempt.state.rev)
            failures = 0
        case .unregistered(let since):
            giveAlertBack(attempt)
            guard isCurrent else { break }
            // The answer is about a time before the app handed the token in again.
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
            // Of a clock that is wrong no new token helps, and each device has a way of its own.
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
        // A state that had arrived without its alert is still to bring it.
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
        // Two pushes of one second could not be told apart by a device that receives them in another order.
        guard second > timestamp else {
            return [.wake(at: Timestamp(milliseconds: Milliseconds.seconds(timestamp + 1).count))]
        }
        timestamp = second
        attempts += 1
        let alerts = wanted.alert > alerted || role == .start
        let isUrgent = alerts || wanted.isEnd
        let isThrottled = isUrgent ? !budget.take(at: now) : false
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
