internal import DequeModule
public import TelltaleModel
public import TelltaleWire

extension ClientProtocol {
    /// Sends a request. Its answer is reported as ``ClientEvent/reply(_:_:)`` with the returned id.
    ///
    /// An event, a `SET` and a `PRESS` without an `eid` are given one, so that they can be repeated safely. `SERVE` and
    /// `TRAIT` are repeated after each reconnect once they were answered with `OK`.
    ///
    /// - Precondition: Not `HELLO`, `SUB` or `UNSUB`: see ``ClientConfiguration``, ``subscribe(_:)`` and
    ///   ``unsubscribe(_:)``.
    @discardableResult
    public mutating func request(_ command: Command) -> RequestID {
        var command = command
        let kind: PendingRequest.Kind
        switch command {
        case .event(var event):
            if event.eid == nil { event.eid = makeEventID() }
            command = .event(event)
            kind = .repeatable
        case .tap(var tap):
            if tap.eid == nil { tap.eid = makeEventID() }
            command = .tap(tap)
            kind = .repeatable
        case .tile(var tile):
            if tile.eid == nil { tile.eid = makeEventID() }
            command = .tile(tile)
            kind = .repeatable
        case .serve(let served): kind = .service(served)
        case .traits(let changed): kind = .situation(changed)
        // Repeating a handover would apply it to the next leader.
        case .done, .supply, .fail, .report, .handover, .node: kind = .once
        case .ping, .help, .get, .list, .kinds, .kind, .gallery, .history, .stats, .dismiss, .seen, .open, .reload:
            kind = .repeatable
        case .bye:
            leaves = true
            kind = .farewell
        case .hello, .subscribe, .unsubscribe, .refused:
            preconditionFailure("HELLO, SUB and UNSUB are the client's own")
        }
        lastNumber += 1
        let id = RequestID(number: lastNumber)
        guard phase != .over else {
            events.append(.lost(id))
            return id
        }
        unsent.append(PendingRequest(number: lastNumber, kind: kind, command))
        return id
    }

    /// Sends an event, and repeats it with the same id after each reconnect until it is answered.
    @discardableResult
    public mutating func post(_ event: EventCommand) -> RequestID {
        request(.event(event))
    }

    /// Withdraws a request without a reply: it is not sent again, and no event about it follows.
    ///
    /// - Returns: Whether the request was sent on any connection, so that it may have taken effect.
    @discardableResult
    public mutating func withdraw(_ id: RequestID) -> Bool {
        if let index = unsent.firstIndex(where: { $0.number == id.number }) { return unsent.remove(at: index).wasSent }
        if let index = postponed.firstIndex(where: { $0.number == id.number }) {
            return postponed.remove(at: index).wasSent
        }
        if let index = unanswered.firstIndex(where: { $0.number == id.number }) { unanswered[index].kind = .withdrawn }
        return true
    }

    /// Subscribes to a pattern across all reconnects.
    public mutating func subscribe(_ command: SubscribeCommand) -> SubscriptionID {
        let id = SubscriptionID(index: subscriptions.count)
        var subscription = ClientSubscription(command: command)
        subscription.cursor = command.from?.description
        subscriptions.append(subscription)
        if phase == .ready { subscribeNow(id) }
        return id
    }

    public mutating func unsubscribe(_ id: SubscriptionID) {
        guard subscriptions[id.index].isWanted else { return }
        subscriptions[id.index].isWanted = false
        subscriptions[id.index].rows = [:]
        // Without a number, `SUB` is not answered yet; `UNSUB` follows its answer.
        if let number = subscriptions[id.index].number { unsubscribeNow(number) }
    }

    /// The newest known row of each key, sorted by key.
    public func rows(of id: SubscriptionID) -> [Row] {
        subscriptions[id.index].rows.values.map(\.row).sorted { $0.key < $1.key }
    }

    public func row(of key: Key, in id: SubscriptionID) -> Row? { subscriptions[id.index].rows[key]?.row }

    /// The cursor to resume from, for a client that stores it across its own restarts.
    public func cursor(of id: SubscriptionID) -> String? { subscriptions[id.index].cursor }

    /// The server's number of a subscription on this connection; `nil` until `SUB` is answered.
    public func serverNumber(of id: SubscriptionID) -> Int64? { subscriptions[id.index].number }

    private mutating func makeEventID() -> String {
        lastEventNumber += 1
        return "\(configuration.eventIDPrefix)-\(lastEventNumber)"
    }

    /// Sends a request ahead of the waiting ones, even if the window is full.
    mutating func sendNow(_ command: Command, _ kind: PendingRequest.Kind, resumingFrom cursor: String? = nil) {
        lastNumber += 1
        let request = PendingRequest(number: lastNumber, kind: kind, command, resumingFrom: cursor)
        output += request.line
        unanswered.append(request)
    }

    mutating func subscribeNow(_ id: SubscriptionID) {
        var command = subscriptions[id.index].command
        command.from = nil
        let cursor = subscriptions[id.index].cursor
        sendNow(.subscribe(command), .subscribe(id, resumes: cursor != nil), resumingFrom: cursor)
    }

    mutating func unsubscribeNow(_ number: Int64) {
        subscriptionNumbers[number] = nil
        sendNow(.unsubscribe(number: Int(number)), .unsubscribe)
    }

    mutating func ping(at now: Timestamp) {
        // Recorded now, although the socket may not have accepted the line: a second ping would only queue after it.
        lastSent = now
        if output.isEmpty { sendNow(.ping, .ownPing) }
    }

    /// After the connection is lost: repeats the unanswered requests, or reports them as lost.
    mutating func settleUnanswered() {
        var again = postponed
        postponed = []
        for request in unanswered {
            switch request.kind {
            case .hello, .ownTraits, .ownService, .ownPing, .subscribe, .unsubscribe, .farewell, .withdrawn: break
            case .repeatable, .service, .situation:
                again.append(request)
                events.append(.restarted(RequestID(number: request.number)))
            case .once: lose(request)
            }
        }
        unanswered = []
        unsent.prepend(contentsOf: again)
    }

    mutating func lose(_ request: PendingRequest) {
        switch request.kind {
        case .repeatable, .once, .service, .situation: events.append(.lost(RequestID(number: request.number)))
        case .hello, .ownTraits, .ownService, .ownPing, .subscribe, .unsubscribe, .farewell, .withdrawn: break
        }
    }

    /// Answers a request that is longer than the server's limit. The server would close the connection for it, and
    /// again after every reconnect.
    mutating func isTooLong(_ request: PendingRequest) -> Bool {
        guard let limit = greeting?.lineLength, request.line.count - 1 > limit else { return false }
        var writer = LineWriter()
        writer.error(
            WireError(
                .tooLarge, "the request is a line of \(request.line.count - 1) bytes, \(limit) is the limit; say less"),
            id: String(request.number))
        let text = Array(writer.bytes.dropLast())
        if let line = try? ServerLine(text.span, parser: JSONParser()) {
            var reply = Reply(line)
            reply.isFromServer = false
            events.append(.reply(RequestID(number: request.number), reply))
        }
        return true
    }
}
