internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel

// Reads without side effects.
extension EntityStore {
    func index(of key: Key) -> EntityIndex? { entities.index(of: key) }

    func activity(at entity: EntityIndex) -> ActivityBox? {
        if case .activity(let activity) = entities[entity].state { activity } else { nil }
    }

    /// The version of the kind that a key uses; `nil` if the key has no content.
    func kind(at entity: EntityIndex) -> Kind? {
        let index = entities[entity].kind
        return kinds.versions.indices.contains(index) ? kinds.versions[index] : nil
    }

    /// Whether the key has content, dismissed or not.
    func exists(_ entity: EntityIndex) -> Bool {
        if case .none = entities[entity].state { false } else { true }
    }

    /// Whether it exists, and is in views and lists.
    func isListed(_ entity: EntityIndex) -> Bool {
        switch entities[entity].state {
        case .none: false
        case .activity(let activity): activity.value.lifecycle != .dismissed
        case .toggle, .button, .widget, .tile: entities[entity].dismissedAt == nil
        }
    }

    /// Whether `account` may request its outcome, dismissed or not.
    func isAddressed(_ entity: EntityIndex, to account: String?) -> Bool {
        guard let account else { return true }
        switch entities[entity].state {
        case .none: return true
        case .activity(let activity): return activity.value.isAddressed(to: account)
        case .widget(let widget): return widget.isVisible(to: account)
        case .tile(let item): return item.isVisible(to: account)
        case .toggle, .button: return attachments[entity]?.isAddressed(to: account) ?? true
        }
    }

    /// Whether `account` could see the key's content at `sequence`, or can now. Otherwise not even its deletion is sent.
    func mayHaveKnown(_ entity: EntityIndex, account: String?, at sequence: Int64) -> Bool {
        guard let account, !isAddressed(entity, to: account) else { return true }
        return entities.audienceHistories[entity]?.contains(account, after: sequence) == true
    }

    /// Whether the devices of `account` may show it; without an account everything is visible.
    ///
    /// - Parameter digest: `Activity.digest(of:)` the account, if it is known.
    func isVisible(_ entity: EntityIndex, to account: String?, digest: UInt64? = nil) -> Bool {
        guard let account else { return true }
        switch entities[entity].state {
        case .none: return true
        case .activity(let activity): return activity.value.isVisible(to: account, digest: digest)
        case .widget(let widget):
            guard widget.isVisible(to: account) else { return false }
            return !widget.isDerived || !isShownActivityDismissed(entity, by: account, digest: digest)
        case .tile(let item): return item.isVisible(to: account)
        case .toggle, .button:
            guard let attachment = attachments[entity] else { return true }
            return attachment.activity.flatMap { activity(at: $0) }?.value.isVisible(to: account, digest: digest)
                ?? false
        }
    }

    /// The keys that exist, are not dismissed, match `selector` and are visible to `account`, in the order of the table.
    ///
    /// - Complexity: With an account, O(what it can see); without one, O(everything).
    func visible(
        to account: String?, digest: UInt64? = nil, followedBy selector: PatternIndex.Selector
    ) -> [EntityIndex] {
        let candidates: [EntityIndex]
        switch (selector, account) {
        case (.key(let entity), _): candidates = [entity]
        case (.kind(let number), _) where entities.kindNumbers.isBoard(number): candidates = tiles(onBoard: number)
        case (.all, let account?), (.allWithWidgets, let account?):
            candidates = accounts.visible(to: account, kind: nil)
        case (.kind(let kind), let account?): candidates = accounts.visible(to: account, kind: kind)
        case (.all, nil), (.allWithWidgets, nil), (.kind, nil): candidates = Array(entities.indices)
        }
        return candidates.filter { entity in
            isListed(entity) && follows(selector, entity) && isVisible(entity, to: account, digest: digest)
        }
    }

    /// The keys of ``visible(to:followedBy:)`` that are not activities.
    func others(
        visibleTo account: String, digest: UInt64? = nil, followedBy selector: PatternIndex.Selector
    ) -> [EntityIndex] {
        let candidates: [EntityIndex]
        switch selector {
        case .key(let entity): candidates = activity(at: entity) == nil ? [entity] : []
        case .kind(let number) where entities.kindNumbers.isBoard(number): candidates = tiles(onBoard: number)
        case .kind(let kind): candidates = accounts.others(visibleTo: account, kind: kind)
        case .all, .allWithWidgets: candidates = accounts.others(visibleTo: account, kind: nil)
        }
        return candidates.filter { entity in
            isListed(entity) && follows(selector, entity) && isVisible(entity, to: account, digest: digest)
        }
    }

    /// The number of keys that ``others(visibleTo:followedBy:)`` examines.
    func otherCount(visibleTo account: String, followedBy selector: PatternIndex.Selector) -> Int {
        switch selector {
        case .key: 1
        case .kind(let number) where entities.kindNumbers.isBoard(number):
            boards.items(onBoard: number).count + suggestions.keys(onBoard: number).count
        case .kind(let kind): accounts.otherCount(visibleTo: account, kind: kind)
        case .all, .allWithWidgets: accounts.otherCount(visibleTo: account, kind: nil)
        }
    }

    /// The activities that compete in the views of an account.
    ///
    /// - Parameters:
    ///   - account: `nil` = any account without its own activities that dismissed none.
    ///   - more: How many beyond the limit of a kind are examined too.
    func lineup(
        for account: String?, digest: UInt64? = nil, kind: Int32?, more: [Int32: Int] = [:]
    ) -> Competition.Lineup {
        guard let account else { return competition.lineup(for: nil, kind: kind, more: more) { _ in true } }
        // A copy, because a closure cannot capture an entity store.
        let entities = entities
        return competition.lineup(for: account, kind: kind, more: more) { entity in
            if case .activity(let activity) = entities[entity].state {
                activity.value.isVisible(to: account, digest: digest)
            } else {
                false
            }
        }
    }

    /// The activities that were in a view of an account at some moment since a commit and have not changed since. The result may
    /// contain others too.
    ///
    /// An unchanged activity was among the first of its kind at that moment, and at most as many have overtaken it as have
    /// changed.
    ///
    /// - Parameter changed: The keys that commits since then changed.
    func competitors(
        for account: String, digest: UInt64?, kind: Int32?, unlike changed: [EntityIndex]
    ) -> [EntityIndex] {
        var more: [Int32: Int] = [:]
        for entity in changed { more[entities[entity].kindName, default: 0] += 1 }
        return lineup(for: account, digest: digest, kind: kind, more: more).entities
    }

    /// The most activities that compete in a view of an account.
    func competitorCount(for account: String, followedBy selector: PatternIndex.Selector) -> Int {
        switch selector {
        case .key: 1
        case .kind(let kind): accounts.activityCount(visibleTo: account, kind: kind)
        case .all, .allWithWidgets: accounts.activityCount(visibleTo: account, kind: nil)
        }
    }

    /// All tiles of a board, including relevant widgets that nobody placed, in the order of the table. They are few, however many
    /// keys there are.
    private func tiles(onBoard number: Int32) -> [EntityIndex] {
        (boards.items(onBoard: number) + suggestions.keys(onBoard: number)).sorted()
    }

    /// The number of keys that ``visible(to:followedBy:)`` examines.
    func candidateCount(for account: String?, followedBy selector: PatternIndex.Selector) -> Int {
        switch (selector, account) {
        case (.key, _): 1
        case (.kind(let number), _) where entities.kindNumbers.isBoard(number):
            boards.items(onBoard: number).count + suggestions.keys(onBoard: number).count
        case (.all, let account?), (.allWithWidgets, let account?): accounts.visibleCount(to: account, kind: nil)
        case (.kind(let kind), let account?): accounts.visibleCount(to: account, kind: kind)
        case (.all, nil), (.allWithWidgets, nil), (.kind, nil): entities.indexCount
        }
    }

    /// Whether a commit after `sequence` changed the key, as far as is remembered.
    func hasChanged(_ entity: EntityIndex, after sequence: Int64) -> Bool {
        hasOwnChange(entity, after: sequence)
            || hasWidgetChanged(ofTile: entity, after: sequence)
    }

    /// Whether commits after `sequence` changed more than `limit` keys.
    func hasChanged(moreThan limit: Int, after sequence: Int64) -> Bool {
        changeOrder.hasMore(than: limit) { entities[$0].rev > sequence }
    }

    /// The keys that match a selector and that a commit after `sequence` changed, oldest first.
    ///
    /// - Complexity: O(1) for one key, else O(what changed): ten thousand screens with one key each may reconnect at once.
    func changed(after sequence: Int64, followedBy selector: PatternIndex.Selector) -> [EntityIndex] {
        if case .key(let entity) = selector {
            return hasOwnChange(entity, after: sequence) ? [entity] : []
        }
        return changed(after: sequence).filter { follows(selector, $0) }
    }

    /// Whether a commit after `sequence` changed or removed a control in the views of a key.
    func showsControl(in entity: EntityIndex, changedAfter sequence: Int64) -> Bool {
        controlKeys(in: entity).contains { text in
            Key(text).flatMap { index(of: $0) }.map { hasOwnChange($0, after: sequence) } ?? false
        }
    }

    /// Whether a commit after `sequence` changed a key itself.
    func hasOwnChange(_ entity: EntityIndex, after sequence: Int64) -> Bool {
        entities[entity].rev > sequence && changeOrder.contains(entity)
    }

    func changed(after sequence: Int64) -> [EntityIndex] {
        changeOrder.suffix(while: { entities[$0].rev > sequence })
    }

    /// It is or was a widget.
    func isWidget(_ entity: EntityIndex) -> Bool { entities.isWidget(entity) }

    func isControl(_ entity: EntityIndex) -> Bool {
        switch entities[entity].state {
        case .toggle, .button: true
        case .none, .activity, .widget, .tile: false
        }
    }

    /// Whether a provider acts for it: it is a control, or a widget that a provider loads.
    func isServed(_ entity: EntityIndex) -> Bool {
        (isControl(entity) || widget(at: entity)?.isAsked == true) && isListed(entity)
    }

    /// The operation in progress of a control, and the queued one.
    func operations(at entity: EntityIndex) -> [OperationID] {
        switch entities[entity].state {
        case .toggle(let toggle): [toggle.flight?.operation.id, toggle.queued?.id].compactMap(\.self)
        case .button(let button): [button.flight?.operation].compactMap(\.self)
        case .widget(let widget): [widget.asking?.flight?.operation].compactMap(\.self)
        case .none, .activity, .tile: []
        }
    }

    /// The keys of the controls in any presentation of an activity or a widget.
    func controlKeys(in entity: EntityIndex) -> [String] {
        if let shown = shownWidget(at: entity) { return controlKeys(in: shown) }
        if case .widget(let widget) = entities[entity].state { return controlKeys(of: widget, at: entity) }
        guard let activity = activity(at: entity), let kind = kind(at: entity) else { return [] }
        switch kind.body {
        case .activity(let kind):
            return kind.views.showsControls ? kind.views.buttonKeys(in: activity.value.templateContext) : []
        case .toggle, .button, .widget: return []
        }
    }

    /// Whether an operation of a control is in progress.
    func isUnderWay(_ entity: EntityIndex) -> Bool {
        switch self[entity].state {
        case .toggle(let toggle): toggle.phase == .pending
        case .button(let button): button.phase == .performing
        case .none, .activity, .widget, .tile: false
        }
    }

    // MARK: Deadlines

    /// Whether a deadline is due at `now`.
    func isDeadlineDue(at now: HubTime) -> Bool {
        if let next = deadlines.next, next <= max(time, now.time) { return true }
        if let next = deadlines.nextOnWallClock, next <= max(wall, now.wall) { return true }
        return false
    }

    /// The deadline of one key that is due by the store's clocks.
    func due(of entity: EntityIndex) -> Timestamp? {
        if let due = kindsDeadline(of: entity), due <= time { return due }
        if let due = wallDeadline(of: entity), due <= wall { return due }
        return nil
    }

    func wallDeadline(of entity: EntityIndex) -> Timestamp? {
        switch entities[entity].state {
        case .none: nil
        case .activity: entities[entity].dismissedAt.map { $0 + settings.retention }
        case .toggle, .button, .widget, .tile:
            entities[entity].dismissedAt.map { $0 + settings.retention }
                ?? controlDeadline(of: entity).map { deadlines.postponed($0, ofControl: entity) }
        }
    }

    /// The deadline of a control's machine; `nil` for everything else.
    func controlDeadline(of entity: EntityIndex) -> Timestamp? {
        switch entities[entity].state {
        case .toggle(let toggle): toggle.deadline
        case .button(let button): button.deadline
        case .widget(let widget): widget.asking?.flightDeadline
        case .none, .activity, .tile: nil
        }
    }

    /// The deadline on the kinds' clock: of an activity, or of a widget that a provider loads.
    func kindsDeadline(of entity: EntityIndex) -> Timestamp? {
        switch entities[entity].state {
        case .activity(let activity): activity.deadline
        case .widget(let widget): entities[entity].dismissedAt == nil ? widget.asking?.planDeadline : nil
        case .none, .toggle, .button, .tile: nil
        }
    }

    /// The record of a due deadline: the end of retention, a widget's refresh, or a step of a machine.
    func entry(ofDeadline due: Timestamp, at entity: EntityIndex, _ key: Key) -> JournalEntry {
        if entities[entity].dismissedAt != nil { return .pruned(key) }
        if let ask = widget(at: entity)?.asking?.planDeadline, ask <= time { return .asked(key, due: due) }
        return .deadline(key, due: due)
    }
}

extension EntityStore {
    func follows(_ selector: PatternIndex.Selector, _ entity: EntityIndex) -> Bool {
        switch selector {
        case .all: !entities.isWidget(entity)
        case .allWithWidgets: true
        case .kind(let own): own == entities[entity].kindName
        case .key(let own): own == entity
        }
    }
}
