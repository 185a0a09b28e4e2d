internal import DequeModule
internal import TelltaleModel
internal import TelltaleWire

extension ClientProtocol {
    /// Processes one line after the greeting. Unknown verbs are ignored (Protocols/Line/line-protocol.md §3).
    mutating func handle(_ line: ServerLine, at now: Timestamp) {
        noteCommits(of: line)
        switch line.verb {
        case "OK", "ERR", "PONG": reply(line, at: now)
        // Comments are the answer to a `HELP` and have no meaning elsewhere (Protocols/Line/line-protocol.md §3).
        case "#": if unanswered.first?.isHelp == true { item(line) }
        case "KIND", "WIDGET", "HIST": item(line)
        case "SNAP" where line.integer("sub") == 0: item(line)
        case "SNAP", "UPD", "DEL", "MILE", "ALERT", "LIVE", "RESET", "CHANGED": push(line)
        case "MARK": advance(line)
        case "DO":
            guard let action = ProviderAction(line) else { return violate("a DO without op= or key=") }
            events.append(.action(action))
        case "BYE":
            events.append(.farewell(line))
            reconnectWait = line["wait"].flatMap(Self.wait)
            redirection = line.redirection
        case _: break
        }
    }

    // MARK: Replies

    private mutating func reply(_ line: ServerLine, at now: Timestamp) {
        if line.verb == "ERR", line["id"] == nil, line["fatal"] == "1" {
            // An error of the connection: every request of this client has an id, and this reply has none.
            events.append(.farewell(line))
            return
        }
        guard let request = unanswered.popFirst() else { return violate("a reply to nothing: \(line.verb)") }
        guard line["id"] == String(request.number) else {
            unanswered.prepend(request)
            return violate("a reply out of order: id=\(line["id"] ?? "") where id=\(request.number) was due")
        }
        if line.verb == "ERR", configuration.reconnects, configuration.nodes != .any,
            let redirection = line.redirection
        {
            // Requests that may be repeated go to another server.
            if request.kind == .once {
                events.append(.reply(RequestID(number: request.number), Reply(line)))
            } else {
                unanswered.prepend(request)
            }
            return leave(for: redirection, line.message ?? "the server does not lead")
        }
        switch request.kind {
        case .hello: helloAnswered(line, at: now)
        case .subscribe(let id, let resumes): subscribed(id, resumes, line)
        case .repeatable where line.verb == "ERR" && line.errorCode == .shuttingDown && configuration.reconnects:
            postponed.append(request)
        case .repeatable, .once, .service, .situation:
            if line.verb == "OK" { remember(request.kind) }
            events.append(.reply(RequestID(number: request.number), Reply(line)))
        case .ownService(let kind) where line.verb == "ERR":
            if comesBack(after: line) { return giveUp(line.message ?? "SERVE was refused") }
            servedKinds.removeAll { $0 == kind }
            events.append(.serviceRefused(kind: kind, line))
        case .ownTraits where line.verb == "ERR": events.append(.traitsRefused(line))
        case .ownTraits, .ownService, .ownPing, .unsubscribe, .farewell, .withdrawn: break
        }
    }

    private mutating func remember(_ kind: PendingRequest.Kind) {
        switch kind {
        case .service(let kind):
            if !servedKinds.contains(kind) { servedKinds.append(kind) }
        case .situation(let changed):
            for trait in changed {
                traits.removeAll { $0.name == trait.name }
                traits.append(trait)
            }
        case .hello, .ownTraits, .ownService, .ownPing, .subscribe, .unsubscribe, .repeatable, .once, .farewell,
            .withdrawn:
            break
        }
    }

    private mutating func item(_ line: ServerLine) {
        guard let request = unanswered.first else { return violate("a \(line.verb) that nobody asked for") }
        switch request.kind {
        case .repeatable, .once, .service, .situation: events.append(.item(RequestID(number: request.number), line))
        case .hello, .ownTraits, .ownService, .ownPing, .subscribe, .unsubscribe, .farewell, .withdrawn: break
        }
    }

    private mutating func subscribed(_ id: SubscriptionID, _ resumes: Bool, _ line: ServerLine) {
        guard line.verb == "OK", let number = line.integer("sub") else {
            if resumes, line.errorCode == .badCursor {
                // The cursor may be of an incompatible server, so a new snapshot is requested.
                subscriptions[id.index].cursor = nil
                return subscribeNow(id)
            }
            if comesBack(after: line) { return giveUp(line.message ?? "SUB was refused") }
            subscriptions[id.index].isWanted = false
            events.append(.subscription(id, .refused(line)))
            return
        }
        guard subscriptions[id.index].isWanted else { return unsubscribeNow(number) }
        subscriptionNumbers[number] = id
        subscriptions[id.index].number = number
        subscriptions[id.index].snapshotKeys = resumes ? nil : []
    }

    // MARK: Pushes

    private mutating func push(_ line: ServerLine) {
        // Rows of an ended subscription may still arrive.
        guard let number = line.integer("sub"), let id = subscriptionNumbers[number],
            subscriptions[id.index].isWanted
        else { return }
        switch line.verb {
        case "LIVE": live(id, line)
        case "RESET":
            subscriptions[id.index].snapshotKeys = []
            subscriptions[id.index].cursor = nil
            events.append(.subscription(id, .reset(why: line["why"] ?? "")))
        case "CHANGED":
            guard let rev = line.integer("rev") else { return violate("a CHANGED without rev=") }
            let count = line.integer("count").map { Int(clamping: $0) }
            events.append(.subscription(id, .changed(rev: rev, count: count)))
        case _:
            guard let key = line["key"].flatMap({ Key($0) }), let rev = line.integer("rev") else {
                return violate("a \(line.verb) without key= or rev=")
            }
            push(id, key, rev, line)
        }
        // Does not resume after a line that ends the connection.
        if !wantsClose { advance(line) }
    }

    private mutating func push(_ id: SubscriptionID, _ key: Key, _ rev: Int64, _ line: ServerLine) {
        switch line.verb {
        case "MILE":
            let time = Timestamp(milliseconds: line.integer("at") ?? 0)
            events.append(.subscription(id, .milestone(key, rev: rev, state: line["state"] ?? "", at: time)))
        case "ALERT": events.append(.subscription(id, .alert(key, rev: rev, line.tail ?? JSONObject())))
        case "DEL":
            guard isInOrder(id, key, rev, nil) else { return }
            subscriptions[id.index].rows[key] = nil
            subscriptions[id.index].snapshotKeys?.remove(key)
            events.append(.subscription(id, .deletion(key, rev: rev, why: line["why"] ?? "")))
        case _:
            var row = Row(key: key, rev: rev, body: line.tail ?? JSONObject())
            row.skip = line.integer("skip").map { Int(clamping: $0) } ?? 0
            row.why = line["why"]
            guard isInOrder(id, key, rev, row.body) else { return }
            if configuration.keepsRows {
                subscriptions[id.index].rows[key] = .init(row: row, epoch: greeting?.epoch ?? "")
                subscriptions[id.index].snapshotKeys?.insert(key)
            }
            events.append(.subscription(id, line.verb == "SNAP" ? .snapshot(row) : .update(row)))
        }
    }

    /// Checks that within an epoch a key's `rev` never decreases, which ends the connection, and that the full view has one
    /// body for each `rev`.
    private mutating func isInOrder(_ id: SubscriptionID, _ key: Key, _ rev: Int64, _ body: JSONObject?) -> Bool {
        guard let known = subscriptions[id.index].rows[key], known.epoch == greeting?.epoch else { return true }
        guard rev >= known.row.rev else {
            violate("\(key) went back from rev \(known.row.rev) to \(rev)")
            return false
        }
        // A control's row shows the requested value on the connection that tapped, and this is another connection.
        let isOtherViewer = known.isFromEarlierConnection && body?["control"] != nil
        // Whether it is offered follows from its activity, which has a rev of its own.
        func own(_ body: JSONObject?) -> JSONObject? {
            var body = body
            body?["offered"] = nil
            return body
        }
        if rev == known.row.rev, let body, isFull(id), own(body) != own(known.row.body), !isOtherViewer {
            events.append(.violation("\(key) has two bodies for rev \(rev)"))
        }
        return true
    }

    private func isFull(_ id: SubscriptionID) -> Bool {
        switch subscriptions[id.index].command.view {
        case .full: true
        case .surface: false
        case nil: configuration.surface == nil
        }
    }

    private mutating func live(_ id: SubscriptionID, _ line: ServerLine) {
        if let snapshotKeys = subscriptions[id.index].snapshotKeys, configuration.keepsRows {
            let gone = subscriptions[id.index].rows.keys.filter { !snapshotKeys.contains($0) }.sorted()
            for key in gone {
                guard let known = subscriptions[id.index].rows.removeValue(forKey: key) else { continue }
                events.append(.subscription(id, .deletion(key, rev: known.row.rev, why: "reset")))
            }
        }
        subscriptions[id.index].snapshotKeys = nil
        events.append(.subscription(id, .live))
    }

    /// Notes the newest commit that a line names, for `HELLO after=` of later connections. A cursor alone would not do: it
    /// may be older than the rows before it.
    private mutating func noteCommits(of line: ServerLine) {
        let sequence = max(line.integer("rev") ?? 0, line.cursor?.sequence ?? 0)
        if let newest = newestCommit?.sequence, newest < sequence { newestCommit?.sequence = sequence }
    }

    /// Stores the cursor of a line, unless the snapshot is incomplete.
    private mutating func advance(_ line: ServerLine) {
        guard let cursor = line["cur"], let number = line.integer("sub"), let id = subscriptionNumbers[number],
            subscriptions[id.index].snapshotKeys == nil
        else { return }
        subscriptions[id.index].cursor = cursor
    }

    /// `LOW-HIGH`, in milliseconds, at most an hour.
    private static func wait(_ text: String) -> ClosedRange<Milliseconds>? {
        let bounds = text.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
        guard bounds.count == 2, let low = bounds[0], let high = bounds[1], low >= 0, low <= high else { return nil }
        let limit: Int64 = 3_600_000
        return Milliseconds(min(low, limit))...Milliseconds(min(high, limit))
    }
}
