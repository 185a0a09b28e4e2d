public import TelltaleModel

// The pushes of a turn, and the bytes to write before they are sent.
extension PushLedger {
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

        public var isEmpty: Bool { lanes.isEmpty && registrations.isEmpty && sendings.isEmpty && refusals.isEmpty }
    }

    /// When to call ``takeTurn(at:)`` again even without new input.
    public var nextWake: Timestamp? {
        if waiting.keys.contains(where: { hasRoom(for: $0) }) { return .distantPast }
        return wakes.values.min()
    }

    /// Decides what to send now. Write the bytes to disk before sending the pushes.
    public mutating func takeTurn(at now: Timestamp) -> Turn {
        var turn = Turn()
        if !wakes.isEmpty {
            let due = wakes.filter { $0.value <= now }
            for id in due.keys.sorted(by: Self.isBefore) {
                wakes[id] = nil
                mark(id)
            }
        }
        for service in waiting.keys.sorted() {
            var index = 0
            while let id = waiting[service].flatMap({ index < $0.count ? $0[index] : nil }), hasRoom(for: service) {
                index += 1
                guard waitsFor[id] == service else { continue }
                waitsFor[id] = nil
                feed(id, at: now, &turn)
            }
            waiting[service]?.removeFirst(index)
            if waiting[service]?.isEmpty == true { waiting[service] = nil }
        }
        for id in changedRegistrations.sorted() {
            turn.registrations.append((id, registrations[id], registered[id] ?? now))
        }
        changedRegistrations = []
        for id in changedLanes.sorted(by: Self.isBefore) { turn.lanes.append((id, lanes[id]?.encoded)) }
        changedLanes = []
        return turn
    }

    static func isBefore(_ left: LaneID, _ right: LaneID) -> Bool {
        (left.registration, left.key?.text ?? "") < (right.registration, right.key?.text ?? "")
    }

    private func hasRoom(for service: String) -> Bool {
        guard flights[service] ?? 0 < flightLimit else { return false }
        return service == Self.apple || inFlight.count - (flights[Self.apple] ?? 0) < flightLimit * Self.browserFlights
    }

    private mutating func takeOff(_ id: LaneID, to service: String) {
        land(id)
        inFlight[id] = service
        flights[service, default: 0] += 1
    }

    /// Takes the answer to a push.
    public mutating func take(_ answer: PushAnswerClass, to id: LaneID, _ number: Int64, at now: Timestamp) {
        land(id)
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
        guard let lane = lanes[id], lane.machine.phase == .dead, let registration = registrations[id.registration]
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
        guard let registration = registrations[id.registration], inFlight[id] == nil else { return }
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
            wake(&lane, at: now)
            actions = lane.machine.take(.changed(state), at: now)
        } else if hasLeft(id, registration), lane.machine.wanted != nil, id.key != nil, registration.web == nil {
            wake(&lane, at: now)
            actions = lane.machine.take(.gone, at: now)
        } else {
            return
        }
        lanes[id] = lane
        if lane.machine != before || !wasAwake { changedLanes.insert(id) }
        for action in actions {
            switch action {
            case .wake(let time): wakes[id] = jittered(time, id, at: now)
            case .send(let attempt): send(attempt, on: id, registration, at: now, &turn)
            }
        }
        if registration.isBroad, activity(of: id, registration)?.isGone ?? true, lane.machine.phase == .dead {
            remove(id)
        } else if actions.isEmpty {
            settle(id)
        }
    }

    private func activity(of id: LaneID, _ registration: PushRegistration) -> Activity? {
        id.key.flatMap { activities[registration.watch]?[$0] }
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
    mutating func begins(
        _ id: LaneID, _ registration: PushRegistration, isKnown: Bool = false, at now: Timestamp
    ) -> Bool {
        guard let key = id.key, let activity = activity(of: id, registration), activity.row != nil, !activity.isEnd,
            !activity.isPending
        else { return false }
        if registration.web != nil {
            var lane = Lane(.update, registration, at: now)
            lane.machine.absorb(.registered(registration.token), at: registered[registration.id] ?? now)
            lane.instance = activity.startedAt
            if isKnown || !live.contains(registration.watch) { lane.machine.settled = activity.surfaceRev }
            lanes[id] = lane
            startedKeys[id.registration, default: []].insert(key)
            return true
        }
        let own = registrationsByKey[registration.watch]?[key] ?? []
        guard own.allSatisfy({ registrations[$0]?.web != nil }) else { return false }
        var lane = Lane(.start, registration, at: now)
        lane.machine.absorb(.registered(registration.token), at: registered[registration.id] ?? now)
        lane.instance = activity.startedAt
        lanes[id] = lane
        startedKeys[id.registration, default: []].insert(key)
        return true
    }

    /// The newest state of a lane; `nil` if there is none to send.
    private func state(of id: LaneID, _ registration: PushRegistration, _ lane: inout Lane) -> PushedState? {
        if case .reload = registration.subject {
            return live.contains(registration.watch) ? newest[registration.watch].map { PushedState(rev: $0) } : nil
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
        live.contains(registration.watch) || activity(of: id, registration)?.isGone == true
    }

    /// Whether there is nothing left to notify of, because the activity existed and is gone.
    private func hasEnded(_ id: LaneID, _ registration: PushRegistration, _ lane: Lane) -> Bool {
        if let activity = activity(of: id, registration) { return activity.isGone }
        return live.contains(registration.watch) && lane.machine.wanted != nil
    }

    /// The state for notifications: the text of a row, and its alert.
    private func notice(of activity: Activity, _ lane: inout Lane) -> PushedState? {
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
        takeOff(id, to: Self.apple)
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
            takeOff(id, to: web.host)
            turn.sendings.append(Sending(lane: id, attempt: attempt, push: push, web: web))
        } catch {
            refuse(attempt, on: id, count: error.count, at: now, &turn)
        }
    }

    private mutating func refuse(
        _ attempt: PushTarget.Attempt, on id: LaneID, count: Int, at now: Timestamp, _ turn: inout Turn
    ) {
        turn.refusals.append(Refusal(lane: id, attempt: attempt, count: count))
        _ = lanes[id]?.machine.take(.answered(attempt.number, .refused), at: now)
    }

    /// The digest of everything that a device would get from a row, so that an unchanged look causes no push.
    func digest(of row: JSONObject, _ form: OutgoingPush.Form?) -> UInt64 {
        var hash = StableHash(seed: 1)
        hash.combine(json: form.map { OutgoingPush.content(row, $0) } ?? row["content"] ?? .null)
        for name in ["staleAt", "score", "removeAt", "startedAt"] { hash.combine(json: row[name] ?? .null) }
        // A device detects by itself that content has become stale.
        let lifecycle = row["lifecycle"]?.string ?? ""
        hash.combine(lifecycle == "stale" ? "active" : lifecycle)
        return hash.finalize()
    }
}

// The stored form of a lane.
extension PushLedger.Lane {
    private static let version: UInt8 = 1

    var encoded: [UInt8] {
        var writer = BinaryWriter()
        writer.write(Self.version)
        writer.write(instance)
        writer.write(alert) { writer, alert in
            writer.write(alert.title)
            writer.write(alert.body)
            writer.write(alert.sound) { $0.write($1) }
        }
        machine.write(to: &writer)
        return writer.take()
    }

    init(encoded bytes: [UInt8]) throws(BinaryError) {
        var reader = BinaryReader(bytes)
        guard try reader.readByte() == Self.version else { throw reader.failure("a version that is not known") }
        instance = try reader.readInt64()
        alert = try reader.readOptional { reader throws(BinaryError) in
            let title = try reader.readString()
            let body = try reader.readString()
            return OutgoingPush.Alert(
                title: title, body: body,
                sound: try reader.readOptional { reader throws(BinaryError) in try reader.readString() })
        }
        machine = try PushTarget(from: &reader)
        guard reader.isAtEnd else { throw reader.failure("goes on behind its end") }
    }
}
