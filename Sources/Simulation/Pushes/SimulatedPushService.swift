import ApplePush
import TelltaleModel

/// A push service, and the devices behind it: pushes arrive late, more than once after a lost answer, or not at all.
struct SimulatedPushService {
    /// One card on a device.
    struct Card {
        var account: String
        var key: Key
        /// Of the newest state that was shown.
        var rev: Int64 = 0
        var timestamp: Int64 = 0
        var isEnd = false
        var content: JSON?
        var alerts: Set<Int64> = []
    }

    struct Delivery {
        var at: Int64
        var sending: PushState.Sending
        var answer: PushAnswerClass
        var arrives: Bool
        /// Of the process that sent it.
        var generation: Int
        /// When the activity began, as its row says.
        var startedAt: Int64
    }

    /// A card that is begun by push.
    struct Start: Hashable {
        var registration: String
        var key: Key
        var startedAt: Int64
    }

    /// By token.
    private(set) var cards: [String: Card] = [:]
    /// The tokens that are no good any more, and those in their places.
    private var replaced: [String: String] = [:]
    private(set) var underWay: [Delivery] = []
    private var starts: Set<Start> = []
    /// The starts that a sender cannot know to have arrived or not.
    private var doubtful: Set<Start> = []
    private(set) var arrivals = 0
    /// The first thing that a device should never see.
    private(set) var fault: (promise: String, what: String)?

    /// The device makes a token for a card.
    mutating func addCard(_ token: String, account: String, key: Key) {
        cards[token] = Card(account: account, key: key)
    }

    /// The device replaces the token of a card; the old one is no good from now on.
    mutating func rotate(_ token: String, to fresh: String) {
        guard let card = cards.removeValue(forKey: token) else { return }
        cards[fresh] = card
        replaced[token] = fresh
    }

    /// Decides what becomes of a push.
    mutating func deliverPush(
        _ sending: PushState.Sending, at now: Int64, generation: Int, startedAt: Int64, isCalm: Bool,
        random: inout SimulationRandom
    ) {
        var answer = PushAnswerClass.accepted
        if replaced[sending.attempt.token] != nil {
            answer = .unregistered(since: .distantFuture)
        } else if !isCalm {
            switch random.below(14) {
            case 9: answer = .throttled(.seconds(2))
            case 10: answer = .throttled(nil)
            case 11: answer = .failed
            case 12: answer = .unsent
            case 13: answer = .unknown
            default: break
            }
        }
        let arrives = answer == .accepted || answer == .unknown && random.chance(500)
        if answer == .unknown, sending.attempt.role == .start, let key = sending.lane.key {
            doubt(Start(registration: sending.lane.registration, key: key, startedAt: startedAt))
        }
        underWay.append(
            Delivery(
                at: now + random.pick(0...(isCalm ? 50 : 3_000)), sending: sending, answer: answer, arrives: arrives,
                generation: generation, startedAt: startedAt))
    }

    /// A start may have left, and its sender does not hear what became of it.
    mutating func doubt(_ start: Start) { doubtful.insert(start) }

    /// Whether a card was begun, or nobody can know.
    func mayHaveBegun(_ start: Start) -> Bool { starts.contains(start) || doubtful.contains(start) }

    var nextTime: Int64? { underWay.map(\.at).min() }

    /// The pushes that are due, in the order in which they were sent. They have arrived at the devices.
    mutating func due(at now: Int64) -> [Delivery] {
        let due = underWay.filter { $0.at <= now }
        underWay.removeAll { $0.at <= now }
        for delivery in due where delivery.arrives { arrive(delivery) }
        return due
    }

    private mutating func arrive(_ delivery: Delivery) {
        let sending = delivery.sending
        guard let key = sending.lane.key,
            let aps = (try? JSONParser.parse(String(decoding: sending.push.body, as: UTF8.self)))?["aps"]
        else { return }
        arrivals += 1
        let attempt = sending.attempt
        if attempt.role == .start {
            let start = Start(registration: sending.lane.registration, key: key, startedAt: delivery.startedAt)
            if !starts.insert(start).inserted { found("starts", "\(key) is begun twice for \(start.registration)") }
            return
        }
        // A push that was taken before the token was replaced reaches the same card.
        var token = attempt.token
        while let fresh = replaced[token] { token = fresh }
        guard var card = cards[token], !card.isEnd, attempt.timestamp >= card.timestamp else { return }
        if attempt.state.rev < card.rev {
            found("order", "\(key) of \(card.account) shows \(attempt.state.rev) after \(card.rev)")
        }
        if card.key != key { found("targets", "the card of \(card.key) is sent \(key)") }
        (card.rev, card.timestamp) = (attempt.state.rev, attempt.timestamp)
        card.isEnd = aps["event"]?.string == "end"
        card.content = aps["content-state"] ?? card.content
        if aps["alert"] != nil, !card.alerts.insert(attempt.state.alert).inserted {
            found("alerts", "\(key) of \(card.account) alerts twice for \(attempt.state.alert)")
        }
        cards[token] = card
    }

    private mutating func found(_ promise: String, _ what: String) { fault = fault ?? (promise, what) }
}
