internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel

// Looks that change nothing.
extension EntityStore {
    func index(of key: Key) -> EntityIndex? { entities.index(of: key) }

    func activity(at entity: EntityIndex) -> ActivityBox? {
        if case .activity(let activity) = entities[entity].state { activity } else { nil }
    }

    /// The version of the kind that a key lives by; `nil` where nothing stands behind the key.
    func kind(at entity: EntityIndex) -> Kind? {
        let index = entities[entity].kind
        return kinds.versions.indices.contains(index) ? kinds.versions[index] : nil
    }

    /// There is something behind the key, dismissed or not.
    func exists(_ entity: EntityIndex) -> Bool {
        if case .none = entities[entity].state { false } else { true }
    }

    /// It exists, and is in views and lists.
    func isListed(_ entity: EntityIndex) -> Bool {
        switch entities[entity].state {
        case .none: false
        case .activity(let activity): activity.value.lifecycle != .dismissed
        case .toggle, .button, .widget, .tile: entities[entity].dismissedAt == nil
        }
    }

    /// Whether `account` may ask what became of it, dismissed or not.
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

    /// Whether `account` could see what stood behind the key at `sequence`, or can now. What is other accounts' is not
    /// even told to be gone.
    func mayHaveKnown(_ entity: EntityIndex, account: String?, at sequence: Int64) -> Bool {
        guard let account, !isAddressed(entity, to: account) else { return true }
        return entities.audienceHistories[entity]?.contains(account, after: sequence) == true
    }

    /// Whether the devices of `account` may show it; without an account everything is visible.
    func isVisible(_ entity: EntityIndex, to account: String?) -> Bool {
        guard let account else { return true }
        switch entities[entity].state {
        case .none: return true
        case .activity(let activity): return activity.value.isVisible(to: account)
        case .widget(let widget):
            guard widget.isVisible(to: account) else { return false }
            return !widget.isDerived || !isShownActivityDismissed(entity, by: account)
        case .tile(let item): return item.isVisible(to: account)
        case .toggle, .button:
            guard let attachment = attachments[entity] else { return true }
            return attachment.activity.flatMap { activity(at: $0) }?.value.isVisible(to: account) ?? false
        }
    }

    /// The keys that exist, are not dismissed, are followed by `selector` and may be shown to `account`, in the order of the table.
    ///
    /// - Complexity: Of an account, what it can see; without one, everything there is.
    func visible(to account: String?, followedBy selector: PatternIndex.Selector) -> [EntityIndex] {
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
            isListed(entity) && follows(selector, entity)
                && isVisible(entity, to: account)
        }
    }

    /// What of ``visible(to:followedBy:)`` is no activity.
    func others(visibleTo account: String, followedBy selector: PatternIndex.Selector) -> [EntityIndex] {
        let candidates: [EntityIndex]
        switch selector {
        case .key(let entity): candidates = activity(at: entity) == nil ? [entity] : []
        case .kind(let number) where entities.kindNumbers.isBoard(number): candidates = tiles(onBoard: number)
        case .kind(let kind): candidates = accounts.others(visibleTo: account, kind: kind)
        case .all, .allWithWidgets: candidates = accounts.others(visibleTo: account, kind: nil)
        }
        return candidates.filter { entity in
            isListed(entity) && follows(selector, entity) && isVisible(entity, to: account)
        }
    }

    /// How many keys ``others(visibleTo:followedBy:)`` looks at.
    func otherCount(visibleTo account: String, followedBy selector: PatternIndex.Selector) -> Int {
        switch selector {
        case .key: 1
        case .kind(let number) where entities.kindNumbers.isBoard(number):
            boards.items(onBoard: number).count + suggestions.keys(onBoard: number).count
        case .kind(let kind): accounts.otherCount(visibleTo: account, kind: kind)
        case .all, .allWithWidgets: accounts.otherCount(visibleTo: account, kind: nil)
        }
    }

    /// What takes part in the views of an account.
    ///
    /// - Parameters:
    ///   - account: `nil` = one that has no activities of its own and dismissed none.
    ///   - more: How many beyond the limit of a kind are looked at too.
    func lineup(for account: String?, kind: Int32?, more: [Int32: Int] = [:]) -> Competition.Lineup {
        guard let account else { return competition.lineup(for: nil, kind: kind, more: more) { _ in true } }
        // A copy: an entity store cannot be captured.
        let entities = entities
        return competition.lineup(for: account, kind: kind, more: more) { entity in
            if case .activity(let activity) = entities[entity].state {
                activity.value.isVisible(to: account)
            } else {
                false
            }
        }
    }

    /// The activities that were in a view of an account at some moment since a commit, and what of them did not change; others may be
    /// among them.
    ///
    /// What did not change was among the first of its kind at that moment, and since then no more went ahead of it than changed.
    ///
    /// - Parameter changed: What a commit since then changed.
    func competitors(for account: String, kind: Int32?, unlike changed: [EntityIndex]) -> [EntityIndex] {
        var more: [Int32: Int] = [:]
        for entity in changed { more[entities[entity].kindName, default: 0] += 1 }
        return lineup(for: account, kind: kind, more: more).entities
    }

    /// How many activities compete in a view of an account, at most.
    func competitorCount(for account: String, followedBy selector: PatternIndex.Selector) -> Int {
        switch selector {
        case .key: 1
        case .kind(let kind): accounts.activityCount(visibleTo: account, kind: kind)
        case .all, .allWithWidgets: accounts.activityCount(visibleTo: account, kind: nil)
        }
    }

    /// All tiles of a board, also those that come by themselves, in the order of the table: few, however many keys there are.
    private func tiles(onBoard number: Int32) -> [EntityIndex] {
        (boards.items(onBoard: number) + suggestions.keys(onBoard: number)).sorted()
    }

    /// How many keys ``visible(to:followedBy:)`` looks at.
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

    /// Whether a commit after `sequence` changed the key, as far as that is remembered.
    func hasChanged(_ entity: EntityIndex, after sequence: Int64) -> Bool {
        hasOwnChange(entity, after: sequence)
            || hasWidgetChanged(ofTile: entity, after: sequence)
    }

    /// Whether commits after `sequence` changed more than `limit` keys.
    func hasChanged(moreThan limit: Int, after sequence: Int64) -> Bool {
        changeOrder.hasMore(than: limit) { entities[$0].rev > sequence }
    }

    /// The keys that a selector follows and a commit after `sequence` changed, oldest first.
    ///
    /// - Complexity: O(1) for one key, else O(what changed): ten thousand screens of one key each come back at once.
    func changed(after sequence: Int64, followedBy selector: PatternIndex.Selector) -> [EntityIndex] {
        if case .key(let entity) = selector {
            return hasOwnChange(entity, after: sequence) ? [entity] : []
        }
        return changed(after: sequence).filter { follows(selector, $0) }
    }

    /// Whether a commit after `sequence` changed a control that stands in the views of a key, or took it away.
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

    /// It is a widget, or was one.
    func isWidget(_ entity: EntityIndex) -> Bool { entities.isWidget(entity) }

    func isControl(_ entity: EntityIndex) -> Bool {
        switch entities[entity].state {
        case .toggle, .button: true
        case .none, .activity, .widget, .tile: false
        }
    }

    /// Whether a provider acts for it: a control, or a widget that is asked for.
    func isServed(_ entity: EntityIndex) -> Bool {
        (isControl(entity) || widget(at: entity)?.isAsked == true) && isListed(entity)
    }

    /// The operation that a control's provider performs, and the one that waits for it.
    func operations(at entity: EntityIndex) -> [OperationID] {
        switch entities[entity].state {
        case .toggle(let toggle): [toggle.flight?.operation.id, toggle.queued?.id].compactMap(\.self)
        case .button(let button): [button.flight?.operation].compactMap(\.self)
        case .widget(let widget): [widget.asking?.flight?.operation].compactMap(\.self)
        case .none, .activity, .tile: []
        }
    }

    /// The keys of the controls in the views of an activity or a widget, in whatever presentation.
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

    /// Whether an operation of a control is under way.
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

    /// The deadline that the machine of a control has; `nil` for all else.
    func controlDeadline(of entity: EntityIndex) -> Timestamp? {
        switch entities[entity].state {
        case .toggle(let toggle): toggle.deadline
        case .button(let button): button.deadline
        case .widget(let widget): widget.asking?.flightDeadline
        case .none, .activity, .tile: nil
        }
    }

    /// The deadline by the kinds' clock: of an activity, or of a widget that asks its provider.
    func kindsDeadline(of entity: EntityIndex) -> Timestamp? {
        switch entities[entity].state {
        case .activity(let activity): activity.deadline
        case .widget(let widget): entities[entity].dismissedAt == nil ? widget.asking?.planDeadline : nil
        case .none, .toggle, .button, .tile: nil
        }
    }

    /// The record of a deadline that is due: the end of its retention, a widget's ask, or a step of a machine.
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
