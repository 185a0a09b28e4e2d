internal import FanOut
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

// MARK: SET, PRESS, SERVE, DONE, FAIL, REPORT

extension Hub {
    mutating func decideControl(
        _ request: Request, from id: SessionID, at now: HubTime, _ writer: inout LineWriter
    ) {
        do throws(WireError) {
            switch request.command {
            case .set(let command):
                try tap(
                    command.key, .set(command.value), seenRev: command.seenRev, eid: command.eid, request, from: id,
                    at: now, writer: &writer)
            case .press(let key, let eid):
                try tap(key, .press, seenRev: nil, eid: eid, request, from: id, at: now, writer: &writer)
            case .serve(let kind): try serve(kind, request, from: id, at: now, writer: &writer)
            case .done(let operation, let value):
                try settle(operation, request, from: id, writer: &writer) { hub, key, operation throws(WireError) in
                    try hub.record(.done(key, operation, value: value, by: id.number), at: now)
                }
            case .fail(let operation, let code, let message):
                let failure = ProviderFailure(code: code, message: message)
                try settle(operation, request, from: id, writer: &writer) { hub, key, operation throws(WireError) in
                    try hub.record(.failed(key, operation, failure, by: id.number), at: now)
                }
            case .report(let key, let value, let observedAt):
                try report(key, value: value, observedAt: observedAt, request, from: id, at: now, writer: &writer)
            default: throw WireError(.internal, "not a request about controls")
            }
        } catch {
            statistics.refusals += 1
            writer.removeAll()
            writer.error(error, id: request.id)
        }
    }

    private mutating func tap(
        _ key: Key, _ action: ControlAction, seenRev: Int64?, eid: String?, _ request: Request, from id: SessionID,
        at now: HubTime, writer: inout LineWriter
    ) throws(WireError) {
        guard let entity = entities.index(of: key), exists(entity) else {
            let kind = String(key.kind)
            if kinds.current[kind] == nil {
                throw WireError(.unknownKind, "there is no kind \(kind); KINDS lists them")
            }
            throw unknownKey(key)
        }
        try checkAction(action, on: entity, key: key)
        let sender = tapSender(of: id)
        if let eid {
            switch taps.answer(to: TapLedger.Identity(sender: sender, eid: eid), on: key, action: action) {
            case .new: break
            case .duplicate(let operation):
                statistics.count(.duplicate)
                return writeTap(
                    operation, .duplicate, of: entity, request, writer: &writer)
            case .mismatch:
                throw WireError(
                    .duplicateMismatch, "eid \(eid) was used for another tap; give every tap an id of its own")
            }
        }
        do throws(ControlRejection) {
            try ControlRejection.check(seenRev: seenRev, rev: entities[entity].rev)
        } catch {
            throw WireError(.staleRev, error.message, details: error.details)
        }
        let isLocked = self[id]?.traits.isLocked ?? false
        self[id]?.hasTapped = true
        let applied = try record(
            .tapped(key, action, connection: id.number, sender: sender, eid: eid, isLocked: isLocked), at: now)
        writeTap(applied.operation, applied.verdict, of: entity, request, writer: &writer)
    }

    /// Among whose taps an eid counts. Numbers of connections are used again after a restart, and ids of taps are not.
    private func tapSender(of id: SessionID) -> String {
        if let account = self[id]?.account { return "account:\(account)" }
        if let client = self[id]?.client { return "client:\(client)" }
        return "connection:\(firstSequence).\(id.number)"
    }

    private func writeTap(
        _ operation: OperationID?, _ verdict: Verdict, of entity: EntityIndex, _ request: Request,
        writer: inout LineWriter
    ) {
        writer.beginOK(id: request.id)
        if let operation { writer.attribute("op", operation.description) }
        if verdict == .duplicate || verdict == .noop { writer.attribute("verdict", verdict.rawValue) }
        switch entities[entity].state {
        case .toggle(let toggle): writer.attribute("phase", toggle.phase.rawValue)
        case .button(let button): writer.attribute("phase", button.phase.rawValue)
        case .none, .activity: break
        }
        writer.attribute("rev", entities[entity].rev)
        writer.ignored(request.ignored)
        writer.end()
    }

    private func checkAction(_ action: ControlAction, on entity: EntityIndex, key: Key) throws(WireError) {
        switch (entities[entity].state, action) {
        case (.toggle, .set), (.button, .press): return
        case (.toggle, .press): throw WireError(.badAction, "\(key) is a toggle; SET \(key) value=on|off")
        case (.button, .set): throw WireError(.badAction, "\(key) is a button; PRESS \(key)")
        case (.activity, _), (.none, _): throw WireError(.badAction, "\(key) is no control")
        }
    }

    private mutating func serve(
        _ kind: String, _ request: Request, from id: SessionID, at now: HubTime, writer: inout LineWriter
    ) throws(WireError) {
        guard let index = kinds.current[kind] else {
            throw WireError(.unknownKind, "there is no kind \(kind); KINDS lists them")
        }
        if case .activity = kinds.versions[index].body {
            throw WireError(.badAction, "\(kind) is a live activity; SERVE takes a kind of control")
        }
        providers[id.number] = id
        if self[id]?.served.contains(kind) == false {
            self[id]?.served.append(kind)
            undo.append(.serving(kind, id))
        }
        if rosters[kind, default: ProviderRoster()].serve(id.number) {
            for key in controls(of: kind) { align(key, at: now) }
        }
        writer.ok(id: request.id, ignored: request.ignored)
    }

    /// Tells a control who acts for it, where that is another one than it was told.
    mutating func align(_ key: Key, at now: HubTime) {
        let acting = rosters[String(key.kind)]?.acting
        guard let entity = entities.index(of: key) else { return }
        switch entities[entity].state {
        case .toggle(let toggle) where toggle.provider != acting: break
        case .button(let button) where button.provider != acting: break
        case .none, .activity, .toggle, .button: return
        }
        _ = try? record(.providerChanged(key, to: acting), at: now)
    }

    /// The connection does not serve `kind` any more; whoever is next in line takes over with the next batch.
    mutating func stopServing(_ kind: String, session id: SessionID) {
        providers[id.number] = nil
        if rosters[kind]?.leave(id.number) == true { unalignedKinds.insert(kind) }
    }

    private mutating func settle(
        _ operation: String, _ request: Request, from id: SessionID, writer: inout LineWriter,
        _ body: (inout Hub, Key, OperationID) throws(WireError) -> DecisionResult
    ) throws(WireError) {
        guard let served = self[id]?.served, !served.isEmpty else {
            throw WireError(.forbidden, "only a connection that serves a kind says this; SERVE it first")
        }
        // An operation that nothing waits for any more is old; its result changes nothing.
        guard let operation = OperationID(operation), let key = flights[operation.number] else {
            statistics.count(.ignored)
            writer.beginOK(id: request.id)
            writer.attribute("verdict", Verdict.ignored.rawValue)
            writer.ignored(request.ignored)
            return writer.end()
        }
        guard served.contains(String(key.kind)) else {
            throw WireError(.forbidden, "this connection does not serve \(key.kind)")
        }
        let applied = try body(&self, key, operation)
        writer.ok(id: request.id, verdict: applied.verdict, rev: applied.rev, state: nil, ignored: request.ignored)
    }

    private mutating func report(
        _ key: Key, value: Bool?, observedAt: Timestamp?, _ request: Request, from id: SessionID, at now: HubTime,
        writer: inout LineWriter
    ) throws(WireError) {
        let kind = String(key.kind)
        guard let index = kinds.current[kind] else {
            throw WireError(.unknownKind, "there is no kind \(kind); KINDS lists them")
        }
        if case .activity = kinds.versions[index].body {
            throw WireError(.badAction, "\(kind) is a live activity; post its events with EVT")
        }
        guard self[id]?.served.contains(kind) == true else {
            throw WireError(.forbidden, "this connection does not serve \(kind); SERVE \(kind) first")
        }
        switch (kinds.versions[index].body, value) {
        case (.toggle, nil): throw WireError(.badAttribute, "a toggle is reported with value=on or value=off")
        case (.button, _?): throw WireError(.badAttribute, "a button has no value; REPORT \(key) alone")
        case (.activity, _), (.toggle, _?), (.button, nil): break
        }
        let applied = try record(.reported(key, value: value, observedAt: observedAt, by: id.number), at: now)
        // A control that did not exist took the reporter for the one that acts.
        align(key, at: now)
        writer.ok(id: request.id, verdict: applied.verdict, rev: applied.rev, state: nil, ignored: request.ignored)
    }

    /// Sends a provider what it is to do.
    mutating func ask(_ performance: ControlPerformance, key: Key) {
        guard let id = providers[performance.provider] else { return }
        var writer = LineWriter()
        writer.action(
            operation: performance.operation.description, key: key, value: performance.action.value,
            deadline: performance.deadline)
        append(writer.bytes, to: id)
        makeReady(id)
    }

    /// Whose events those of buttons are. Its blank keeps it from being a client's `src=`: the one's event ids would be taken
    /// for the other's. Journals of earlier releases have `telltaled` here.
    public static let buttonSource = "a button"

    /// An event that a button sends to an activity, in the same commit as what made it. Where it is not taken, the press
    /// came to nothing, and its result says so.
    mutating func raise(_ raised: RaisedEvent, by button: Key, at now: HubTime) {
        guard let key = Key(kind: raised.kind, id: raised.id) else {
            statistics.refusals += 1
            let shown = raised.id.utf8.count > 32 ? String(raised.id.unicodeScalars.prefix(31)) + "\u{2026}" : raised.id
            let failure = ProviderFailure(
                code: ErrorCode.badKey.rawValue,
                message: "raises.id gives \"\(shown)\"; make it 1 to 64 of A-Z a-z 0-9 . _ ~ : @ -")
            _ = try? record(.raiseRefused(button, raised.operation, failure), at: now)
            return
        }
        var event = EventCommand(key: key, type: raised.event)
        event.eid = raised.operation.description
        event.tail["content-state"] = raised.content
        if case .object = raised.attributes { event.tail["attributes"] = raised.attributes }
        let failure: ProviderFailure
        do throws(WireError) {
            let posted = try PostedEvent(event)
            let applied = try record(.event(posted, source: Self.buttonSource), at: now)
            switch applied.verdict {
            case .ignored:
                let state = applied.state.isEmpty ? "" : " while it is \(applied.state)"
                failure = ProviderFailure(code: "ignored", message: "\(key) does not take \(raised.event)\(state)")
            case .stale:
                failure = ProviderFailure(
                    code: "stale", message: "\(key) has an event that is dated later than this press")
            case .applied, .noop, .deferred, .duplicate: return
            }
        } catch {
            statistics.refusals += 1
            failure = ProviderFailure(code: error.code.rawValue, message: error.message)
        }
        _ = try? record(.raiseRefused(button, raised.operation, failure), at: now)
    }

    func controls(of kind: String) -> [Key] {
        entities.existing.compactMap { entity in
            guard isControl(entity), let key = entities[entity].key, key.kind == kind else { return nil }
            return key
        }
    }

    func isControl(_ entity: EntityIndex) -> Bool {
        switch entities[entity].state {
        case .toggle, .button: true
        case .none, .activity: false
        }
    }

    /// The operation that a control's provider is at, and the one that waits for it.
    func operations(at entity: EntityIndex) -> [OperationID] {
        switch entities[entity].state {
        case .toggle(let toggle): [toggle.flight?.operation.id, toggle.queued?.id].compactMap(\.self)
        case .button(let button): [button.flight?.operation].compactMap(\.self)
        case .none, .activity: []
        }
    }
}

// MARK: What they do to their controls

extension Hub {
    mutating func applyToControl(_ input: JournalEntry, sequence: Int64) throws(WireError) -> DecisionResult {
        guard let key = input.key else { throw WireError(.internal, "no control is named") }
        let entity: EntityIndex
        var isNew = false
        if let known = entities.index(of: key), exists(known) {
            entity = known
            remember(entity)
            if case .created = input { throw WireError(.internal, "\(key) exists") }
            if case .kindChanged = input {
                entities[entity].kind = kinds.current[String(key.kind)] ?? entities[entity].kind
            }
        } else {
            entity = try create(key, provider: provider(reporting: input))
            isNew = true
        }
        let kind = kinds.versions[entities[entity].kind]
        var outcome: ControlOutcome
        do throws(ControlRejection) {
            outcome = try step(input, entity: entity, key: key, kind: kind, sequence: sequence)
        } catch {
            throw WireError(
                ErrorCode(rawValue: error.code) ?? .unavailable, "\(key): \(error.message)", details: error.details)
        }
        // That it is there is news, where the machine has none: a button is reported without a value.
        if isNew, outcome.verdict == .noop { outcome.verdict = .applied }
        var applied = DecisionResult(verdict: outcome.verdict, entity: entity)
        applied.operation = outcome.operation
        for step in outcome.steps {
            switch step {
            case .perform(let performance):
                applied.performances.append((key, performance))
                flights[performance.operation.number] = key
            case .ended(let end): flights[end.operation.number] = nil
            case .raise(let raised): applied.raised.append(raised)
            }
        }
        if outcome.effects.contains(.publish) || isNew {
            entities[entity].rev = sequence
            applied.change = Change(entity: entity, commit: sequence)
        }
        if case .tapped(_, let action, _, let sender, let eid?, _) = input {
            let identity = TapLedger.Identity(sender: sender, eid: eid)
            taps.record(identity, on: key, action: action, operation: outcome.operation, at: wall)
            undo.append(.tap(identity))
        }
        arm(entity)
        applied.rev = entities[entity].rev
        (applied.description, applied.stateHash) = controlState(at: entity)
        return applied
    }

    private mutating func step(
        _ input: JournalEntry, entity: EntityIndex, key: Key, kind: Kind, sequence: Int64
    ) throws(ControlRejection) -> ControlOutcome {
        switch (entities[entity].state, kind.body) {
        case (.toggle(var toggle), .toggle(let toggleKind)):
            guard let event = ToggleEvent(input, operation: OperationID(sequence)) else {
                return ControlOutcome(.applied)
            }
            let outcome = try toggle.apply(event, kind: toggleKind, at: wall)
            entities[entity].state = .toggle(toggle)
            return outcome
        case (.button(var button), .button(let buttonKind)):
            guard let event = ButtonEvent(input, operation: OperationID(sequence)) else {
                return ControlOutcome(.applied)
            }
            let outcome = try button.apply(event, key: key, kind: buttonKind, at: wall)
            entities[entity].state = .button(button)
            return outcome
        default: return ControlOutcome(.ignored)
        }
    }

    private func provider(reporting input: JournalEntry) -> ConnectionNumber? {
        if case .reported(_, _, _, let connection) = input { connection } else { nil }
    }

    private mutating func create(_ key: Key, provider: ConnectionNumber?) throws(WireError) -> EntityIndex {
        let name = String(key.kind)
        guard let kindIndex = kinds.current[name] else { throw unknownKey(key) }
        let entity = entities.intern(key)
        remember(entity)
        entities[entity].kind = kindIndex
        switch kinds.versions[kindIndex].body {
        case .toggle: entities[entity].state = .toggle(Toggle(provider: provider))
        case .button: entities[entity].state = .button(Button(provider: provider))
        case .activity: throw WireError(.badAction, "\(name) is a live activity, not a control")
        }
        list(entity)
        return entity
    }

    private func controlState(at entity: EntityIndex) -> (description: StateName, hash: UInt64) {
        var writer = BinaryWriter()
        let description: String
        switch entities[entity].state {
        case .toggle(let toggle):
            toggle.encode(to: &writer)
            description = "\(toggle.phase.rawValue) \(toggle.value.map { $0 ? "on" : "off" } ?? "unknown")"
        case .button(let button):
            button.encode(to: &writer)
            description = button.phase.rawValue
        case .none, .activity: description = ""
        }
        return (StateName(description), StableHash.of(writer.bytes.span))
    }
}

extension ToggleEvent {
    fileprivate init?(_ input: JournalEntry, operation: OperationID) {
        switch input {
        case .tapped(_, .set(let value), let connection, _, _, let isLocked):
            self = .tapped(value, operation: operation, connection: connection, isLocked: isLocked)
        case .reported(_, let value?, let observedAt, _): self = .reported(value, observedAt: observedAt)
        case .done(_, let operation, let value, let connection): self = .done(operation, value: value, by: connection)
        case .failed(_, let operation, let failure, let connection):
            self = .failed(operation, failure, by: connection)
        case .providerChanged(_, let provider): self = .providerChanged(to: provider)
        case .restarted: self = .restarted
        case .kindChanged: self = .kindChanged
        case .deadline: self = .deadlineReached
        case .created, .tapped, .reported, .raiseRefused, .settings, .kinds, .event, .dismissed, .seen, .pruned:
            return nil
        }
    }
}

extension ButtonEvent {
    fileprivate init?(_ input: JournalEntry, operation: OperationID) {
        switch input {
        case .tapped(_, .press, _, _, _, let isLocked): self = .pressed(operation: operation, isLocked: isLocked)
        case .reported: self = .reported
        case .done(_, let operation, _, let connection): self = .done(operation, by: connection)
        case .failed(_, let operation, let failure, let connection):
            self = .failed(operation, failure, by: connection)
        case .providerChanged(_, let provider): self = .providerChanged(to: provider)
        case .raiseRefused(_, let operation, let failure): self = .raiseRefused(operation, failure)
        case .restarted: self = .restarted
        case .kindChanged: self = .kindChanged
        case .deadline: self = .deadlineReached
        case .created, .tapped, .settings, .kinds, .event, .dismissed, .seen, .pruned: return nil
        }
    }
}
