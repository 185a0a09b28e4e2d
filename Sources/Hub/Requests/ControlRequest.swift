internal import FanOut
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

// SET, PRESS, SERVE, DONE, FAIL, REPORT: from the parsed line to the record.
extension Hub {
    /// Decides a request about a control, and stages its reply.
    mutating func decideControl(_ request: Request, from session: Session) {
        stageCommitted(request.id, for: session) { hub, writer in
            do throws(WireError) {
                try hub.decideControl(request, from: session, to: &writer)
            } catch {
                writer.removeAll()
                hub.refuse(request.id, error, to: &writer)
            }
        }
    }

    private mutating func decideControl(
        _ request: Request, from session: Session, to writer: inout LineWriter
    ) throws(WireError) {
        switch request.command {
        case .tap(let command): try tap(command, request, from: session, to: &writer)
        case .serve(let kind): try serve(kind, request, from: session, to: &writer)
        case .done(let operation, let value):
            try finish(operation, request, from: session, to: &writer) {
                .done($0, $1, value: value, by: session.id.number)
            }
        case .supply(let operation, let timeline):
            try finish(operation, request, from: session, to: &writer) {
                .supplied($0, $1, .object(timeline), by: session.id.number)
            }
        case .fail(let operation, let code, let message):
            let failure = ProviderFailure(code: code, message: message)
            try finish(operation, request, from: session, to: &writer) {
                .failed($0, $1, failure, by: session.id.number)
            }
        case .report(let key, let value, let observedAt):
            try report(key, value: value, observedAt: observedAt, request, from: session, to: &writer)
        default: throw WireError(.internal, "not a request about controls")
        }
    }

    // MARK: SET and PRESS

    private mutating func tap(
        _ command: TapCommand, _ request: Request, from session: Session, to writer: inout LineWriter
    ) throws(WireError) {
        let (key, tap) = (command.key, command.tap)
        let entity = try control(key, for: tap, from: session.account)
        let sender = sessions.tapSender(session, of: access.principal(of: session.id)?.name)
        if let eid = command.eid {
            switch store.answer(to: TapLedger.Identity(sender: sender, eid: eid), on: key, tap: tap) {
            case .new: break
            case .duplicate(let operation):
                statistics.count(.duplicate)
                return answerTap(operation, .duplicate, of: entity, request, to: &writer)
            case .mismatch:
                throw WireError(
                    .duplicateMismatch, "eid \(eid) was used for another tap; give every tap an id of its own")
            }
        }
        // A repeat of the tap that removed the control is answered like that tap; another tap comes too late.
        guard store.isListed(entity), store.isVisible(entity, to: session.account) else { throw .unknownKey(key) }
        // Before the record, so that no key and no event's name reaches the person.
        if store.isOffered(entity) == false {
            throw WireError(.notOffered, "this is not offered now; wait for a row of the control without offered=false")
        }
        do throws(ControlRejection) {
            try ControlRejection.check(seenRev: command.seenRev, rev: store[entity].rev)
        } catch {
            throw WireError(.staleRev, error.message, details: error.details)
        }
        align(key)
        let result = try record(
            .tapped(
                key, tap, connection: session.id.number, sender: sender, eid: command.eid,
                isLocked: session.traits.isLocked, account: audience(of: tap, on: entity, by: session.account)))
        if !session.hasTapped {
            session.hasTapped = true
            commit.recordUndo(.tapped(session.id))
        }
        if session.unit != nil, result.verdict == .applied || result.verdict == .deferred {
            commit.append(DecidedTap(control: key, session: session.id, commit: store.sequence))
        }
        answerTap(result.operation, result.verdict, of: entity, request, to: &writer)
    }

    /// The account for which this tap starts an activity; `nil` = everyone, or it starts none.
    private func audience(of tap: Tap, on entity: EntityIndex, by account: String?) -> String? {
        guard tap == .press, store.rules.raisesForPresser, case .button(let button)? = store.kind(at: entity)?.body,
            let raises = button.raises, !raises.isForEveryone
        else { return nil }
        return account
    }

    /// The control at a key that accepts `tap`, if it is or was for `account`.
    private func control(
        _ key: Key, for tap: Tap, from account: String?
    ) throws(WireError) -> EntityIndex {
        guard let entity = store.index(of: key), store.exists(entity), store.isAddressed(entity, to: account) else {
            _ = try kind(named: String(key.kind))
            throw .unknownKey(key)
        }
        switch (store[entity].state, tap) {
        case (.toggle, .set), (.button, .press): return entity
        case (.toggle, .press): throw WireError(.badAction, "\(key) is a toggle; SET \(key) value=on|off")
        case (.button, .set): throw WireError(.badAction, "\(key) is a button; PRESS \(key)")
        case (.activity, _), (.widget, _), (.tile, _), (.none, _): throw WireError(.badAction, "\(key) is no control")
        }
    }

    /// The version of a kind that is in force.
    private func kind(named name: String) throws(WireError) -> Kind {
        guard let kind = store.kind(named: name) else {
            throw WireError(.unknownKind, "there is no kind \(name); KINDS lists them")
        }
        return kind
    }

    private func answerTap(
        _ operation: OperationID?, _ verdict: Verdict, of entity: EntityIndex, _ request: Request,
        to writer: inout LineWriter
    ) {
        writer.beginOK(id: request.id)
        if let operation { writer.attribute("op", operation.description) }
        if verdict == .duplicate || verdict == .noop { writer.attribute("verdict", verdict.rawValue) }
        switch store[entity].state {
        case .toggle(let toggle): writer.attribute("phase", toggle.phase.rawValue)
        case .button(let button): writer.attribute("phase", button.phase.rawValue)
        case .none, .activity, .widget, .tile: break
        }
        writer.attribute("rev", store[entity].rev)
        writer.ignored(request.ignored)
        writer.end()
    }

    // MARK: Providers

    private mutating func serve(
        _ kind: String, _ request: Request, from session: Session, to writer: inout LineWriter
    ) throws(WireError) {
        let definition = try self.kind(named: kind)
        guard definition.isServed else {
            throw WireError(
                .badAction,
                "\(kind) is \(definition.noun); SERVE takes a kind of control, or of widgets with a provider")
        }
        if !session.served.contains(kind) {
            session.served.append(kind)
            commit.recordUndo(.served(kind, session.id))
        }
        // As far as the batch has room; the next batches continue.
        if providers.serve(kind, session.id) { goOnAligning() }
        writer.ok(id: request.id, ignored: request.ignored)
    }

    /// Continues notifying the controls and widgets of kinds which connection acts for them, while the batch has room. A key that
    /// has yet to be notified is notified before anything else is decided about it.
    mutating func goOnAligning() {
        while commit.mayAlignMore, var scan = providers.takeUnaligned() {
            let number = store.kindNumber(of: scan.kind)
            let end = number == nil ? 0 : store.indexCount
            while commit.mayAlignMore, let position = scan.keys.next(end: end) {
                commit.changeAlignShare { $0.spend() }
                let entity = EntityIndex(Int32(position))
                guard store[entity].kindName == number, store.isServed(entity), let key = store[entity].key else {
                    continue
                }
                commit.changeAlignShare { $0.takeKey() }
                align(key)
            }
            if !scan.keys.isOver(end: end) { providers.putBack(scan) }
        }
    }

    /// Records the acting connection of a control, if it changed.
    mutating func align(_ key: Key) {
        let kind = String(key.kind)
        let acting = providers.acting(for: kind)
        guard !providers.isUndecided(kind), store.isUnaligned(key, with: acting) else { return }
        _ = try? record(.providerChanged(key, to: acting))
    }

    /// DONE and FAIL.
    private mutating func finish(
        _ text: String, _ request: Request, from session: Session, to writer: inout LineWriter,
        _ entry: (Key, OperationID) -> JournalEntry
    ) throws(WireError) {
        guard !session.served.isEmpty else {
            throw WireError(.forbidden, "only a connection that serves a kind says this; SERVE it first")
        }
        // No longer awaited, so the result is too late and changes nothing.
        guard let operation = OperationID(text), let key = store.control(performing: operation) else {
            statistics.count(.ignored)
            writer.beginOK(id: request.id)
            writer.attribute("verdict", Verdict.ignored.rawValue)
            writer.ignored(request.ignored)
            return writer.end()
        }
        guard session.served.contains(String(key.kind)) else {
            throw WireError(.forbidden, "this connection does not serve \(key.kind)")
        }
        var answer = entry(key, operation)
        let isWidget = store.index(of: key).flatMap { store.widget(at: $0) } != nil
        switch answer {
        case .done where isWidget:
            throw WireError(
                .badJSON, "\(key) is a widget; answer with DONE op=\(operation) {\"entries\":[...]}, or FAIL")
        case .supplied(_, _, _, let connection) where !isWidget:
            // The tail has no meaning for a control.
            answer = .done(key, operation, value: nil, by: connection)
        default: break
        }
        let result = try record(answer)
        writer.ok(id: request.id, verdict: result.verdict, rev: result.rev, state: nil, ignored: request.ignored)
    }

    private mutating func report(
        _ key: Key, value: Bool?, observedAt: Timestamp?, _ request: Request, from session: Session,
        to writer: inout LineWriter
    ) throws(WireError) {
        let name = String(key.kind)
        let kind = try kind(named: name)
        guard kind.isControl else {
            throw WireError(.badAction, "\(name) is \(kind.noun); post its events with EVT")
        }
        guard session.served.contains(name) else {
            throw WireError(.forbidden, "this connection does not serve \(name); SERVE \(name) first")
        }
        switch (kind.body, value) {
        case (.toggle, nil): throw WireError(.badAttribute, "a toggle is reported with value=on or value=off")
        case (.button, _?): throw WireError(.badAttribute, "a button has no value; REPORT \(key) alone")
        case (.activity, _), (.widget, _), (.toggle, _?), (.button, nil): break
        }
        let result = try record(.reported(key, value: value, observedAt: observedAt, by: session.id.number))
        // A new control took the reporter for its acting connection.
        align(key)
        writer.ok(id: request.id, verdict: result.verdict, rev: result.rev, state: nil, ignored: request.ignored)
    }

    /// Asks the providers that are clients of this node; every node does so for its own. A node that follows waits until it is
    /// current: while it is cut off, another provider may be asked.
    mutating func callProviders() {
        guard !commit.isFollowing || status?.staleSince == nil else { return }
        for (key, call) in providers.takeCalls() where store.isUnderWay(call, of: key) { callProvider(call, key: key) }
    }

    /// The client of this node that acts on the connection with this number.
    func provider(_ connection: ConnectionNumber) -> Session? {
        if commit.isFollowing { return link.session(numbered: connection).flatMap { sessions[$0] } }
        return providers.session(of: connection).flatMap { guests.link(of: $0) == nil ? sessions[$0] : nil }
    }

    private mutating func callProvider(_ call: ProviderCall, key: Key) {
        guard let session = provider(call.provider), !session.isClosing else { return }
        var writer = LineWriter()
        switch call {
        case .perform(let performance):
            writer.action(
                operation: performance.operation.description, key: key, value: performance.tap.value,
                deadline: performance.deadline, term: status?.term)
        case .timeline(let ask):
            writer.refresh(
                operation: ask.operation.description, key: key, reason: ask.reason.rawValue, deadline: ask.deadline,
                term: status?.term)
        }
        // Its `SERVE` may have no reply yet, on a node that follows.
        if session.staged.hasAwaited { session.staged.append(writer.bytes) } else { session.send(writer.bytes) }
        sessions.makeReady(session)
    }

    /// A provider that has sent its last line cannot report results any more, so the next in line acts.
    mutating func retireProvider(_ session: Session) {
        guard session.inputEnded, session.inbox.isEmpty, session.unread.isEmpty else { return }
        leaveKinds(session)
        if commit.isFollowing, !session.staged.hasAwaited { link.closed(session.id) }
    }

    // MARK: Controls that belong to activities

    /// Updates an activity's controls after a record about it, each in its own record. So replaying a journal whose activities
    /// had no controls gives none.
    mutating func follow(_ result: borrowing DecisionResult, _ activity: Key) {
        guard let entity = result.entity else { return }
        switch result.controls {
        case .none: break
        case .begin:
            for control in AttachmentDecisions.controlsToAttach(to: entity, store) {
                _ = try? record(.attached(control, to: activity))
                align(control)
            }
        case .readdress:
            for control in store.attachedControls(of: entity) { _ = try? record(.attached(control, to: activity)) }
        case .end: for control in store.attachedControls(of: entity) { _ = try? record(.detached(control)) }
        }
    }

    // MARK: Buttons that raise events

    /// Decides an event that a button sends to an activity, in the same commit as its cause. If it is refused, the press had no
    /// effect, and its result says so.
    mutating func raise(_ raised: RaisedEvent, by button: Key) {
        guard let failure = failure(of: raised) else { return }
        _ = try? record(.raiseRefused(button, raised.operation, failure))
    }

    private mutating func failure(of raised: RaisedEvent) -> ProviderFailure? {
        guard let key = Key(kind: raised.kind, id: raised.id) else {
            statistics.refusals += 1
            return Self.failure(ErrorCode.badKey.rawValue)
        }
        var event = EventCommand(key: key, type: raised.event)
        event.eid = raised.operation.description
        let known = store.index(of: key).flatMap { store.activity(at: $0) }
        // A live activity keeps its accounts.
        if let account = raised.account, known?.isLive != true { event.accounts = [account] }
        event.tail["content-state"] = raised.content
        if case .object = raised.attributes { event.tail["attributes"] = raised.attributes }
        do throws(WireError) {
            try checkRoom(for: event.accounts)
            let result = try record(try PostedEvent(event), from: EventCommand.buttonSource)
            switch result.verdict {
            case .ignored, .stale: return Self.failure(result.verdict.rawValue)
            case .applied, .noop, .deferred, .duplicate: return nil
            }
        } catch {
            statistics.refusals += 1
            return Self.failure(error.code.rawValue)
        }
    }

    /// Why a press had no effect. The message is shown to people, so it has no key, event name or protocol verb. Programs read
    /// the code.
    private static func failure(_ code: String) -> ProviderFailure {
        let message =
            switch code {
            case Verdict.ignored.rawValue: "This is not possible now."
            case Verdict.stale.rawValue: "Something newer has happened."
            case ErrorCode.unknownKey.rawValue: "There is nothing that this could change."
            case ErrorCode.limitActivities.rawValue: "Too many are open already. Finish one first."
            default: "This did not work."
            }
        return ProviderFailure(code: code, message: message)
    }
}
