internal import FanOut
internal import Kinds
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

// SUB and UNSUB, which run after the commit of the requests before them.
extension Hub {
    mutating func subscribe(_ command: SubscribeCommand, _ request: Request, from session: Session, at now: HubTime) {
        var writer = LineWriter()
        if let name = request.command.boardName, let board = store.kindNumber(of: name) {
            subscriptions.examineWaiting(board: board, &store, &renderer, to: &sessions)
        }
        let widgets: WidgetTerms
        do throws(WireError) {
            try checkRoom(for: command, of: session)
            widgets = try WidgetTerms(
                command.widgets, placement: command.placement, of: command.pattern,
                account: command.account ?? session.account)
        } catch {
            writer.error(error, id: request.id)
            return session.send(writer.bytes)
        }
        let view = command.view ?? session.defaultView
        let account = command.account ?? session.account
        let terms = subscriptions.terms(
            view: view, account: account, placement: command.placement,
            // Rounded up; otherwise more lines per second than requested would be sent.
            rateInterval: command.rate.map { Milliseconds(Int64((999 + max(1, $0)) / max(1, $0))) },
            widgets: widgets, isNotice: command.delivery == .notice)
        session.subscriptionCount += 1
        var subscription = Subscription(
            terms, of: session.id.slot, number: session.subscriptionCount,
            selector: selector(of: command.pattern, session),
            selection: selection(command, view, account, widgets, session))
        if case .surface = view, !terms.isNotice { subscription.isSituated = session.traits != Traits() }
        let index = subscriptions.insert(subscription, store)
        session.subscriptions.append(index)

        let number = Int(subscription.number)
        writer.beginOK(id: request.id)
        writer.attribute("sub", number)
        writer.attribute("view", view.description)
        writer.ignored(request.ignored)
        writer.end()
        if let cursor = command.from, let why = refusal(of: cursor, for: subscription) {
            writer.reset(subscription: number, why: why)
            session.send(writer.bytes)
            fill(index, of: session)
        } else if let cursor = command.from {
            session.send(writer.bytes)
            let isSituated = cursor.selection != subscription.selection(isSituated: false)
            if isSituated { subscriptions.change(index) { $0.isSituated = true } }
            fill(index, after: cursor.sequence, of: session)
        } else {
            session.send(writer.bytes)
            fill(index, of: session)
        }
        sessions.makeReady(slot: session.id.slot)
    }

    /// Fills a new subscription with its snapshot or its resume.
    ///
    /// - Parameter sequence: The sequence of the cursor that it resumes from.
    private mutating func fill(_ index: SubscriptionIndex, after sequence: Int64? = nil, of session: Session) {
        if subscriptions[index]?.terms.isNotice == true {
            session.hasNotices = true
            subscriptions.fillNotice(index, after: sequence, store, &renderer)
            return
        }
        guard let subscription = subscriptions[index] else { return }
        let former = subscriptions.holdPresence(for: subscription, after: sequence, &store)
        if let sequence {
            subscriptions.fillResume(index, after: sequence, former: former, of: session, store, &renderer)
        } else {
            subscriptions.fillSnapshot(index, of: session, store, &renderer)
        }
        for entity in former { store.release(entity) }
    }

    private func checkRoom(for command: SubscribeCommand, of session: Session) throws(WireError) {
        guard session.subscriptions.count < configuration.limits.subscriptionsPerConnection else {
            throw WireError(
                .limitSubscriptions,
                "this connection has \(session.subscriptions.count) subscriptions already; UNSUB one, or open another connection"
            )
        }
        guard session.subscriptionCount < .max else {
            throw WireError(
                .limitSubscriptions, "this connection has used up the numbers of its subscriptions; open another")
        }
        if case .key(let key) = command.pattern, store.index(of: key) == nil,
            store.keyCount >= configuration.limits.keys
        {
            throw WireError(
                .limitKeys,
                "\(store.keyCount) keys exist or are followed, and no more may be; try again when some are gone")
        }
        if let place = command.placement { try checkPlace(place) }
        if command.delivery == .notice, let own = session.account, let account = command.account, account != own {
            throw WireError(
                .badAttribute,
                "deliver=notice is read with LIST and GET, which are for the account \(own); open a connection for \(account)"
            )
        }
    }

    /// - Throws: `bad_attr` for a place that shows neither controls nor widgets.
    func checkPlace(_ place: String) throws(WireError) {
        guard ControlPlacement(rawValue: place) == nil, WidgetPlace(rawValue: place) == nil else { return }
        let places = ControlPlacement.allCases.map(\.rawValue)
        let more = WidgetPlace.allCases.map(\.rawValue).filter { !places.contains($0) }
        throw WireError(
            .badAttribute,
            "placement=\(place) is no place of a control; there are \(places.joined(separator: ", ")), and for widgets \(more.joined(separator: ", "))"
        )
    }

    mutating func unsubscribe(_ number: Int, _ request: Request, from session: Session, to writer: inout LineWriter) {
        let position = session.subscriptions.firstIndex { index in
            subscriptions[index].map { Int($0.number) == number } ?? false
        }
        guard let position else {
            return writer.error(
                WireError(.unknownSubscription, "this connection has no subscription \(number)"), id: request.id)
        }
        let index = session.subscriptions.remove(at: position)
        session.announcementByteCount -= subscriptions[index]?.backlog?.announcementByteCount ?? 0
        remove(index)
        writer.ok(id: request.id, ignored: request.ignored)
    }

    /// Ends a subscription.
    mutating func remove(_ index: SubscriptionIndex) {
        if let kind = subscriptions.remove(index, store) { store.releaseKind(kind) }
        store.freeReleased()
    }

    /// A pattern in terms of the store's tables. The number of a kind is retained from here on, the index of a key by the
    /// subscription.
    private mutating func selector(of pattern: Pattern, _ session: Session) -> PatternIndex.Selector {
        switch pattern {
        // A client without widget support gets only the widgets that it names.
        case .all: session.showsWidgets ? .allWithWidgets : .all
        case .kind(let name): .kind(store.retainKind(name))
        case .key(let key): .key(store.intern(key))
        }
    }

    /// A number for the selection, because a cursor of another selection must not resume.
    private func selection(
        _ command: SubscribeCommand, _ view: ViewName, _ account: String?, _ widgets: WidgetTerms, _ session: Session
    ) -> UInt16 {
        var hash = StableHash()
        hash.combine(command.pattern.description)
        hash.combine(view.description)
        hash.combine(account ?? "")
        hash.combine(command.placement ?? "")
        if command.delivery == .notice { hash.combine("notice") }
        if case .all = command.pattern, session.showsWidgets { hash.combine("widgets") }
        widgets.combine(into: &hash)
        // Settings and release determine how rows look; otherwise outdated rows would stay on the screen.
        if case .surface = view {
            hash.combine(configuration.serverVersion)
            configuration.surfaces.combine(into: &hash)
        }
        return UInt16(truncatingIfNeeded: hash.finalize())
    }

    private func refusal(of cursor: Cursor, for subscription: Subscription) -> ResetReason? {
        if cursor.epoch != store.epoch { return .epoch }
        let isKnown = [false, true].contains { subscription.selection(isSituated: $0) == cursor.selection }
        guard isKnown else { return .selection }
        if cursor.sequence > commit.durableSequence { return .future }
        if cursor.sequence < store.resumeFloor { return .expired }
        if subscriptions.isTooOldToResume(subscription, after: cursor.sequence, store) { return .expired }
        return nil
    }
}
