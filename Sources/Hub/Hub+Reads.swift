internal import DequeModule
internal import FanOut
public import Journal
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

// MARK: Requests that change nothing, carried out after the commit of those before them

extension Hub {
    /// Keys that may be looked at in one turn, about ten milliseconds' worth: what goes through all of them again and
    /// again must not hold up everybody else.
    static let keysPerTurn = 16_384

    /// Sends what was decided for one session, and carries out what only reads, as far as the turn's share of that goes.
    mutating func answer(_ id: SessionID, at now: HubTime) {
        while let session = self[id], !session.staged.isEmpty {
            if let request = session.staged.firstRead {
                let keyCount = keyCount(of: request.command)
                // What costs next to nothing is answered all the same.
                guard readingShare > 0 || keyCount <= 16 else {
                    session.isPostponed = true
                    postponed.append(id)
                    break
                }
                readingShare -= keyCount
                session.staged.removeFirst()
                carryOut(request, for: id, at: now)
            } else {
                session.staged.moveReplies(to: &session.outbox, pieceLength: Self.replyPieceLength)
            }
            guard !session.isClosing else { break }
        }
        retireProvider(id)
        makeReady(id)
    }

    /// Bytes of replies that leave together, a fraction of what leaves in one write.
    private static let replyPieceLength = 16_384

    /// Goes on with what the last turn's share was not enough for.
    mutating func goOnAnswering(at now: HubTime) {
        readingShare = Self.keysPerTurn
        guard !postponed.isEmpty else { return }
        var waiting: [SessionID] = []
        swap(&waiting, &postponed)
        for id in waiting {
            self[id]?.isPostponed = false
            answer(id, at: now)
        }
        // Who had the share this time comes last the next time.
        if let first = postponed.first, postponed.count > 1 { postponed = postponed.dropFirst() + [first] }
    }

    /// About how many keys a request makes us look at.
    private func keyCount(of command: Command) -> Int {
        switch command {
        // To follow all of them, and to give each up again.
        case .subscribe(let subscribe):
            if case .key = subscribe.pattern { 2 } else { 2 * entities.indexCount }
        case .stats: sessions.count
        case .help, .kinds: 16
        case _: 1
        }
    }

    mutating func append(_ bytes: [UInt8], to id: SessionID) {
        guard !bytes.isEmpty else { return }
        self[id]?.outbox.append(.bytes(bytes))
    }

    private mutating func carryOut(_ request: Request, for id: SessionID, at now: HubTime) {
        var writer = LineWriter()
        switch request.command {
        case .ping: writer.pong(id: request.id, ignored: request.ignored)
        case .bye: self[id]?.isClosing = true
        case .help(let verb): help(verb, request, writer: &writer)
        case .subscribe(let command): return subscribe(command, request, from: id, at: now)
        case .unsubscribe(let number): unsubscribe(number, request, from: id, writer: &writer)
        case .get, .open:
            // Behind a list that still goes on it would show a key as it was before the list's own, newer row.
            if self[id]?.isListing == true {
                self[id]?.outbox.append(.read(request))
            } else {
                look(request, from: id, &writer)
            }
        case .list(let pattern, let view):
            let view = view ?? defaultView(of: id)
            self[id]?.outbox.append(.list(request, pattern, view, next: 0, count: 0))
        case .kinds: listKinds(request, writer: &writer)
        case .history(let key): self[id]?.outbox.append(.history(HistoryCursor(of: key, request)))
        case .stats: tellStatistics(request, writer: &writer)
        case .refused(let error):
            statistics.refusals += 1
            writer.error(error, id: request.id)
            if error.code.isFatal { self[id]?.isClosing = true }
        // Decided before the commit; none of these is staged to be read.
        case .hello, .event, .traits, .dismiss, .seen, .set, .press, .serve, .done, .fail, .report: break
        }
        append(writer.bytes, to: id)
    }

    /// Answers a `GET` or an `OPEN`.
    mutating func look(_ request: Request, from id: SessionID, _ writer: inout LineWriter) {
        switch request.command {
        case .get(let key, let view): get(key, view: view, request, from: id, writer: &writer)
        case .open(let key): open(key, request, from: id, writer: &writer)
        case _: break
        }
    }

    private func help(_ verb: String?, _ request: Request, writer: inout LineWriter) {
        guard let lines = Help.lines(verb: verb) else {
            return writer.error(
                WireError(.unknownVerb, "there is no verb \(verb ?? ""); HELP lists them"), id: request.id)
        }
        for line in lines { writer.comment(line) }
        writer.ok(id: request.id, ignored: request.ignored)
    }

    /// What a session is shown when it names no view.
    func defaultView(of id: SessionID) -> ViewName {
        self[id]?.surface.map { .surface($0) } ?? .full
    }

    private mutating func get(
        _ key: Key, view: ViewName?, _ request: Request, from id: SessionID, writer: inout LineWriter
    ) {
        let view = view ?? defaultView(of: id)
        guard let entity = entities.index(of: key), exists(entity), isAddressed(entity, to: self[id]?.account)
        else {
            return writer.error(unknownKey(key), id: request.id)
        }
        writer.beginOK(id: request.id)
        writer.attribute("key", key)
        writer.attribute("rev", entities[entity].rev)
        writer.ignored(request.ignored)
        let isShown = view == .full || isVisible(entity, to: self[id]?.account)
        if isShown, let body = loneBody(of: entity, view: view, session: id) {
            writer.tail(body)
        } else {
            // The surface shows nothing of it; GET says so instead of calling the key unknown.
            writer.tail(hiddenBody(of: entity))
        }
        writer.end()
    }

    private mutating func open(_ key: Key, _ request: Request, from id: SessionID, writer: inout LineWriter) {
        guard let entity = entities.index(of: key), exists(entity), isVisible(entity, to: self[id]?.account) else {
            return writer.error(unknownKey(key), id: request.id)
        }
        guard let body = openedBody(of: entity, session: id) else {
            return writer.error(
                WireError(
                    .badAction, "\(key) is not on any screen, or is no live activity; OPEN takes one that is shown"),
                id: request.id)
        }
        writer.beginOK(id: request.id)
        writer.attribute("key", key)
        writer.attribute("rev", entities[entity].rev)
        writer.ignored(request.ignored)
        writer.tail(body)
        writer.end()
    }

    private func listKinds(_ request: Request, writer: inout LineWriter) {
        let kinds = self.kinds.inForce
        for kind in kinds {
            var body = JSONWriter()
            body.beginObject()
            body.member("app", kind.app)
            body.member("title", kind.title)
            body.endObject()
            writer.kind(name: kind.name, type: kind.typeName, version: kind.version, body: body.bytes)
        }
        writer.beginOK(id: request.id)
        writer.attribute("count", kinds.count)
        writer.ignored(request.ignored)
        writer.end()
    }

    func unknownKey(_ key: Key) -> WireError {
        WireError(.unknownKey, "there is no \(key); LIST shows what there is")
    }
}

// MARK: History

extension Hub {
    /// Asks for the next piece of a history whose turn has come.
    ///
    /// - Returns: How it goes on, or the refusal that stands in its place.
    mutating func askForHistory(_ telling: HistoryCursor, for session: Session) -> OutboundItem {
        var telling = telling
        if telling.ends.isEmpty {
            let account = session.account
            guard let entity = entities.index(of: telling.key), exists(entity), isAddressed(entity, to: account) else {
                var writer = LineWriter()
                writer.error(unknownKey(telling.key), id: telling.requestID)
                return .bytes(writer.bytes)
            }
            // What happened to other people's activities under this key is theirs.
            telling.begin(
                at: entities[entity].lastRecord,
                from: account == nil ? 0 : entities.audienceHistories[entity]?.since ?? 0)
        }
        telling.isAwaited = true
        historyRequests.append(
            HistoryRequest(
                session: session.id, lastSequence: telling.ends.last ?? 0, limit: HistoryCursor.pieceLimit))
        return .history(telling)
    }

    /// What the shell is to read from the journal: at most one piece for each session.
    public mutating func takeHistoryRequests() -> [HistoryRequest] {
        defer { historyRequests = [] }
        return historyRequests
    }

    /// The journal has given what was asked for, newest first, or could not.
    public mutating func historyRead(_ records: Result<[JournalRecord], JournalError>, for request: HistoryRequest) {
        // Replies leave in order: the one that waits is the first.
        guard let session = self[request.session], case .history(var telling)? = session.outbox.popFirst() else {
            return
        }
        switch records {
        case .failure(let error):
            var writer = LineWriter()
            writer.error(WireError(.internal, "the history cannot be read: \(error)"), id: telling.requestID)
            session.outbox.prepend(.bytes(writer.bytes))
        case .success(let records):
            let (lines, isOver) = telling.take(records)
            if !isOver { session.outbox.prepend(.history(telling)) }
            if !lines.isEmpty { session.outbox.prepend(.bytes(lines)) }
        }
        makeReady(request.session)
    }

    /// One record as `HISTORY` tells it, with its line ending; empty for one that is about no key, or cannot be read.
    public static func historyLine(of record: JournalRecord) -> [UInt8] {
        guard let key = Key(record.entity) else { return [] }
        var writer = LineWriter()
        writeHistory(record, key: key, writer: &writer)
        return writer.bytes
    }

    private static let historyMembers: Set = ["seq", "state", "src", "eid", "ver"]

    static func writeHistory(_ record: JournalRecord, key: Key, writer: inout LineWriter) {
        guard let body = try? RecordBody(decoding: record.body) else { return }
        var happenedAt = record.time
        let type: String
        var tail = JSONWriter()
        tail.beginObject()
        tail.member("seq", record.sequence)
        // Phase and value of a toggle; journals have one word for each, and so `unknown` twice.
        let state = body.state.description
        tail.member("state", state == "unknown unknown" ? "unknown" : state)
        switch body.input {
        case .event(let posted, let source):
            let event = posted.command
            type = event.type
            happenedAt = event.happenedAt ?? record.time
            tail.member("src", source)
            if let eid = event.eid { tail.member("eid", eid) }
            if let version = event.version { tail.member("ver", version) }
            // What the sender calls by one of our names would stand for ours, or twice in the object.
            for member in event.tail where !historyMembers.contains(member.name) {
                tail.member(named: member.name, member.value)
            }
        case .dismissed(_, let account):
            type = "dismissed"
            tail.member("account", account)
        case .seen(_, let account, _):
            type = "seen"
            tail.member("account", account)
        case .tapped(_, let action, _, let sender, let eid, _):
            type = action.name
            if let value = action.value { tail.member("value", value) }
            tail.member("sender", sender)
            if let eid { tail.member("eid", eid) }
        case .reported(_, let value, let observedAt, _):
            type = "reported"
            happenedAt = observedAt ?? record.time
            if let value { tail.member("value", value) }
        case .done(_, let operation, let value, _):
            type = "done"
            tail.member("op", operation.description)
            if let value { tail.member("value", value) }
        case .failed(_, let operation, let failure, _):
            type = "failed"
            tail.member("op", operation.description)
            if let message = failure?.message { tail.member("message", message) }
        case .providerChanged(_, let provider): type = provider == nil ? "provider-left" : "provider-came"
        case .raiseRefused(_, let operation, let failure):
            type = "raise-refused"
            tail.member("op", operation.description)
            if let code = failure.code { tail.member("code", code) }
            if let message = failure.message { tail.member("message", message) }
        case .kindChanged: type = "kind-changed"
        case .created: type = "created"
        case .restarted: type = "restarted"
        case .deadline(_, let due):
            type = "deadline"
            happenedAt = due
        case .pruned: type = "pruned"
        case .settings, .kinds: type = "settings"
        }
        tail.endObject()
        writer.history(
            key: key, rev: body.rev, happenedAt: happenedAt, heardAt: record.time, type: type, verdict: body.verdict,
            body: tail.bytes)
    }
}
