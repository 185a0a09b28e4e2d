public import TelltaleModel

/// The whole state of a sender of pushes: the registrations, the newest state of each activity, and how far each token
/// has received it.
///
/// A pure value: rows, registrations, answers and times in; pushes, and the bytes to store before they are sent, out
/// (``takeTurn(at:)``). States are not queued: only a lane waits, and its newest state is sent when its turn comes.
public struct PushState: Sendable {
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
    public struct LaneID: Hashable, Comparable, Sendable {
        public var registration: String
        public var key: Key?

        public init(_ registration: String, _ key: Key?) {
            self.registration = registration
            self.key = key
        }

        public static func < (left: LaneID, right: LaneID) -> Bool {
            (left.registration, left.key?.text ?? "") < (right.registration, right.key?.text ?? "")
        }
    }

    /// One push to send.
    public struct Sending: Sendable {
        public var lane: LaneID
        public var attempt: PushTarget.Attempt
        public var push: OutgoingPush
        /// The subscription of a Web Push, whose body must still be encrypted; `nil` for a push to Apple's service.
        public var web: WebSubscription?
    }

    /// A push that was not sent because it is too large.
    public struct Refusal: Sendable {
        public var lane: LaneID
        public var attempt: PushTarget.Attempt
        /// In bytes.
        public var count: Int
    }

    public struct Turn: Sendable {
        /// Lanes to write in one transaction, before anything is sent; `nil` = remove the lane.
        public var lanes: [(id: LaneID, bytes: [UInt8]?)] = []
        /// Registrations to write in the same way, with their time.
        public var registrations: [(id: String, registration: PushRegistration?, at: Timestamp)] = []
        public var sendings: [Sending] = []
        public var refusals: [Refusal] = []
    }

    private let forms: [String: OutgoingPush.Form]
    private let cryptography: PushCryptography
    private var table = RegistrationTable()
    private var rows = WatchedRows()
    private var queue: PushQueue
    private var lanes: [LaneID: PushLane] = [:]
    /// The activities of each registration for all of a kind.
    private var startedKeys: [String: Set<Key>] = [:]
    private var changedLanes: Set<LaneID> = []

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
        self.cryptography = cryptography
        queue = PushQueue(flightLimit: flightLimit)
    }

    /// The watches that the registrations need, sorted.
    public var watches: [Watch] { table.watches }

    public var registrations: [String: PushRegistration] { table.all }

    public func isForm(ofKind kind: String) -> Bool { forms[kind] != nil }

    /// The app of a kind; `nil` for a kind without a form.
    public func bundle(ofKind kind: String) -> String? { forms[kind]?.bundle }

    // MARK: What was kept

    /// Restores a stored registration.
    public mutating func restore(_ registration: PushRegistration, registeredAt: Timestamp) {
        table.restore(registration, at: registeredAt)
    }

    /// Restores a stored lane. It sleeps until its rows have arrived.
    ///
    /// - Throws: If the bytes are not from ``takeTurn(at:)``.
    public mutating func restore(_ id: LaneID, _ bytes: [UInt8]) throws(BinaryError) {
        let lane = try PushLane(encoded: bytes)
        guard let registration = table.all[id.registration] else { return }
        lanes[id] = lane
        if registration.isBroad, let key = id.key {
            startedKeys[id.registration, default: []].insert(key)
        }
    }

    /// Forgets all rows, because complete sets of them follow. What is missing in those has left in the meantime.
    public mutating func forgetRows() { rows = WatchedRows() }

    /// The daemon has another history than the stored states.
    public mutating func newHistory(at now: Timestamp) {
        forgetRows()
        for id in lanes.keys.sorted() {
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
        let old = table.all[registration.id]
        if old == nil, table.all.count >= Self.registrationLimit { return .full }
        var isNew = false
        if let old,
            old.subject != registration.subject || old.account != registration.account
                || old.isFrequent != registration.isFrequent
        {
            // Switching frequent updates ends the app's activities on the device, so this is a new target.
            unregister(old.id)
            isNew = true
        }
        table.insert(registration, at: now)
        if registration.key != nil, registration.web == nil { retireStarts(before: registration) }
        switch registration.subject {
        case .update, .channel, .reload, .web(_, _, .some):
            admit(LaneID(registration.id, registration.key), registration, at: now)
        case .start, .web:
            for key in (startedKeys[registration.id] ?? []).sorted() {
                admit(LaneID(registration.id, key), registration, at: now)
            }
            for key in rows.keys(in: registration.watch) {
                // Nobody is notified of activities that existed before.
                let id = LaneID(registration.id, key)
                if registration.web != nil, lanes[id] == nil { begins(id, registration, isKnown: true, at: now) }
                mark(id)
            }
        }
        return old == nil ? .created : isNew || old?.token != registration.token ? .replaced : .unchanged
    }

    /// - Returns: Whether there was one.
    @discardableResult
    public mutating func unregister(_ id: String) -> Bool {
        guard let registration = table.remove(id) else { return false }
        if let key = registration.key, registration.web == nil {
            rememberAlert(of: LaneID(id, key), in: registration.watch)
        }
        if !table.isWatched(registration.watch) { rows.forget(registration.watch) }
        for key in (startedKeys.removeValue(forKey: id) ?? []).sorted() { remove(LaneID(id, key)) }
        remove(LaneID(id, registration.key))
        return true
    }

    /// Passes a lane its token, and opens the lane if it is new.
    private mutating func admit(_ id: LaneID, _ registration: PushRegistration, at now: Timestamp) {
        var lane = lanes[id] ?? PushLane(.update, registration, at: now)
        if lanes[id] == nil, let key = id.key { lane.machine.alerted = alerted(key, in: registration.watch) }
        lane.wake(at: now)
        lane.machine.absorb(.registered(registration.token), at: now)
        lanes[id] = lane
        changedLanes.insert(id)
        mark(id)
    }

    /// The newest alert that the card's owner got before the card's token was registered: with the start, or without a
    /// push.
    private func alerted(_ key: Key, in watch: Watch) -> Int64 {
        let starts = table.startIDs(in: watch).compactMap { lanes[LaneID($0, key)]?.machine.alerted }
        return starts.max() ?? rows.activity(key, in: watch)?.alertRev ?? 0
    }

    /// The card of a removed lane may register another token, which must not repeat its alert.
    private mutating func rememberAlert(of id: LaneID, in watch: Watch) {
        guard let key = id.key, let alerted = lanes[id]?.machine.alerted else { return }
        for start in table.startIDs(in: watch).map({ LaneID($0, key) }) {
            guard lanes[start]?.machine.alerted ?? alerted < alerted else { continue }
            lanes[start]?.machine.alerted = alerted
            changedLanes.insert(start)
        }
    }

    /// Ends the start of an activity whose card has registered its own token: it has been started already.
    private mutating func retireStarts(before registration: PushRegistration) {
        guard let key = registration.key else { return }
        for start in table.startIDs(in: registration.watch).map({ LaneID($0, key) }) {
            guard let lane = lanes[start], lane.machine.underWay == nil else { continue }
            lanes[start]?.machine.absorb(.dismissed, at: .distantPast)
            changedLanes.insert(start)
        }
    }

    private mutating func remove(_ id: LaneID) {
        guard lanes.removeValue(forKey: id) != nil else { return }
        queue.remove(id)
        changedLanes.insert(id)
        if let key = id.key { startedKeys[id.registration]?.remove(key) }
    }

    // MARK: Rows

    /// A row of the `full` view.
    public mutating func receive(row: JSONObject, of key: Key, rev: Int64, in watch: Watch) {
        guard table.isWatched(watch) else { return }
        let isNew = rows.store(row: row, of: key, rev: rev, in: watch, forms[watch.kind])
        markReloads(of: watch)
        if isNew { mark(key, in: watch) }
    }

    /// A row of the view `phone`, for notifications that people read.
    public mutating func receive(surface: JSONObject, of key: Key, rev: Int64, in watch: Watch) {
        guard table.isWatched(watch) else { return }
        if rows.store(surface: surface, of: key, rev: rev, in: watch) { mark(key, in: watch) }
    }

    /// Takes an activity's alert, which may come before or after its row.
    public mutating func receive(alert: OutgoingPush.Alert, of key: Key, rev: Int64, in watch: Watch) {
        guard table.isWatched(watch) else { return }
        if rows.store(alert: alert, of: key, rev: rev, in: watch) { mark(key, in: watch) }
    }

    /// Takes a removal: the activity has left the daemon or is no longer visible to this account.
    public mutating func takeDeletion(of key: Key, rev: Int64, in watch: Watch, at now: Timestamp) {
        guard table.isWatched(watch) else { return }
        let isNew = rows.takeDeletion(of: key, rev: rev, in: watch, at: now)
        markReloads(of: watch)
        if isNew { mark(key, in: watch) }
    }

    /// All rows of a watch have arrived. An activity without a row is gone.
    public mutating func takeLive(_ watch: Watch) {
        guard table.isWatched(watch), rows.takeLive(watch) else { return }
        for id in table.ids(in: watch) {
            switch table.all[id]?.subject {
            case .update(let key)?, .channel(let key)?, .web(_, _, let key?)?: mark(LaneID(id, key))
            case .start?, .web?: for key in (startedKeys[id] ?? []).sorted() { mark(LaneID(id, key)) }
            case .reload?: mark(LaneID(id, nil))
            case nil: break
            }
        }
    }

    private mutating func mark(_ key: Key, in watch: Watch) {
        for id in table.ids(of: key, in: watch) { mark(LaneID(id, key)) }
        for id in table.broadIDs(in: watch) {
            if table.all[id]?.isBroad == true { mark(LaneID(id, key)) }
        }
    }

    private mutating func mark(_ id: LaneID) {
        queue.append(id, for: table.all[id.registration]?.web?.host ?? PushQueue.apple)
    }

    private mutating func markReloads(of watch: Watch) {
        for id in table.broadIDs(in: watch) {
            if case .reload? = table.all[id]?.subject { mark(LaneID(id, nil)) }
        }
    }

    // MARK: Turns

    /// When to call ``takeTurn(at:)`` again even without new input.
    public var nextWake: Timestamp? { queue.nextWake }

    /// Decides what to send now. Write the bytes to disk before sending the pushes.
    public mutating func takeTurn(at now: Timestamp) -> Turn {
        var turn = Turn()
        for id in queue.takeDue(at: now) { mark(id) }
        for service in queue.services {
            while let id = queue.next(for: service) { feed(id, at: now, &turn) }
        }
        turn.registrations = table.takeChanges(at: now)
        turn.lanes = changedLanes.sorted().map { ($0, lanes[$0]?.encoded) }
        changedLanes = []
        return turn
    }

    /// Takes the answer to a push.
    public mutating func receive(_ answer: PushAnswerClass, to id: LaneID, _ number: Int64, at now: Timestamp) {
        queue.land(id)
        guard var lane = lanes[id] else { return }
        lane.machine.absorb(.answered(number, answer), at: now)
        lanes[id] = lane
        changedLanes.insert(id)
        switch answer {
        // A token that is invalid for one activity is invalid for all.
        case .unregistered, .badToken: if lane.machine.phase == .dead { unregister(id.registration) }
        default: break
        }
        mark(id)
    }

    /// Removes a lane that is dead. The lane of a start stays as long as its activity, so that there is no second
    /// start.
    private mutating func settle(_ id: LaneID) {
        guard let lane = lanes[id], lane.machine.phase == .dead, let registration = table.all[id.registration]
        else { return }
        switch registration.subject {
        case .update, .channel, .web(_, _, .some): unregister(registration.id)
        case .start, .reload, .web: break
        }
    }

    /// Delays retries by up to an eighth, so that lanes that wait for the same do not retry together. The delay of a
    /// lane is always the same.
    private func jittered(_ time: Timestamp, _ id: LaneID, at now: Timestamp) -> Timestamp {
        guard let lane = lanes[id], lane.machine.failures > 0 else { return time }
        var hash = StableHash(seed: UInt64(clamping: lane.machine.attempts))
        hash.combine(id.registration)
        hash.combine(id.key?.text ?? "")
        let span = UInt64(clamping: max(1, (time - now).count / 8))
        return time + Milliseconds(Int64(clamping: hash.finalize() % span))
    }

    // MARK: One way

    private mutating func feed(_ id: LaneID, at now: Timestamp, _ turn: inout Turn) {
        guard let registration = table.all[id.registration], !queue.isInFlight(id) else { return }
        if registration.isBroad, lanes[id] == nil || isOfFormerActivity(id, registration) {
            guard begins(id, registration, at: now) else { return }
        }
        guard var lane = lanes[id] else { return }
        if registration.web != nil, hasEnded(id, registration, lane) {
            if registration.isBroad { remove(id) } else { unregister(registration.id) }
            return
        }
        let before = lane.machine
        let wasAwake = lane.isAwake
        let actions: [PushTarget.Action]
        if let state = state(of: id, registration, &lane) {
            lane.wake(at: now)
            actions = lane.machine.decide(.changed(state), at: now)
        } else if hasLeft(id, registration), lane.machine.wanted != nil, id.key != nil, registration.web == nil {
            lane.wake(at: now)
            actions = lane.machine.decide(.gone, at: now)
        } else {
            return
        }
        lanes[id] = lane
        if lane.machine != before || !wasAwake { changedLanes.insert(id) }
        for action in actions {
            switch action {
            case .wake(let time): queue.wake(id, at: jittered(time, id, at: now))
            case .send(let attempt): send(attempt, on: id, registration, at: now, &turn)
            }
        }
        if registration.isBroad, activity(of: id, registration)?.isGone ?? true, lane.machine.phase == .dead {
            remove(id)
        } else if actions.isEmpty {
            settle(id)
        }
    }

    private func activity(of id: LaneID, _ registration: PushRegistration) -> WatchedRows.Activity? {
        id.key.flatMap { rows.activity($0, in: registration.watch) }
    }

    /// Whether the lane belongs to an earlier activity with the same key.
    private func isOfFormerActivity(_ id: LaneID, _ registration: PushRegistration) -> Bool {
        guard let lane = lanes[id], let activity = activity(of: id, registration), !activity.isGone else {
            return false
        }
        return lane.instance != activity.startedAt && activity.startedAt != 0 && lane.machine.underWay == nil
    }

    /// Opens a lane for a start, if there is something to start.
    ///
    /// - Parameter isKnown: Whether people know its present text already, so that they need no notification.
    @discardableResult
    private mutating func begins(
        _ id: LaneID, _ registration: PushRegistration, isKnown: Bool = false, at now: Timestamp
    ) -> Bool {
        guard let key = id.key, let activity = activity(of: id, registration), activity.row != nil, !activity.isEnd,
            !activity.isPending
        else { return false }
        let isWeb = registration.web != nil
        let own = isWeb ? [] : table.ids(of: key, in: registration.watch)
        guard own.allSatisfy({ table.all[$0]?.web != nil }) else { return false }
        var lane = PushLane(isWeb ? .update : .start, registration, at: now)
        lane.machine.absorb(.registered(registration.token), at: table.time(of: registration.id) ?? now)
        lane.instance = activity.startedAt
        if isWeb, isKnown || !rows.isLive(registration.watch) { lane.machine.settled = activity.surfaceRev }
        lanes[id] = lane
        startedKeys[id.registration, default: []].insert(key)
        return true
    }

    /// The newest state of a lane; `nil` if there is none to send.
    private func state(of id: LaneID, _ registration: PushRegistration, _ lane: inout PushLane) -> PushedState? {
        if case .reload = registration.subject {
            return rows.isLive(registration.watch)
                ? rows.newestRev(in: registration.watch).map { PushedState(rev: $0) } : nil
        }
        guard let activity = activity(of: id, registration), activity.changedRev > 0, !activity.isPending,
            !activity.isGone || activity.row != nil
        else { return nil }
        if registration.web != nil { return notice(of: activity, &lane) }
        var alert: Int64 = 0
        // An alert waits for the row that it is about.
        if activity.alertRev <= activity.rev, activity.alertRev > 0 {
            alert = activity.alertRev
            lane.alert = activity.alert
        }
        return PushedState(rev: max(activity.changedRev, alert), isEnd: activity.isEnd, alert: alert)
    }

    /// Whether the activity is gone. A missing row proves that only once all rows have arrived, because a card may stem
    /// from an earlier run of this process that knew more.
    private func hasLeft(_ id: LaneID, _ registration: PushRegistration) -> Bool {
        rows.isLive(registration.watch) || activity(of: id, registration)?.isGone == true
    }

    /// Whether there is nothing left to notify of, because the activity existed and is gone.
    private func hasEnded(_ id: LaneID, _ registration: PushRegistration, _ lane: PushLane) -> Bool {
        if let activity = activity(of: id, registration) { return activity.isGone }
        return rows.isLive(registration.watch) && lane.machine.wanted != nil
    }

    /// The state for notifications: the text of a row, and its alert.
    private func notice(of activity: WatchedRows.Activity, _ lane: inout PushLane) -> PushedState? {
        guard activity.surface != nil, activity.surfaceRev > 0, activity.surfaceRev <= activity.rev else { return nil }
        guard !activity.isGone else { return nil }
        if activity.alertRev > 0 { lane.alert = activity.alert }
        return PushedState(rev: activity.surfaceRev, isEnd: false, alert: activity.alertRev)
    }

    private mutating func send(
        _ attempt: PushTarget.Attempt, on id: LaneID, _ registration: PushRegistration, at now: Timestamp,
        _ turn: inout Turn
    ) {
        if let web = registration.web {
            return send(attempt, to: web, on: id, registration, at: now, &turn)
        }
        guard let form = forms[registration.kind] else {
            return refuse(attempt, on: id, count: 0, at: now, &turn)
        }
        let push: OutgoingPush
        if case .reload(let type, _) = registration.subject {
            push = OutgoingPush(reload: type, attempt, bundle: form.bundle, cryptography)
        } else {
            var address = OutgoingPush.Address.device
            if case .channel = registration.subject { address = .channel }
            do throws(OutgoingPush.TooLarge) {
                push = try OutgoingPush(
                    attempt, row: activity(of: id, registration)?.row, form, alert: lanes[id]?.alert, to: address,
                    channel: registration.channel, cryptography)
            } catch {
                return refuse(attempt, on: id, count: error.count, at: now, &turn)
            }
        }
        queue.takeOff(id, to: PushQueue.apple)
        turn.sendings.append(Sending(lane: id, attempt: attempt, push: push))
    }

    private mutating func send(
        _ attempt: PushTarget.Attempt, to web: WebSubscription, on id: LaneID, _ registration: PushRegistration,
        at now: Timestamp, _ turn: inout Turn
    ) {
        guard let key = id.key, let activity = activity(of: id, registration), let surface = activity.surface else {
            return refuse(attempt, on: id, count: 0, at: now, &turn)
        }
        do throws(OutgoingPush.TooLarge) {
            let push = try OutgoingPush(
                attempt, to: web, key, surface: surface, row: activity.row, alert: lanes[id]?.alert, cryptography)
            queue.takeOff(id, to: web.host)
            turn.sendings.append(Sending(lane: id, attempt: attempt, push: push, web: web))
        } catch {
            refuse(attempt, on: id, count: error.count, at: now, &turn)
        }
    }

    private mutating func refuse(
        _ attempt: PushTarget.Attempt, on id: LaneID, count: Int, at now: Timestamp, _ turn: inout Turn
    ) {
        turn.refusals.append(Refusal(lane: id, attempt: attempt, count: count))
        _ = lanes[id]?.machine.decide(.answered(attempt.number, .refused), at: now)
    }
}
