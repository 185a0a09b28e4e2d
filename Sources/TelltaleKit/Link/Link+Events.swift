internal import TelltaleClientProtocol
internal import TelltaleWire

/// Passes the protocol's events to the waiting tasks.
extension Link {
    func handleEvents() {
        while core.hasEvents {
            let events = core.takeEvents()
            for (index, event) in events.enumerated() { handle(event, isLast: index == events.count - 1) }
        }
    }

    /// - Parameter isLast: Whether this is the last event of its line. The line's cursor stands after all of them.
    private func handle(_ event: ClientEvent, isLast: Bool) {
        switch event {
        case .ready(let greeting, _):
            put(.connected)
            notify(.ready(greeting))
        case .item(let id, let line): waiting[id]?.items.append(line)
        case .restarted(let id): waiting[id]?.items = []
        case .reply(let id, let reply):
            settle(id) {
                reply.isFromServer
                    ? .success(Answer(items: $0.items, line: reply.line))
                    : .failure(.invalidRequest(reply.line.message ?? "the request is too long"))
            }
        case .lost(let id):
            let failure = end ?? .connectionLost(lastReason ?? "closed")
            settle(id) { _ in .failure(failure) }
        case .refused(let reason, let line):
            end = if let line, line.verb == "ERR" { .refused(Refusal(line)) } else { .incompatible(reason) }
        case .disconnected(let reason, let retry):
            lastReason = reason
            if let retry { put(.disconnected(reason: reason, retryAfter: retry)) }
        case .subscription(_, .refused(let line)):
            end = .refused(Refusal(line))
            core.leave()
            connection?.close()
        case .subscription(let id, let event):
            if isLast { lastCursor = core.cursor(of: id) }
            put(PendingChange(event))
        case .action(let action): notify(.action(action))
        case .serviceRefused(_, let line): notify(.refused(Refusal(line)))
        case .farewell(let line): lastReason = line.message ?? line["code"]
        case .violation(let text): lastReason = text
        case .traitsRefused: break
        }
    }

    func put(_ change: PendingChange?) {
        guard subscription != nil else { return }
        queue.put(change, cursor: lastCursor)
        news.signal()
    }

    private func notify(_ event: ServiceEvent) {
        guard subscription == nil, service.count < Self.serviceLimit else { return }
        service.append(event)
        news.signal()
    }
}
