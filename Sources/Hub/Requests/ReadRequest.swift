internal import DequeModule
internal import FanOut
public import Journal
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

// PING, HELP, GET, LIST, OPEN, KINDS, KIND, GALLERY, HISTORY, STATS: requests that change nothing. They run after the commit of the
// requests before them.
extension Hub {
    /// The length of a piece of replies, a fraction of one write.
    private static let replyPieceLength = 16_384

    /// Sends the decided replies of one session, and runs its reads as far as the turn's share allows.
    mutating func answer(_ session: Session, at now: HubTime) {
        var isLong = false
        while !session.staged.isEmpty {
            if let request = session.staged.firstRead {
                guard sessions.takeShare(of: keyCount(of: request.command, from: session)) else {
                    sessions.postpone(session)
                    break
                }
                session.staged.removeFirst()
                if request.command.hasLongAnswer { isLong = true }
                carryOut(request, for: session, at: now)
            } else {
                session.staged.moveReplies(to: &session.outbox, pieceLength: Self.replyPieceLength)
            }
            guard !session.isClosing, !session.staged.isNextAwaited else { break }
        }
        if session.ending == .sentAway, session.staged.isEmpty { session.isClosing = true }
        retireProvider(session)
        if isLong { sessions.makeReady(slot: session.id.slot) } else { sessions.makeReady(session) }
    }

    /// Continues the reads that the last turn's share did not cover.
    mutating func answerPostponed(at now: HubTime) {
        sessions.beginReading()
        let waiting = sessions.takePostponed()
        guard !waiting.isEmpty else { return }
        for id in waiting { if let session = sessions[id] { answer(session, at: now) } }
        sessions.rotatePostponed()
    }

    /// Whether a subscription of the session has not been sent its snapshot or resume completely.
    func isBeginning(_ session: Session) -> Bool {
        session.subscriptions.contains { subscriptions[$0]?.isLive == false }
    }

    private mutating func carryOut(_ request: Request, for session: Session, at now: HubTime) {
        var writer = LineWriter()
        switch request.command {
        case .ping: writer.pong(id: request.id, ignored: request.ignored)
        case .bye:
            // Rows that it requested precede the end: a client may pipe in a subscription and `BYE` at once.
            session.ending = isBeginning(session) ? .leaving : .closing
        case .subscribe(let command): return subscribe(command, request, from: session, at: now)
        case .unsubscribe(let number): unsubscribe(number, request, from: session, to: &writer)
        case .get, .open, .help, .kinds, .kind:
            if isRenderedLater(request.command, for: session) {
                session.outbox.append(.read(request))
            } else {
                show(request, from: session, to: &writer)
            }
        case .list(let pattern, let view, let style): list(pattern, view, style, request, from: session, to: &writer)
        case .gallery(let view, let placement): beginGallery(view, placement, request, from: session, to: &writer)
        case .history(let key): session.outbox.append(.history(HistoryCursor(of: key, request)))
        case .stats: writeStatistics(request, at: now, to: &writer)
        case .handover(let node): handOver(to: node, request, to: &writer)
        case .drain(let command): drain(command, request, from: session, at: now, to: &writer)
        case .refused(let error):
            refuse(request.id, error, to: &writer)
            if error.isFatal { session.isClosing = true }
        // Decided before the commit; none of these is staged as a read.
        case .hello, .event, .traits, .dismiss, .seen, .tap, .serve, .done, .supply, .fail, .report, .reload,
            .tile, .node:
            break
        }
        session.send(writer.bytes)
    }

    // MARK: Replies on their way out

    /// Writes the replies that are ready.
    ///
    /// - Returns: Whether all of them were written.
    mutating func writeReplies(of session: Session, limit: Int, to writer: inout LineWriter) -> Bool {
        var checksLeft = configuration.limits.keysPerCheck
        while let item = session.outbox.first {
            guard writer.count < limit, checksLeft > 0 else { return false }
            switch item {
            case .history(let cursor):
                guard !cursor.isAwaited else { return true }
                session.outbox[0] = requestHistory(cursor, for: session)
            case .bytes(let bytes, _):
                writer.append(lines: bytes.span)
                session.outbox.removeFirst()
            case .read(let request):
                session.outbox.removeFirst()
                checksLeft -= keyCount(of: request.command, from: session)
                show(request, from: session, to: &writer)
            case .gallery(let cursor):
                session.outbox.removeFirst()
                guard let next = writeGallery(cursor, for: session, limit: limit, to: &writer) else { continue }
                session.outbox.prepend(.gallery(next))
                return false
            case .list(let request, let pattern, let widgets, let view, let next, let count, let since):
                session.outbox.removeFirst()
                let list = writeList(
                    for: session, pattern: pattern, view: view, widgets: widgets, next: next, count: count,
                    limit: limit, looks: checksLeft, to: &writer)
                checksLeft -= list.lookCount
                if let next = list.next {
                    session.outbox.prepend(
                        .list(request, pattern, widgets, view, next: next, count: list.count, since: since))
                    return false
                }
                if session.hasNotices { subscriptions.noteRead(pattern, through: since, by: session, store) }
                writer.beginOK(id: request.id)
                writer.attribute("count", list.count)
                writer.ignored(request.ignored)
                writer.end()
            }
        }
        return true
    }

    /// Writes rows of a `LIST` from the position `next` on: those of the table, then, below zero, of each board the tiles that
    /// nobody placed.
    ///
    /// - Returns: Where to continue, `nil` if the list is complete; the number of its rows so far; and how many keys were examined.
    private mutating func writeList(
        for session: Session, pattern: Pattern, view: ViewName, widgets: WidgetTerms, next: Int32, count: Int,
        limit: Int, looks: Int, to writer: inout LineWriter
    ) -> (next: Int32?, count: Int, lookCount: Int) {
        var (count, lookCount, position) = (count, 0, next)
        let digest = session.account.map { Activity.digest(of: $0) }
        while position >= 0, Int(position) < store.indexCount {
            guard writer.count < limit, lookCount < looks else { return (position, count, lookCount) }
            let entity = EntityIndex(position)
            position += 1
            lookCount += 1
            guard store.isListed(entity), let key = store[entity].key, pattern.matches(key),
                store.isVisible(entity, to: session.account, digest: digest),
                !store.isWidget(entity) || pattern != .all || session.showsWidgets,
                let body = renderer.loneBody(of: entity, view: view, widgets: widgets, for: session, store)
            else { continue }
            writer.snapshot(RowHead(subscription: 0, key: key, rev: renderer.rev(of: entity, view, store)), body: body)
            count += 1
        }
        for board in boards(of: pattern, for: session) where position >= 0 || board >= -1 - position {
            guard writer.count < limit, lookCount < looks else { return (-1 - board, count, lookCount) }
            for tile in store.unplacedTiles(
                onBoard: board, withRelevantTiles: pattern != .all && view == .surface(.watch))
            {
                lookCount += 1
                guard pattern.matches(tile.key), tile.isVisible(to: session.account),
                    let body = renderer.loneBody(of: tile, view: view, widgets: widgets, for: session, store)
                else { continue }
                writer.snapshot(RowHead(subscription: 0, key: tile.key, rev: store.rev(ofUnplaced: tile)), body: body)
                count += 1
            }
        }
        return (nil, count, lookCount)
    }

    /// The boards of a pattern on which there may be tiles that nobody placed, in the order of their numbers.
    private func boards(of pattern: Pattern, for session: Session) -> [Int32] {
        guard store.hasBoards else { return [] }
        let name: String
        switch pattern {
        case .all: return session.showsWidgets ? store.boardsWithSuggestions(of: session.account) : []
        case .kind(let kind): name = kind
        case .key(let key): name = String(key.kind)
        }
        return store.kindNumber(of: name).map { store.isBoard($0) ? [$0] : [] } ?? []
    }

    private mutating func show(_ request: Request, from session: Session, to writer: inout LineWriter) {
        switch request.command {
        case .get(let key, let view, let style):
            get(key, view: view ?? session.defaultView, style, request, from: session, to: &writer)
        case .open(let key, let part): open(key, part: part, request, from: session, to: &writer)
        case .help(let verb): help(verb, request, to: &writer)
        case .kinds: listKinds(request, to: &writer)
        case .kind(let name): writeKind(name, request, to: &writer)
        case _: break
        }
    }

    private mutating func list(
        _ pattern: Pattern, _ view: ViewName?, _ style: WidgetStyle, _ request: Request, from session: Session,
        to writer: inout LineWriter
    ) {
        do throws(WireError) {
            if let place = style.placement { try checkPlace(place) }
            let widgets = try WidgetTerms(style, placement: style.placement, of: pattern, account: session.account)
            session.outbox.append(
                .list(
                    request, pattern, widgets, view ?? session.defaultView, next: 0, count: 0,
                    since: commit.durableSequence))
        } catch {
            refuse(request.id, error, to: &writer)
        }
    }

    private mutating func get(
        _ key: Key, view: ViewName, _ style: WidgetStyle, _ request: Request, from session: Session,
        to writer: inout LineWriter
    ) {
        let widgets: WidgetTerms
        do throws(WireError) {
            if let place = style.placement { try checkPlace(place) }
            widgets = try WidgetTerms(style, placement: style.placement)
        } catch {
            return refuse(request.id, error, to: &writer)
        }
        if session.hasNotices, let entity = store.index(of: key) { subscriptions.noteRead(entity, by: session, store) }
        if let tile = store.unplacedTile(at: key), tile.isVisible(to: session.account) {
            guard let body = renderer.loneBody(of: tile, view: view, widgets: widgets, for: session, store) else {
                return writer.error(.notShown(key), id: request.id)
            }
            beginRow(key, request, rev: store.rev(ofUnplaced: tile), to: &writer)
            writer.tail(body)
            return writer.end()
        }
        guard let entity = store.index(of: key), store.exists(entity), store.isAddressed(entity, to: session.account),
            !store.isGone(entity)
        else {
            return writer.error(.unknownKey(key), id: request.id)
        }
        let isShown = view == .full || store.isVisible(entity, to: session.account)
        let body =
            isShown ? renderer.loneBody(of: entity, view: view, widgets: widgets, for: session, store) : nil
        if body == nil, store.isWidget(entity) { return writer.error(.notShown(key), id: request.id) }
        beginRow(key, request, rev: renderer.rev(of: entity, view, store), to: &writer)
        if let body {
            writer.tail(body)
        } else {
            // The surface does not show it; GET reports that instead of an unknown key.
            writer.tail(renderer.hiddenBody(of: entity, store))
        }
        writer.end()
    }

    private mutating func open(
        _ key: Key, part: String?, _ request: Request, from session: Session, to writer: inout LineWriter
    ) {
        let (opened, rev): ([UInt8]?, Int64)
        if let tile = store.unplacedTile(at: key), tile.isVisible(to: session.account) {
            opened = renderer.openedBody(ofTile: tile.tile, part: part, for: session, store)
            rev = store.rev(ofUnplaced: tile)
        } else if let entity = store.index(of: key), store.exists(entity),
            store.isVisible(entity, to: session.account)
        {
            rev = store.rowRev(of: entity)
            switch store[entity].state {
            case .tile(let item):
                opened =
                    item.isGone
                    ? nil : item.tile.flatMap { renderer.openedBody(ofTile: $0, part: part, for: session, store) }
            case .widget(let widget): opened = renderer.openedBody(of: entity, widget, part: part, for: session, store)
            case _: opened = renderer.openedBody(of: entity, for: session, store)
            }
        } else {
            return writer.error(.unknownKey(key), id: request.id)
        }
        guard let body = opened else {
            return writer.error(
                WireError(
                    .badAction, "\(key) is not on any screen, or is no live activity; OPEN takes one that is shown"),
                id: request.id)
        }
        beginRow(key, request, rev: rev, to: &writer)
        writer.tail(body)
        writer.end()
    }

    private func beginRow(_ key: Key, _ request: Request, rev: Int64, to writer: inout LineWriter) {
        writer.beginOK(id: request.id)
        writer.attribute("key", key)
        writer.attribute("rev", rev)
        writer.ignored(request.ignored)
    }

    private func help(_ verb: String?, _ request: Request, to writer: inout LineWriter) {
        guard let lines = Help.lines(verb: verb) else {
            return writer.error(
                WireError(.unknownVerb, "there is no verb \(verb ?? ""); HELP lists them"), id: request.id)
        }
        for line in lines { writer.comment(line) }
        writer.ok(id: request.id, ignored: request.ignored)
    }

    private func listKinds(_ request: Request, to writer: inout LineWriter) {
        let kinds = store.kindsInForce
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

    private func writeKind(_ name: String, _ request: Request, to writer: inout LineWriter) {
        guard let kind = store.kind(named: name) else {
            return writer.error(
                WireError(.unknownKind, "there is no kind \(name); KINDS lists them"), id: request.id)
        }
        writer.beginOK(id: request.id)
        writer.attribute("name", kind.name)
        writer.attribute("version", kind.version)
        writer.ignored(request.ignored)
        writer.tail(Array("\(kind.source)".utf8))
        writer.end()
    }

    // MARK: History

    /// Requests the next piece of a history from the journal.
    ///
    /// - Returns: How it continues, or the refusal that replaces it.
    private mutating func requestHistory(_ cursor: HistoryCursor, for session: Session) -> OutboundItem {
        var cursor = cursor
        if cursor.ends.isEmpty {
            let account = session.account
            guard let entity = store.index(of: cursor.key), store.exists(entity),
                store.isAddressed(entity, to: account)
            else {
                var writer = LineWriter()
                writer.error(.unknownKey(cursor.key), id: cursor.requestID)
                return .bytes(writer.bytes)
            }
            // The history of other accounts' activities under this key is not shown.
            cursor.begin(
                at: store[entity].lastRecord,
                from: account == nil ? 0 : store.audienceHistory(of: entity)?.since ?? 0)
        }
        cursor.isAwaited = true
        sessions.request(
            HistoryRequest(session: session.id, lastSequence: cursor.ends.last ?? 0, limit: HistoryCursor.pieceLimit))
        return .history(cursor)
    }

    /// The pieces that the performer should read from the journal: at most one per session.
    public mutating func takeHistoryRequests() -> [HistoryRequest] { sessions.takeHistoryRequests() }

    /// The journal has returned the requested records, newest first, or failed.
    public mutating func historyRead(_ records: Result<[JournalRecord], JournalError>, for request: HistoryRequest) {
        // Replies are sent in order, so the one that waits is the first.
        guard let session = sessions[request.session], case .history(var cursor)? = session.outbox.first else { return }
        session.outbox.removeFirst()
        switch records {
        case .failure(let error):
            var writer = LineWriter()
            writer.error(WireError(.internal, "the history cannot be read: \(error)"), id: cursor.requestID)
            session.outbox.prepend(.bytes(writer.bytes))
        case .success(let records):
            let (lines, isOver) = cursor.readPiece(records)
            if !isOver { session.outbox.prepend(.history(cursor)) }
            if !lines.isEmpty { session.outbox.prepend(.bytes(lines)) }
        }
        sessions.makeReady(session)
    }

    /// One record as `HISTORY` shows it, with its line ending; empty for a record that concerns no key or cannot be read.
    public static func historyLine(of record: JournalRecord) -> [UInt8] {
        guard let key = Key(record.entity) else { return [] }
        var writer = LineWriter()
        HistoryLine.write(record, key: key, to: &writer)
        return writer.bytes
    }
}

extension Command {
    /// Whether its reply may have many rows. Such replies are scheduled like rows, so that they do not delay others.
    fileprivate var hasLongAnswer: Bool {
        switch self {
        case .subscribe, .list, .gallery, .history: true
        case _: false
        }
    }
}

extension WireError {
    fileprivate static func notShown(_ key: Key) -> WireError {
        WireError(.notOffered, "\(key) is not shown there in that family; KIND lists its families and places")
    }
}

extension Session {
    /// The view of a request that names none.
    var defaultView: ViewName { surface.map { .surface($0) } ?? .full }
}
