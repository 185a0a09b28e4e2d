public import TelltaleModel

/// The whole state of a sender of pushes: the registrations, the newest state of each activity, and how far each token
/// has received it.
///
/// A pure value: rows, registrations, answers and times in; pushes, and the bytes to store before they are sent, out
/// (``takeTurn(at:)``). States are not queued: only a lane waits, and its newest state is sent when its turn comes.
public struct PushLedger: Sendable {
    /// The rows to follow: those of one kind that one account's devices see.
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

    /// The lane of one activity to one registration. A start token has a lane for each activity; a registration for
    /// reloads has a single one.
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
        /// Whether it has left the daemon, or is no longer visible to this account.
        var isGone = false
        var startedAt: Int64 = 0
        var alert: OutgoingPush.Alert?
        var alertRev: Int64 = 0
        /// The digest of what a device would get.
        var digest: UInt64 = 0
        /// The rev of the last row whose digest changed.
        var changedRev: Int64
        /// The row of the view `phone`, for notifications.
        var surface: JSONObject?
        var surfaceRev: Int64 = 0
        var surfaceText: [JSON?] = []

        var isEnd: Bool { isGone || row?["lifecycle"]?.string == "ended" }
        var isPending: Bool { row?["lifecycle"]?.string == "pending" }
    }

    struct Lane {
        var machine: PushTarget
        /// Identifies the activity: a key may be used for another one later.
        var instance: Int64 = 0
        var alert: OutgoingPush.Alert?
        /// Whether it was informed of the restart of the process.
        var isAwake = true

        /// Attempts are numbered from the time, so that an answer to an earlier lane is not taken for one to this lane.
        init(_ role: PushTarget.Role, _ registration: PushRegistration, at now: Timestamp) {
            machine = PushTarget(role, isFrequent: registration.isFrequent, at: now)
            machine.attempts = max(0, now.milliseconds)
        }
    }

    let forms: [String: OutgoingPush.Form]
    let cryptography: PushCryptography
    /// The most pushes in flight to one service. A slow service does not delay the others.
    let flightLimit: Int
    public internal(set) var registrations: [String: PushRegistration] = [:]
    var registered: [String: Timestamp] = [:]
    var lanes: [LaneID: Lane] = [:]
    var activities: [Watch: [Key: Activity]] = [:]
    /// The newest rev of a kind's rows, for reloads.
    var newest: [Watch: Int64] = [:]
    var live: Set<Watch> = []
    /// The activities of each registration for all of a kind.
    var startedKeys: [String: Set<Key>] = [:]
    var registrationsByWatch: [Watch: Set<String>] = [:]
    /// The registrations of a watch for all activities of its kind.
    var broadByWatch: [Watch: Set<String>] = [:]
    var registrationsByKey: [Watch: [Key: Set<String>]] = [:]
    /// The waiting lanes of each service. A lane that has since changed to another service is skipped.
    var waiting: [String: [LaneID]] = [:]
    var waitsFor: [LaneID: String] = [:]
    var wakes: [LaneID: Timestamp] = [:]
    /// The service of each push in flight.
    var inFlight: [LaneID: String] = [:]
    /// The number of pushes in flight to each service.
    var flights: [String: Int] = [:]
    var changedLanes: Set<LaneID> = []
    var changedRegistrations: Set<String> = []

    /// The name of Apple's service; the names of browsers' services are hosts.
    static let apple = ""

    /// The pushes in flight to all browsers' services together, as a multiple of the limit for one.
    public static let browserFlights = 4

    /// The most registrations.
    public static let registrationLimit = 1_000_000

    /// - Parameters:
    ///   - forms: How the rows of each kind become pushes; a kind without a form is not sent.
    ///   - flightLimit: The most pushes in flight to one service.
    public init(
        forms: [String: OutgoingPush.Form], flightLimit: Int = 500, _ cryptography: PushCryptography
    ) {
        self.forms = forms
        self.flightLimit = flightLimit
        self.cryptography = cryptography
    }

    /// The watches that the registrations need, sorted.
    public var watches: [Watch] { registrationsByWatch.keys.sorted() }

    public func isForm(ofKind kind: String) -> Bool { forms[kind] != nil }

    /// The app of a kind; `nil` for a kind without a form.
    public func bundle(ofKind kind: String) -> String? { forms[kind]?.bundle }

    // MARK: What was kept

    /// Restores a stored registration.
    public mutating func restore(_ registration: PushRegistration, registeredAt: Timestamp) {
        index(registration)
        registered[registration.id] = registeredAt
    }

    /// Restores a stored lane. It sleeps until its rows have arrived.
    ///
    /// - Throws: If the bytes are not from ``takeTurn(at:)``.
    public mutating func restore(_ id: LaneID, _ bytes: [UInt8]) throws(BinaryError) {
        var lane = try Lane(encoded: bytes)
        lane.isAwake = false
        guard let registration = registrations[id.registration] else { return }
        lanes[id] = lane
        if registration.isBroad, let key = id.key {
            startedKeys[id.registration, default: []].insert(key)
        }
    }

    /// Forgets all rows, because complete sets of them follow. What is missing in those has left in the meantime.
    public mutating func forgetRows() {
        activities = [:]
        newest = [:]
        live = []
    }

    /// The daemon has another history than the stored states.
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

    /// Registers a token, for the first time or again.
    public mutating func register(_ registration: PushRegistration, at now: Timestamp) -> RegistrationOutcome {
        let old = registrations[registration.id]
        if old == nil, registrations.count >= Self.registrationLimit { return .full }
        var isNew = false
        if let old,
            old.subject != registration.subject || old.account != registration.account
                || old.isFrequent != registration.isFrequent
        {
            // Switching frequent updates ends the app's activities on the device, so this is a new target.
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
                // Nobody is notified of activities that existed before.
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

    /// Passes a lane its token, and opens the lane if it is new.
    private mutating func admit(_ id: LaneID, _ registration: PushRegistration, at now: Timestamp) {
        var lane = lanes[id] ?? Lane(.update, registration, at: now)
        if lanes[id] == nil, let key = id.key { lane.machine.alerted = alerted(key, in: registration.watch) }
        wake(&lane, at: now)
        lane.machine.absorb(.registered(registration.token), at: now)
        lanes[id] = lane
        changedLanes.insert(id)
        mark(id)
    }

    /// The newest alert that the card's owner got before the card's token was registered: with the start, or without a
    /// push.
    private func alerted(_ key: Key, in watch: Watch) -> Int64 {
        var alerted: Int64?
        for id in (broadByWatch[watch] ?? []).sorted() {
            guard case .start? = registrations[id]?.subject, let lane = lanes[LaneID(id, key)] else { continue }
            alerted = max(alerted ?? 0, lane.machine.alerted)
        }
        return alerted ?? activities[watch]?[key]?.alertRev ?? 0
    }

    /// The card of a removed lane may register another token, which must not repeat its alert.
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

    /// Ends the start of an activity whose card has registered its own token: it has been started already.
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

    /// A push is no longer in flight.
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
