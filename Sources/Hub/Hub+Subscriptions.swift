internal import FanOut
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

extension Hub {
    // MARK: SUB and UNSUB

    mutating func subscribe(_ command: SubscribeCommand, _ request: Request, from id: SessionID, at now: HubTime) {
        var writer = LineWriter()
        guard let session = self[id] else { return }
        guard session.subscriptions.count < configuration.limits.subscriptionsPerConnection else {
            writer.error(
                WireError(
                    .limitSubscriptions,
                    "this connection has \(session.subscriptions.count) subscriptions already; UNSUB one, or open another connection"
                ), id: request.id)
            return append(writer.bytes, to: id)
        }
        guard session.subscriptionCount < .max else {
            writer.error(
                WireError(
                    .limitSubscriptions, "this connection has used up the numbers of its subscriptions; open another"),
                id: request.id)
            return append(writer.bytes, to: id)
        }
        if let place = command.placement, ControlPlacement(rawValue: place) == nil {
            let places = ControlPlacement.allCases.map(\.rawValue).joined(separator: ", ")
            writer.error(
                WireError(.badAttribute, "placement=\(place) is no place of a control; there are \(places)"),
                id: request.id)
            return append(writer.bytes, to: id)
        }
        let view = command.view ?? defaultView(of: id)
        let account = command.account ?? session.account
        let terms = terms(
            view: view, account: account, placement: command.placement,
            // Rounded up, or there would be more lines a second than were asked for.
            rateInterval: command.rate.map { Int64((999 + max(1, $0)) / max(1, $0)) })
        session.subscriptionCount += 1
        var subscription = Subscription(
            terms, of: id.slot, number: session.subscriptionCount, selector: selector(of: command.pattern),
            selection: selection(command.pattern, view, account, command.placement))
        if case .surface = view { subscription.isSituated = session.traits != Traits() }
        let index = insert(subscription)
        session.subscriptions.append(index)

        let number = Int(subscription.number)
        writer.beginOK(id: request.id)
        writer.attribute("sub", number)
        writer.attribute("view", view.description)
        writer.ignored(request.ignored)
        writer.end()
        if let cursor = command.from, let why = refusal(of: cursor, for: subscription) {
            writer.reset(subscription: number, why: why)
            append(writer.bytes, to: id)
            fillSnapshot(index)
        } else if let cursor = command.from {
            append(writer.bytes, to: id)
            let isSituated = cursor.selection != subscription.selection(isSituated: false)
            if isSituated { subscriptions.change(index) { $0.isSituated = true } }
            fillResume(index, after: cursor.sequence)
        } else {
            append(writer.bytes, to: id)
            fillSnapshot(index)
        }
        makeReady(id)
    }

    mutating func unsubscribe(_ number: Int, _ request: Request, from id: SessionID, writer: inout LineWriter) {
        let session = self[id]
        guard let position = session?.subscriptions.firstIndex(where: { isNumbered($0, number) }),
            let index = session?.subscriptions.remove(at: position)
        else {
            return writer.error(
                WireError(.unknownSubscription, "this connection has no subscription \(number)"), id: request.id)
        }
        removeSubscription(index)
        writer.ok(id: request.id, ignored: request.ignored)
    }

    private func isNumbered(_ index: SubscriptionIndex, _ number: Int) -> Bool {
        subscriptions[index].map { Int($0.number) == number } ?? false
    }

    /// The terms of these words. Who follows much follows it on the same ones, and so do thousands of screens: whoever
    /// comes after one with the same shares its object.
    private mutating func terms(
        view: ViewName, account: String?, placement: String?, rateInterval: Int64?
    ) -> SubscriptionTerms {
        let terms = SubscriptionTerms(view: view, account: account, placement: placement, rateInterval: rateInterval)
        if let last = lastTerms, last.isAlike(terms) { return last }
        lastTerms = terms
        return terms
    }

    private mutating func insert(_ subscription: Subscription) -> SubscriptionIndex {
        let index = subscriptions.insert(subscription)
        if case .key(let entity) = subscription.selector { entities.retain(entity) }
        patterns.insert(index, subscription.selector)
        return index
    }

    mutating func removeSubscription(_ index: SubscriptionIndex) {
        guard let subscription = subscriptions.remove(index) else { return }
        patterns.remove(index, subscription.selector)
        switch subscription.selector {
        case .all: break
        case .kind(let number): entities.kindNumbers.release(number)
        case .key(let entity): entities.release(entity)
        }
        if subscription.holdsWhatWaits { subscription.forEachWaiting { entities.release($0) } }
    }

    /// What a pattern means in the hub's tables. A kind's number is held from here on, a key's index by ``insert(_:)``.
    private mutating func selector(of pattern: Pattern) -> PatternIndex.Selector {
        switch pattern {
        case .all: .all
        case .kind(let name): .kind(entities.kindNumbers.retain(name))
        case .key(let key): .key(entities.intern(key))
        }
    }

    /// What a cursor is good for: it must not resume another selection.
    private func selection(_ pattern: Pattern, _ view: ViewName, _ account: String?, _ placement: String?) -> UInt16 {
        var hash = StableHash()
        hash.combine(pattern.description)
        hash.combine(view.description)
        hash.combine(account ?? "")
        hash.combine(placement ?? "")
        // What else decides how rows look: those of other settings, or of another release, would stay on the screen.
        if case .surface = view {
            hash.combine(configuration.serverVersion)
            configuration.surfaces.combine(into: &hash)
        }
        return UInt16(truncatingIfNeeded: hash.finalize())
    }

    private func refusal(of cursor: Cursor, for subscription: Subscription) -> ResetReason? {
        if cursor.epoch != epoch { return .epoch }
        let isKnown = [false, true].contains { subscription.selection(isSituated: $0) == cursor.selection }
        guard isKnown else { return .selection }
        if cursor.sequence > durableSequence { return .future }
        if cursor.sequence < resumeFloor { return .expired }
        return nil
    }

    // MARK: Snapshots and resumes

    private mutating func fillSnapshot(_ index: SubscriptionIndex) {
        let nextCommit = durableSequence + 1
        forEachFollowed(by: index) { hub, entity in
            hub.enqueue(entity, in: index) { $0.markSnapshot(entity, firstCommit: nextCommit) }
        }
        subscriptions.change(index) { $0.finishFilling() }
    }

    private mutating func fillResume(_ index: SubscriptionIndex, after sequence: Int64) {
        guard let subscription = subscriptions[index] else { return }
        for entity in changed(after: sequence, by: subscription.selector)
        where mayHaveKnown(entity, account: subscription.terms.account, at: sequence) {
            enqueue(entity, in: index) { $0.markResume(entity, firstCommit: sequence + 1) }
        }
        if subscription.terms.competes || subscription.isSituated {
            // What surrounds an unchanged activity, or the device, may have changed what is shown of it.
            forEachFollowed(by: index) { hub, entity in
                hub.enqueue(entity, in: index) { $0.markResume(entity, firstCommit: sequence + 1) }
            }
        }
        fillEmbedders(index, after: sequence)
        assumeShown(by: index)
        subscriptions.change(index) { subscription in
            subscription.toldCursor = sequence
            subscription.finishFilling()
        }
    }

    /// Whether the people of `account` could see what stood behind the key at `sequence`, or can now. What is other
    /// people's is not even told to be gone.
    private func mayHaveKnown(_ entity: EntityIndex, account: String?, at sequence: Int64) -> Bool {
        guard let account, !isAddressed(entity, to: account) else { return true }
        return entities.audienceHistories[entity]?.contains(account, after: sequence) == true
    }

    /// What a selector follows and a commit after `sequence` changed, oldest first.
    ///
    /// - Complexity: O(1) for one key, else O(what changed): ten thousand screens of one key each come back at once.
    private func changed(after sequence: Int64, by selector: PatternIndex.Selector) -> [EntityIndex] {
        if case .key(let entity) = selector {
            return changes.contains(entity) && entities[entity].rev > sequence ? [entity] : []
        }
        return changes.suffix(while: { entities[$0].rev > sequence }).filter {
            selector.follows($0, kind: entities[$0].kindName)
        }
    }

    /// An activity that did not change looks different when a control in its view did.
    private mutating func fillEmbedders(_ index: SubscriptionIndex, after sequence: Int64) {
        guard case .surface? = subscriptions[index]?.terms.view, kinds.versions.contains(where: \.showsControls) else {
            return
        }
        var changed: Set<String> = []
        for entity in changes.suffix(while: { entities[$0].rev > sequence }) where isControl(entity) {
            if let key = entities[entity].key { changed.insert(key.text) }
        }
        guard !changed.isEmpty else { return }
        forEachFollowed(by: index) { hub, entity in
            guard hub.controlKeys(in: entity).contains(where: { changed.contains($0) }) else { return }
            hub.enqueue(entity, in: index) { $0.markResume(entity, firstCommit: sequence + 1) }
        }
    }

    /// The controls in the views of an activity, in whatever presentation.
    private func controlKeys(in entity: EntityIndex) -> [String] {
        guard let activity = activity(at: entity) else { return [] }
        switch kinds.versions[entities[entity].kind].body {
        case .activity(let kind):
            return kind.views.showsControls ? kind.views.buttonKeys(in: activity.value.templateContext) : []
        case .toggle, .button: return []
        }
    }

    /// Notes what a subscriber has kept that is not sent again on its resume, so that its end will be told.
    private mutating func assumeShown(by index: SubscriptionIndex) {
        guard let subscription = subscriptions[index], subscription.terms.tracksRows, !subscription.terms.competes,
            !subscription.isSituated
        else { return }
        for entity in followed(by: subscription) where !subscription.isWaiting(for: entity) {
            // Its last row was of the usual situation, which is this session's still.
            let placement = form(of: entity, for: subscription)?.placement
            subscriptions.change(index) { $0.show(entity, placement) }
            // It is not encoded again now, and nobody has encoded it yet since a restart.
            if placement != nil { controlReferences.note(controlKeys(in: entity).compactMap { Key($0) }, in: entity) }
        }
    }

    /// Calls `body` for everything that exists, is not dismissed, and that the subscription follows and may see.
    private mutating func forEachFollowed(
        by index: SubscriptionIndex, _ body: (inout Hub, EntityIndex) -> Void
    ) {
        guard let subscription = subscriptions[index] else { return }
        for entity in followed(by: subscription) { body(&self, entity) }
    }

    /// What exists, is not dismissed, and a subscription follows and may see, in the order of the table.
    ///
    /// - Complexity: Of an account, what it can see; without one, everything there is.
    func followed(by subscription: Subscription) -> [EntityIndex] {
        let (selector, account) = (subscription.selector, subscription.terms.account)
        let candidates: [EntityIndex]
        switch (selector, account) {
        case (.key(let entity), _): candidates = [entity]
        case (.all, let account?): candidates = audience.visible(to: accounts.known(account), kind: nil)
        case (.kind(let kind), let account?): candidates = audience.visible(to: accounts.known(account), kind: kind)
        case (.all, nil), (.kind, nil): candidates = Array(entities.indices)
        }
        return candidates.filter { entity in
            isListed(entity) && selector.follows(entity, kind: entities[entity].kindName)
                && isVisible(entity, to: account)
        }
    }

    /// Changes the queue of a subscription, in which `entity` begins to wait when `body` says so, and is held from then
    /// on.
    mutating func enqueue(
        _ entity: EntityIndex, in index: SubscriptionIndex, _ body: (inout DirtyQueue) -> Bool
    ) {
        let holds = subscriptions.change(index) { body(&$0.needBacklog().queue) && $0.holdsWhatWaits }
        if holds == true { entities.retain(entity) }
    }

    // MARK: Changes

    /// Tells everybody who follows a key that a commit changed it.
    mutating func spread(_ changes: Span<Change>) {
        for position in changes.indices {
            let (entity, commit) = (changes[position].entity, changes[position].commit)
            rows.forget(entity)
            controlReferences.forget(entity)
            self.changes.touch(entity)
            withFollowers(of: entity) { hub, followers in
                // Without any, not even looked at: it holds an activity, which is long out of the cache.
                guard !followers.isEmpty else { return }
                let change = changes[position]
                for index in followers { hub.owe(change, to: index) }
            }
            spreadToEmbedders(of: entity, commit: commit)
        }
    }

    /// Rows of activities in whose views a control stands come again when it changes.
    ///
    /// They are missing since the control's commit: a cursor beyond it would resume without them.
    private mutating func spreadToEmbedders(of entity: EntityIndex, commit: Int64) {
        guard !controlReferences.isEmpty, let key = entities[entity].key else { return }
        for activity in controlReferences.activities(with: key) {
            rows.forget(activity)
            withFollowers(of: activity) { hub, followers in
                for index in followers {
                    guard let subscription = hub.subscriptions[index], case .surface = subscription.terms.view,
                        subscription.shown(activity) != nil
                    else { continue }
                    hub.oweSurroundings(of: activity, to: index, since: commit)
                    hub.makeReady(slot: subscription.session)
                }
            }
        }
    }

    /// Owes a subscription a row whose own key did not change, but what is drawn of it did.
    ///
    /// - Parameter commit: What made the difference; without one it is nothing that a resume could miss.
    mutating func oweSurroundings(of entity: EntityIndex, to index: SubscriptionIndex, since commit: Int64? = nil) {
        let firstCommit = commit ?? durableSequence + 1
        enqueue(entity, in: index) { $0.markChangedSurroundings(entity, firstCommit: firstCommit) }
    }

    private mutating func withFollowers(of entity: EntityIndex, _ body: (inout Hub, [SubscriptionIndex]) -> Void) {
        var followers: [SubscriptionIndex] = []
        swap(&followers, &followerBuffer)
        patterns.appendFollowers(of: entity, entities[entity].kindName, to: &followers)
        body(&self, followers)
        followers.removeAll(keepingCapacity: true)
        swap(&followers, &followerBuffer)
    }

    private mutating func owe(_ change: Change, to index: SubscriptionIndex) {
        let entity = change.entity
        if !change.isAnnounced {
            switch subscriptions.owe(change.commit, to: index) {
            case .begun: return makeReady(slot: subscriptions.session(of: index))
            // Its session has been ready since the first of them.
            case .folded: return
            case .refused: break
            }
        }
        guard let terms = subscriptions.terms(of: index) else { return }
        // By what the change made of it, and not what the whole batch did.
        let sees = change.isAnnounced ? change.isTold(to: terms.account) : change.isVisible(to: terms.account)
        let owes = subscriptions.change(index) { subscription in
            guard sees || subscription.knows(entity) else { return false }
            let isNew = subscription.needBacklog().queue.mark(entity, commit: change.commit)
            if isNew, subscription.holdsWhatWaits { entities.retain(entity) }
            return true
        }
        if terms.competes, sees || change.isAddressed(to: terms.account) {
            // Even one that was not shown may have kept others from their places, and leave now.
            subscriptions.change(index) { $0.needsProjection = true }
        } else if owes != true {
            return
        }
        if sees, change.isAnnounced { announce(change, to: index) }
        makeReady(slot: subscriptions.session(of: index))
    }

    /// Lets what a commit brought beside its row go out before it.
    private mutating func announce(_ change: Change, to index: SubscriptionIndex) {
        guard let subscription = subscriptions[index], let backlog = subscription.backlog else { return }
        for milestone in change.milestones { backlog.queue.announce(milestone, before: change.entity) }
        if let alert = change.alert, case .surface = subscription.terms.view {
            let json = alertBody(alert, of: change.entity, for: subscription) ?? []
            backlog.queue.announce(.alert(rev: change.commit, json: json), before: change.entity)
        }
    }

    /// Lets every surface view of a session be projected anew: its situation changed.
    ///
    /// - Parameter locked: The device was locked or unlocked: it shows more or less of its controls now.
    mutating func reproject(_ id: SessionID, locked: Bool) {
        guard let session = self[id] else { return }
        for index in session.subscriptions {
            guard let subscription = subscriptions[index], case .surface = subscription.terms.view else { continue }
            subscriptions.change(index) { subscription in
                subscription.needsProjection = true
                guard !subscription.terms.competes, !subscription.isSituated else { return }
                // The first row that looks different brings a cursor that says so.
                subscription.isSituated = true
                subscription.toldCursor = 0
            }
            guard locked else { continue }
            for raw in subscription.allShown.keys.sorted() {
                let entity = EntityIndex(raw)
                guard isControl(entity) || controlReferences.shows(controlsIn: entity) else { continue }
                oweSurroundings(of: entity, to: index)
            }
        }
        makeReady(id)
    }

    /// Whether `rate=` held rows of this subscription back that may leave by `time`.
    func subscriptionReleases(_ index: SubscriptionIndex, by time: Int64) -> Bool {
        guard let release = subscriptions[index]?.backlog?.queue.nextRelease else { return false }
        return release <= time
    }

    // MARK: What can be seen

    /// There is something behind the key, dismissed or not.
    func exists(_ entity: EntityIndex) -> Bool {
        if case .none = entities[entity].state { false } else { true }
    }

    /// It exists, and is in views and lists.
    func isListed(_ entity: EntityIndex) -> Bool {
        switch entities[entity].state {
        case .none: false
        case .activity(let activity): activity.value.lifecycle != .dismissed
        case .toggle, .button: true
        }
    }

    /// Whether the people of `account` may ask what became of it, dismissed or not.
    func isAddressed(_ entity: EntityIndex, to account: String?) -> Bool {
        guard let account, case .activity(let activity) = entities[entity].state else { return true }
        return activity.value.isAddressed(to: account)
    }

    /// Whether the devices of `account` may show it; without an account everything is visible.
    func isVisible(_ entity: EntityIndex, to account: String?) -> Bool {
        guard let account, case .activity(let activity) = entities[entity].state else { return true }
        return activity.value.isVisible(to: account)
    }
}

extension PatternIndex.Selector {
    func follows(_ entity: EntityIndex, kind: Int32) -> Bool {
        switch self {
        case .all: true
        case .kind(let own): own == kind
        case .key(let own): own == entity
        }
    }
}
