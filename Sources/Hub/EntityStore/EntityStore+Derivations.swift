internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

/// The changes that one record about an activity makes to the widgets that show it.
///
/// They have no records of their own: a replay of the record gives the same widgets.
struct DerivedChanges: Sendable {
    /// Changes to aggregate widgets first, then in the order of the kinds' names.
    var changes: [Change] = []
    /// How many widgets had predicted the deadline that came, and how many had predicted one that an event overtook.
    var keptCount = 0
    var missedCount = 0
}

// Widgets that show activities (`each`, `one`).
extension EntityStore {
    /// The activity that the widget at `entity` shows, while there is one.
    func activityShown(by entity: EntityIndex) -> EntityIndex? {
        guard let key = entities[entity].key, let kind = widgetKind(at: entity) else { return nil }
        return activityShown(by: key, kind)
    }

    private func activityShown(by key: Key, _ kind: WidgetKind) -> EntityIndex? {
        guard let name = kind.activityKind, let id = kind.activityID(ofWidget: String(key.id)),
            let shown = Key(kind: name, id: id), let entity = entities.index(of: shown), activity(at: entity) != nil
        else { return nil }
        return entity
    }

    /// The moments of a widget from `now` on.
    ///
    /// - Parameter account: The account whose devices show it; `nil` = every account.
    func future(
        of widget: Widget, at entity: EntityIndex, _ kind: WidgetKind, _ now: Timestamp, for account: String? = nil
    ) -> WidgetFuture {
        if let aggregate = kind.aggregate {
            let values = values(ofAggregate: entity, aggregate, for: account)
            return widget.aggregateFuture(at: now, aggregate, values: values)
        }
        let shown = kind.isDerived ? activityShown(by: entity).flatMap { activity(at: $0) } : nil
        return widget.future(at: now, kind: kind, activity: shown?.value, settings: settings.activities)
    }

    /// Whether `account` has dismissed the activity that a widget shows.
    func isShownActivityDismissed(_ entity: EntityIndex, by account: String, digest: UInt64?) -> Bool {
        activityShown(by: entity).flatMap { activity(at: $0) }?.value.isDismissed(by: account, digest: digest) ?? false
    }

    // MARK: A record about an activity

    /// Updates the widgets that show an activity.
    ///
    /// A deadline was predicted, so it changes no widget; it can only add or remove one. An applied event changes them, and its
    /// record becomes their `rev`.
    ///
    /// - Parameters:
    ///  - former: The activity before the record.
    ///  - isForeseen: The record is a deadline and not an event.
    ///   - isChanged: The row of the activity changed.
    @inline(never)
    mutating func derive(
        from activity: EntityIndex, _ former: ActivityBox?, _ box: ActivityBox, isForeseen: Bool, isChanged: Bool,
        sequence: Int64
    ) -> DerivedChanges? {
        guard let key = entities[activity].key else { return nil }
        let isOvertaken = isChanged || former.map { !$0.value.hasFuture(of: box.value) } ?? true
        guard isForeseen || isOvertaken else { return nil }
        var derived = DerivedChanges()
        if let aggregation = kinds.aggregation(of: entities[activity].kind) {
            accumulate(activity, former, box, aggregation, sequence: sequence, &derived)
        }
        for derivation in kinds.widgetKinds(showing: entities[activity].kind) {
            let (index, kind) = (derivation.index, derivation.kind)
            guard let id = kind.widgetID(ofActivity: String(key.id)), let configuration = kind.configuration(ofID: id),
                let widgetKey = Key(kind: derivation.name, id: id)
            else { continue }
            let entity = entities.index(of: widgetKey)
            let known = entity.flatMap { self.widget(at: $0) }.flatMap { $0.isGone ? nil : $0 }
            let isMember = box.isLive && (!kind.isEach || box.value.satisfies(kind.condition))
            guard known != nil || isMember else { continue }
            var widget =
                known.flatMap { $0.accounts == box.accounts ? $0 : nil }
                ?? Widget(configuration: configuration, accounts: box.accounts, isDerived: true, at: time)
            let goes = kind.isEach && !isMember
            if known != nil, isForeseen { derived.keptCount += 1 }
            if known != nil, isForeseen, !goes {
                widget.keep()
            } else if goes {
                widget.leave()
            } else {
                widget.overtake(isShown: true, at: time)
            }
            if !isForeseen, known != nil, let due = former?.deadline, due != box.deadline { derived.missedCount += 1 }
            let isKept = known != nil && isForeseen && !goes
            let place = entity ?? intern(widgetKey)
            put(widget, at: place, kind: index, rev: isKept ? entities[place].rev : sequence, sequence: sequence)
            guard !isKept else { continue }
            derived.changes.append(
                Change(entity: place, isWidget: true, commit: sequence, activity: goes ? former ?? box : box))
        }
        return derived
    }

    /// Removes the widgets that show a forgotten activity. Recommended widgets stay, without content.
    mutating func forgetShown(_ activity: EntityIndex, sequence: Int64) -> DerivedChanges? {
        guard let key = entities[activity].key else { return nil }
        var derived = DerivedChanges()
        for derivation in kinds.widgetKinds(showing: entities[activity].kind) {
            let (index, kind) = (derivation.index, derivation.kind)
            guard let id = kind.widgetID(ofActivity: String(key.id)), !kind.instances.contains(id),
                let widgetKey = Key(kind: derivation.name, id: id),
                let entity = entities.index(of: widgetKey), var widget = self.widget(at: entity), !widget.isGone
            else { continue }
            widget.leave()
            put(widget, at: entity, kind: index, rev: sequence, sequence: sequence)
            derived.changes.append(Change(entity: entity, isWidget: true, commit: sequence))
        }
        return derived
    }

    // MARK: Settings

    /// Updates the widgets whose activity has another future under the new settings: what screens have received is no longer
    /// correct.
    ///
    /// - Parameter former: The settings before.
    mutating func foreseeAnew(since former: ActivitySettings, sequence: Int64) -> DerivedChanges? {
        guard kinds.hasDerivedWidgets, former != settings.activities else { return nil }
        var derived = DerivedChanges()
        for entity in entities.existing {
            guard var widget = widget(at: entity), widget.isDerived, !widget.isGone, let kind = widgetKind(at: entity),
                let box = activityShown(by: entity).flatMap({ activity(at: $0) })
            else { continue }
            let foreseen = box.value.future(at: time, settings: former, where: kind.condition)
            guard foreseen != box.value.future(at: time, settings: settings.activities, where: kind.condition) else {
                continue
            }
            widget.overtake(isShown: true, at: time)
            put(widget, at: entity, kind: entities[entity].kind, rev: sequence, sequence: sequence)
            derived.changes.append(Change(entity: entity, isWidget: true, commit: sequence, activity: box))
        }
        return derived
    }

    // MARK: Kinds

    /// A widget of the current activity.
    ///
    /// - Throws: `unknown_key` if the widget exists only with its activity and there is none.
    func derivedWidget(_ key: Key, kind: WidgetKind, configuration: JSON) throws(WireError) -> Widget {
        guard hasPlace(key, in: kind) else { throw .unknownKey(key) }
        if let aggregate = kind.aggregate {
            return Widget(configuration: configuration, tallies: aggregate.tallies.map(\.name), at: time)
        }
        let shown = activityShown(by: key, kind).flatMap { activity(at: $0) }
        var widget = Widget(
            configuration: configuration, accounts: shown?.accounts ?? [], isDerived: true, at: time)
        widget.overtake(isShown: shown != nil, at: time)
        return widget
    }

    /// Whether a kind has a widget with this key: its id must be a configuration. If the widget exists only with what it shows,
    /// that must exist too.
    func hasPlace(_ key: Key, in kind: WidgetKind) -> Bool {
        guard configuration(of: key, in: kind) != nil else { return false }
        guard kind.isEach else { return true }
        guard let entity = activityShown(by: key, kind), let box = activity(at: entity) else { return false }
        return box.isLive && box.value.satisfies(kind.condition)
    }

    /// The configuration of a widget: that of its id, or of the activities in its group.
    func configuration(of key: Key, in kind: WidgetKind) -> JSON? {
        let id = String(key.id)
        if let known = kind.configuration(ofID: id) { return known }
        if kind.aggregate != nil, let index = kinds.current[String(key.kind)],
            let known = aggregates.configuration(of: id, in: index)
        {
            return known
        }
        return configuration(byTileOn: key, in: kind)
    }

    /// The groups of activities without a widget, as far as the limits allow.
    private var missingAggregates: [Key] {
        var missing: [Key] = []
        for index in kinds.inForceIndices {
            let name = kinds.versions[index].name
            guard case .widget(let kind) = kinds.versions[index].body, kind.aggregate != nil else { continue }
            var room = min(groupRoom(of: name[...]), settings.groups - aggregates.keyCount - missing.count)
            for group in aggregates.groups(in: index) where !kind.instances.contains(group.id) {
                guard let key = Key(kind: name, id: group.id) else { continue }
                let known = entities.index(of: key).flatMap { widget(at: $0) }
                if let known, !known.isGone { continue }
                guard known != nil || room > 0 else { continue }
                if known == nil { room -= 1 }
                missing.append(key)
            }
        }
        return missing
    }

    /// Widgets of existing activities that new kinds make possible.
    var missingDerived: [Key] {
        guard kinds.hasDerivedWidgets else { return [] }
        var missing = missingAggregates
        for entity in entities.existing {
            guard let box = activity(at: entity), box.isLive, let key = entities[entity].key else { continue }
            for derivation in kinds.widgetKinds(showing: entities[entity].kind) {
                let kind = derivation.kind
                guard let id = kind.widgetID(ofActivity: String(key.id)), !kind.instances.contains(id),
                    let widgetKey = Key(kind: derivation.name, id: id), hasPlace(widgetKey, in: kind)
                else { continue }
                if let known = entities.index(of: widgetKey), exists(known), !isGone(known) { continue }
                missing.append(widgetKey)
            }
        }
        return missing
    }
}
