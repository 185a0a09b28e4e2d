internal import FanOut
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

// EVT, DISMISS, SEEN: from the parsed line to the record.
extension Hub {
    /// Decides an event, and stages its reply.
    mutating func decideEvent(_ posted: PostedEvent, from session: Session, at now: HubTime) {
        stageCommitted(posted.requestID, for: session) { hub, writer in
            let source =
                posted.command.source ?? hub.access.principal(of: session.id)?.name ?? session.client ?? "-"
            if let eid = posted.command.eid,
                let known = hub.store.knownEvent(eid, of: source, hash: posted.eidHash)
            {
                return hub.answerKnown(posted, eid: eid, known, source: source, to: &writer)
            }
            do throws(WireError) {
                try hub.checkRoom(for: posted, from: source)
                let result = try hub.record(posted, from: source)
                writer.ok(
                    id: posted.requestID, verdict: result.verdict, rev: result.rev, state: result.state,
                    isOldEnd: result.isOldEnd, ignored: hub.ignoredNames(of: posted, result),
                    hint: hub.hint(on: posted, result))
            } catch {
                hub.refuse(posted.requestID, error, to: &writer)
            }
        }
    }

    /// The unknown names of an event. Names known to a widget are unknown to an activity, and vice versa; which of the two it is
    /// for was not known when it was parsed.
    @inline(__always)
    private func ignoredNames(of posted: PostedEvent, _ result: borrowing DecisionResult) -> [String] {
        if let members = result.unknownToWidget { posted.ignoredByWidget(members: members) } else { posted.ignored }
    }

    /// Limits the names that clients make up, because they are remembered for days. The limit applies to posted events only:
    /// recorded ones are always accepted.
    private func checkRoom(for posted: PostedEvent, from source: String) throws(WireError) {
        let limits = configuration.limits
        if posted.command.eid != nil, !store.hasRoom(forIDsOf: source, limit: limits.sources) {
            throw WireError(
                .limitSources,
                "event ids of \(limits.sources) sources are remembered, and \(source) is another; post with the src= of a known one, or without eid="
            )
        }
        try checkRoom(for: posted.command.accounts)
    }

    /// Limits the accounts that activities are for.
    func checkRoom(for accounts: [String]) throws(WireError) {
        let limits = configuration.limits
        for account in accounts where !store.hasRoom(for: account, limit: limits.accounts) {
            throw WireError(
                .limitAccounts,
                "there are activities for \(limits.accounts) accounts, and \(account) is another; end and dismiss some first"
            )
        }
    }

    /// The probable mistake of an event's sender; `nil` if nothing suggests one.
    @inline(__always)
    private func hint(on posted: PostedEvent, _ result: borrowing DecisionResult) -> String? {
        // Nearly every event ends here.
        guard result.verdict == .ignored || posted.command.happenedAt != nil else { return nil }
        return store.hint(on: posted, result.verdict, at: result.entity)
    }

    /// Answers an event whose id has already taken effect; it does not act again.
    private mutating func answerKnown(
        _ posted: PostedEvent, eid: String, _ known: EventIDs.Entry, source: String, to writer: inout LineWriter
    ) {
        guard known.digest == posted.digest else {
            return refuse(
                posted.requestID,
                WireError(
                    .duplicateMismatch,
                    "eid \(eid) of \(source) was used for another event; give every event an id of its own"),
                to: &writer)
        }
        statistics.count(.duplicate)
        let entity = store.index(of: posted.command.key)
        let widget = entity.flatMap { store.widget(at: $0) }
        let state =
            widget.flatMap { widget in entity.map { store.phase(of: widget, at: $0) } }
            ?? entity.flatMap { store.activity(at: $0)?.value.statePath }
        writer.ok(
            id: posted.requestID, verdict: .duplicate, rev: known.rev, state: state,
            ignored: widget == nil
                ? posted.ignored : posted.ignoredByWidget(members: posted.command.membersUnknownToWidget))
    }

    /// Decides that a person dismisses an activity on a device.
    mutating func decideDismissal(of key: Key, _ request: Request, from session: Session) {
        decideForAccount(request, of: session) { hub, account throws(WireError) in
            _ = try hub.addressed(key, to: account)
            return try hub.record(.dismissed(key, account: account))
        }
    }

    /// Decides that a person has seen an activity on a device.
    mutating func decideSeen(_ key: Key, rev: Int64, _ request: Request, from session: Session) {
        decideForAccount(request, of: session) { hub, account throws(WireError) in
            let entity = try hub.addressed(key, to: account)
            // A future rev cannot have been seen.
            return try hub.record(.seen(key, account: account, rev: min(rev, hub.store[entity].rev)))
        }
    }

    private mutating func decideForAccount(
        _ request: Request, of session: Session,
        _ body: (inout Hub, String) throws(WireError) -> DecisionResult
    ) {
        guard let account = session.account else {
            var writer = LineWriter()
            writer.error(
                WireError(.forbidden, "this acts for a person; say whose device this is with HELLO account=NAME"),
                id: request.id)
            return stage(for: session) { $0.append(writer.bytes) }
        }
        stageCommitted(request.id, for: session) { hub, writer in
            do throws(WireError) {
                let result = try body(&hub, account)
                writer.ok(
                    id: request.id, verdict: result.verdict, rev: result.rev, state: nil, ignored: request.ignored)
            } catch {
                hub.refuse(request.id, error, to: &writer)
            }
        }
    }

    /// The activity at a key, if `account` may know of it.
    private func addressed(_ key: Key, to account: String) throws(WireError) -> EntityIndex {
        guard let entity = store.index(of: key), store.exists(entity), store.isAddressed(entity, to: account) else {
            throw .unknownKey(key)
        }
        guard !store.isControl(entity) else {
            throw WireError(.badAction, "\(key) is a control; DISMISS and SEEN are for live activities")
        }
        guard store.boardItem(at: entity) == nil else {
            throw WireError(.badAction, "\(key) is a tile; TILE \(key) do=remove takes it off its board")
        }
        guard store.widget(at: entity) == nil else {
            throw WireError(.badAction, "\(key) is a widget; DISMISS and SEEN are for live activities")
        }
        return entity
    }

    // MARK: Shared by all deciding requests

    mutating func refuse(_ requestID: String?, _ error: WireError, to writer: inout LineWriter) {
        statistics.refusals += 1
        writer.error(error, id: requestID)
    }

    /// Lets `body` stage replies of a session, to be sent after the commit.
    mutating func stage(for session: Session, _ body: (inout StagedReplies) -> Void) {
        if session.staged.isEmpty { commit.appendSession(session.id) }
        body(&session.staged)
    }

    /// Lets `body` decide what makes a record, and write the reply that is sent when the record is durable.
    mutating func stageCommitted(
        _ requestID: String?, for session: Session, _ body: (inout Hub, inout LineWriter) -> Void
    ) {
        var writer = renderer.takeWriter()
        body(&self, &writer)
        stage(for: session) { $0.append(committed: &writer, requestID: requestID) }
        writer.removeAll()
        renderer.giveBack(writer)
    }

    /// Applies an event and, unless it was refused, makes it the batch's next record.
    mutating func record(_ posted: PostedEvent, from source: String) throws(WireError) -> DecisionResult {
        var result = try Decisions.apply(posted, from: source, &store)
        append(&result, about: posted.command.key.text) { $0.write(posted, from: source) }
        if result.controls != .none { follow(result, posted.command.key) }
        if result.beginsRefresh { align(posted.command.key) }
        return result
    }

    /// Applies an entry and, unless it was refused, makes it the batch's next record.
    @discardableResult
    mutating func record(_ entry: JournalEntry) throws(WireError) -> DecisionResult {
        if case .event(let posted, let source) = entry { return try record(posted, from: source) }
        var result = try Decisions.apply(entry, &store)
        append(&result, about: entry.key?.text ?? "") { $0.write(entry) }
        if case .pruned = entry, let entity = result.entity { store.endChain(of: entity) }
        if !result.raised.isEmpty, let key = entry.key { for raised in result.raised { raise(raised, by: key) } }
        if result.controls != .none, let key = entry.key { follow(result, key) }
        return result
    }

    private mutating func append(
        _ result: inout DecisionResult, about key: consuming String, _ writeEntry: (inout BinaryWriter) -> Void
    ) {
        let sequence = store.sequence + 1
        let previous = store.advance(to: sequence, about: result.entity)
        if let derived = result.derived { statistics.count(derived) }
        commit.append(
            &result, at: sequence, time: store.time, wall: store.wall, entity: key, previous: previous, writeEntry)
        statistics.count(result.verdict)
    }
}
