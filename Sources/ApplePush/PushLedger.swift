public import TelltaleModel

/// Everything that a sender of pushes knows: who registered for what, the newest state of each activity, and how far each
/// has come on its way to each token.
///
/// A pure value: rows, registrations, answers and times in; pushes, and the bytes to keep before they are sent, out
/// (``takeTurn(at:)``). Nothing is queued: what waits is the name of a way, and what is sent is its newest state then.
public struct PushLedger: Sendable {
    /// Which rows are followed: those that one account's devices see of a kind.
    public struct Watch: Hashable, Comparable, Sendable {
        /// Empty = every account's.
        public var account: String
        public var kind: String

        public init(account: String, kind: String) {
            self.account = account
            self.kind = kind
        }

        public static func < (left: Watch, right: Watch) -> Bool {
            (left.account, left.kind) < (right.account, right.kind)
        }
    }

    /// The way of one activity to one registration. A start token has one for each activity; what is loaded again has one
    /// in all.
    public struct LaneID: Hashable, Sendable {
        public var registration: String
        public var key: Key?

        public init(_ registration: String, _ key: Key?) {
            self.registration = registration
            self.key = key
        }
    }

    struct Activity {
        var row: JSONObject?
        var rev: Int64
        /// Whether it has left the daemon, or this account's sight.
        var isGone = false
        var startedAt: Int64 = 0
        var alert: OutgoingPush.Alert?
        var alertRev: Int64 = 0
        /// Of what a device would be told.
        var digest: UInt64 = 0
        /// The rev of the row that had another digest than the one before.
        var changedRev: Int64
        /// The row of the view `phone`, for people who read it.
        var surface: JSONObject?
        var surfaceRev: Int64 = 0
        var surfaceText: [JSON?] = []

        var isEnd: Bool { isGone || row?["lifecycle"]?.string == "ended" }
        var isPending: Bool { row?["lifecycle"]?.string == "pending" }
    }

    struct Lane {
        var machine: PushTarget
        /// Of the activity; a key may begin another one.
        var instance: Int64 = 0
        var alert: OutgoingPush.Alert?
        /// Whether it knows that the process began again.
        var isAwake = true

        /// Its attempts count from the time, so that an answer to a way of before is not taken for one to this.
        init(_ role: PushTarget.Role, _ registration: PushRegistration, at now: Timestamp) {
            machine = PushTarget(role, isFrequent: registration.isFrequent, at: now)
            machine.attempts = max(0, now.milliseconds)
        }
    }

    let forms: [String: OutgoingPush.Form]
    let cryptography: PushCryptography
    /// The most pushes that are under way to one service at once. A service that is slow holds up no other.
    let flightLimit: Int
    public internal(set) var registrations: [String: PushRegistration] = [:]
    var registered: [String: Timestamp] = [:]
    var lanes: [LaneID: Lane] = [:]
    var activities: [Watch: [Key: Activity]] = [:]
    /// The newest rev of a kind's rows, for what is loaded again.
    var newest: [Watch: Int64] = [:]
    var live: Set<Watch> = []
    /// The activities of each registration that is for all of a kind.
    var startedKeys: [String: Set<Key>] = [:]
    var registrationsByWatch: [Watch: Set<String>] = [:]
    /// The registrations of a watch that are for all activities of its kind.
    var broadByWatch: [Watch: Set<String>] = [:]
    var registrationsByKey: [Watch: [Key: Set<String>]] = [:]
    /// By service. A way that has come to wait for another service since is passed over.
    var waiting: [String: [LaneID]] = [:]
    var waitsFor: [LaneID: String] = [:]
    var wakes: [LaneID: Timestamp] = [:]
    /// The service of each push that is under way.
    var inFlight: [LaneID: String] = [:]
    /// How many are under way.
    var flights: [String: Int] = [:]
    var changedLanes: Set<LaneID> = []
    var changedRegistrations: Set<String> = []

    /// The name of Apple's service among those of browsers, which are hosts.
    static let apple = ""

    /// The services of browsers have so many times as much under way together as one has.
    public static let browserFlights = 4

    /// The most registrations.
    public static let registrationLimit = 1_000_000

    /// - Parameters:
    ///   - forms: How the rows of each kind become pushes; a kind without one is not sent.
    ///   - flightLimit: The most pushes that are under way to one service at once.
    public init(
        forms: [String: OutgoingPush.Form], flightLimit: Int = 500, _ cryptography: PushCryptography
    ) {
        self.forms = forms
        self.flightLimit = flightLimit
        self.cryptography = cryptography
    }

    /// The rows that the registrations need, in their order.
    public var watches: [Watch] { registrationsByWatch.keys.sorted() }

    public func isForm(ofKind kind: String) -> Bool { forms[kind] != nil }

    /// The app that a kind is of; `nil` for a kind without a form.
    public func bundle(ofKind kind: String) -> String? { forms[kind]?.bundle }

    // MARK: What was kept

    /// A registration that was kept.
    public mutating func restore(_ registration: PushRegistration, registeredAt: Timestamp) {
        index(registration)
        registered[registration.id] = registeredAt
    }

    /// A way that was kept. It sleeps until its rows are there.
    ///
    /// - Throws: Where the bytes are none that ``takeTurn(at:)`` gave.
    public mutating func restore(_ id: LaneID, _ bytes: [UInt8]) throws(BinaryError) {
        var lane = try Lane(encoded: bytes)
        lane.isAwake = false
        guard let registration = registrations[id.registration] else { return }
        lanes[id] = lane
        if registration.isBroad, let key = id.key {
            startedKeys[id.registration, default: []].insert(key)
        }
    }

    /// The rows are followed anew, from whole pictures: what is not among them has left while nobody followed it.
    public mutating func forgetRows() {
        activities = [:]
        newest = [:]
        live = []
    }

    /// The daemon has another history than the one whose states were kept.
    public mutating func newHistory(at now: Timestamp) {
        forgetRows()
        for id in lanes.keys.sorted(by: Self.isBefore) {
            lanes[id]?.machine.absorb(.newHistory, at: now)
            changedLanes.insert(id)
        }
    }

    // MARK: Registrations

    public enum RegistrationOutcome: Hashable, Sendable {
        case created, replaced, unchanged
        /// There is no room.
        case full
    }

    /// An app hands in a token, or hands it in again.
    public mutating func register(_ registration: PushRegistration, at now: Timestamp) -> RegistrationOutcome {
        let old = registrations[registration.id]
        if old == nil, registrations.count >= Self.registrationLimit { return .full }
        var isNew = false
        if let old,
            old.subject != registration.subject || old.account != registration.account
                || old.isFrequent != registration.isFrequent
        {
            // The switch of frequent updates ends an app's activities on the device, so that this is another target.
            unregister(old.id)
            isNew = true
        }
        index(registration)
        registered[registration.id] = now
        changedRegistrations.insert(registration.id)
        if registration.key != nil, registration.web == nil { retireStarts(before: registration) }
        switch registration.subject {
        case .update, .channel, .reload, .web(_, _, .some):
            admit(LaneID(registration.id, registration.key), registration, at: now)
        case .start, .web:
            for key in (startedKeys[registration.id] ?? []).sorted() {
                admit(LaneID(registration.id, key), registration, at: now)
            }
            for key in (activities[registration.watch] ?? [:]).keys.sorted() {
                // Nobody is notified of activities that were there before.
                let id = LaneID(registration.id, key)
                if registration.web != nil, lanes[id] == nil { begins(id, registration, isKnown: true, at: now) }
                mark(registration, key)
            }
        }
        return old == nil ? .created : isNew || old?.token != registration.token ? .replaced : .unchanged
    }

    /// - Returns: Whether there was one.
    @discardableResult
    public mutating func unregister(_ id: String) -> Bool {
        guard let registration = registrations.removeValue(forKey: id) else { return false }
        registered[id] = nil
        changedRegistrations.insert(id)
        let watch = registration.watch
        registrationsByWatch[watch]?.remove(id)
        broadByWatch[watch]?.remove(id)
        if let key = registration.key {
            registrationsByKey[watch]?[key]?.remove(id)
            if registration.web == nil { rememberAlert(of: LaneID(id, key), in: watch) }
        }
        if registrationsByWatch[watch]?.isEmpty == true {
            registrationsByWatch[watch] = nil
            registrationsByKey[watch] = nil
            broadByWatch[watch] = nil
            activities[watch] = nil
            newest[watch] = nil
            live.remove(watch)
        }
        for key in (startedKeys.removeValue(forKey: id) ?? []).sorted() { remove(LaneID(id, key)) }
        remove(LaneID(id, registration.key))
        return true
    }

    private mutating func index(_ registration: PushRegistration) {
        registrations[registration.id] = registration
        registrationsByWatch[registration.watch, default: []].insert(registration.id)
        if let key = registration.key {
            registrationsByKey[registration.watch, default: [:]][key, default: []].insert(registration.id)
        } else {
            broadByWatch[registration.watch, default: []].insert(registration.id)
        }
    }

    /// Tells a way its token, and begins the way where it is new.
    private mutating func admit(_ id: LaneID, _ registration: PushRegistration, at now: Timestamp) {
        var lane = lanes[id] ?? Lane(.update, registration, at: now)
        if lanes[id] == nil, let key = id.key { lane.machine.alerted = alerted(key, in: registration.watch) }
        wake(&lane, at: now)
        lane.machine.absorb(.registered(registration.token), at: now)
        lanes[id] = lane
        changedLanes.insert(id)
        mark(id)
    }

    /// The newest alert that a card's owner has had, before the card's token came: with the start, or without a push.
    private func alerted(_ key: Key, in watch: Watch) -> Int64 {
        var alerted: Int64?
        for id in (broadByWatch[watch] ?? []).sorted() {
            guard case .start? = registrations[id]?.subject, let lane = lanes[LaneID(id, key)] else { continue }
            alerted = max(alerted ?? 0, lane.machine.alerted)
        }
        return alerted ?? activities[watch]?[key]?.alertRev ?? 0
    }

    /// The card of a way that goes may hand in another token, which is not to tell its alert again.
    private mutating func rememberAlert(of id: LaneID, in watch: Watch) {
        guard let key = id.key, let alerted = lanes[id]?.machine.alerted else { return }
        for start in (broadByWatch[watch] ?? []).sorted() {
            guard case .start? = registrations[start]?.subject,
                lanes[LaneID(start, key)]?.machine.alerted ?? alerted < alerted
            else { continue }
            lanes[LaneID(start, key)]?.machine.alerted = alerted
            changedLanes.insert(LaneID(start, key))
        }
    }

    /// An activity whose card has a token of its own is there already.
    private mutating func retireStarts(before registration: PushRegistration) {
        guard let key = registration.key else { return }
        for id in (broadByWatch[registration.watch] ?? []).sorted() {
            guard case .start? = registrations[id]?.subject, var lane = lanes[LaneID(id, key)],
                lane.machine.underWay == nil
            else { continue }
            lane.machine.absorb(.dismissed, at: .distantPast)
            lanes[LaneID(id, key)] = lane
            changedLanes.insert(LaneID(id, key))
        }
    }

    mutating func remove(_ id: LaneID) {
        guard lanes.removeValue(forKey: id) != nil else { return }
        wakes[id] = nil
        land(id)
        changedLanes.insert(id)
        if let key = id.key { startedKeys[id.registration]?.remove(key) }
    }

    mutating func mark(_ id: LaneID) {
        let service = registrations[id.registration]?.web?.host ?? Self.apple
        guard waitsFor[id] != service else { return }
        waitsFor[id] = service
        waiting[service, default: []].append(id)
    }

    /// A push is under way no more.
    mutating func land(_ id: LaneID) {
        guard let service = inFlight.removeValue(forKey: id) else { return }
        let count = (flights[service] ?? 1) - 1
        flights[service] = count > 0 ? count : nil
    }

    mutating func wake(_ lane: inout Lane, at now: Timestamp) {
        guard !lane.isAwake else { return }
        lane.isAwake = true
        lane.machine.absorb(.restarted, at: now)
    }
}
