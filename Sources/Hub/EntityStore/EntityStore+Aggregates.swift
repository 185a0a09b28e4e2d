internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

// Widgets that aggregate many activities (`over`).
extension EntityStore {
    /// Updates the aggregates over a kind after a change of one activity.
    mutating func accumulate(
        _ activity: EntityIndex, _ former: ActivityBox?, _ box: ActivityBox, _ aggregation: Aggregation,
        sequence: Int64, _ derived: inout DerivedChanges
    ) {
        let changes = former.map { aggregation.plan.changes(of: box.value, since: $0.value) } ?? .max
        var reader: AggregateReader?
        for member in aggregation.kinds where changes & member.all != 0 {
            let read = reader ?? box.aggregateReader
            reader = read
            if changes & (member.reads.membership | member.reads.tallies) == 0 {
                follow(activity, read, member, changes, sequence: sequence, &derived)
            } else {
                accumulate(activity, former, box, read, member, sequence: sequence, &derived)
            }
        }
    }

    /// Updates the parts of an activity's contribution that may have changed, if it stays in the same group.
    private mutating func follow(
        _ activity: EntityIndex, _ reader: AggregateReader, _ member: Aggregation.Member, _ changes: UInt64,
        sequence: Int64, _ derived: inout DerivedChanges
    ) {
        let number = member.number
        guard aggregates.counts(activity, in: number) else { return }
        var (isChanged, faultCount) = (false, 0)
        for (value, reads) in member.reads.values.enumerated() where changes & reads != 0 {
            let part = reader.part(of: member.kind.aggregate.values[value])
            guard
                let (formerPart, isOther) = changeAggregates({ $0.replace(part, at: value, of: activity, in: number) })
            else { continue }
            // There are at most 64 aggregates of 16 values.
            note(.part(activity, number: Int16(number), value: Int16(value), formerPart))
            if isOther { isChanged = true }
            faultCount += (part == .fault ? 1 : 0) - (formerPart == .fault ? 1 : 0)
        }
        noteFaults(faultCount, of: activity)
        guard isChanged else { return }
        if let widget = aggregates.widget(of: activity, in: number), isToldLater(widget, member.kind.index) {
            let time = time
            changeAggregates { $0.tell(activity, in: number, rev: sequence, asOf: time) }
        } else if let group = aggregates.changedGroup(of: activity, in: number) {
            tell(group, [], member, sequence: sequence, &derived)
        }
    }

    /// Whether a widget exists and uses a version of its kind.
    private func isToldLater(_ widget: EntityIndex, _ version: Int) -> Bool {
        guard entities[widget].kind == version, entities[widget].dismissedAt == nil else { return false }
        if case .widget = entities[widget].state { return true }
        return false
    }

    private mutating func accumulate(
        _ activity: EntityIndex, _ former: ActivityBox?, _ box: ActivityBox, _ reader: AggregateReader,
        _ member: Aggregation.Member, sequence: Int64, _ derived: inout DerivedChanges
    ) {
        let (number, aggregate) = (member.number, member.kind.aggregate)
        let old = aggregates.contribution(of: activity, to: number)
        let new = reader.contribution(to: aggregate, parameters: member.kind.kind.parameters)
        let amounts = old == nil ? [] : tallied(aggregate, former, box)
        guard old != new || !amounts.isEmpty else { return }
        var changed: [Aggregates.ChangedGroup] = []
        if old != new {
            note(.contributed(activity, number: number, old))
            changed = changeAggregates { $0.set(new, of: activity, in: number) }
            noteFaults((new?.faultCount ?? 0) - (old?.faultCount ?? 0), of: activity)
        }
        if !amounts.isEmpty, let old, !changed.contains(where: { $0.id == old.group }) {
            changed.append(
                Aggregates.ChangedGroup(
                    id: old.group, configuration: old.configuration, memberCount: 1, isChanged: false))
        }
        for group in changed {
            let grown = group.id == old?.group ? amounts : []
            tell(group, grown, member, sequence: sequence, &derived)
        }
    }

    /// How much each tally grows; empty if none does.
    private mutating func tallied(
        _ aggregate: WidgetAggregate, _ former: ActivityBox?, _ box: ActivityBox
    ) -> [(name: String, amount: Int64)] {
        guard !aggregate.tallies.isEmpty, let former else { return [] }
        var faultCount = 0
        var amounts: [(name: String, amount: Int64)] = []
        for (name, tally) in aggregate.tallies
        where box.value.isIn(state: tally.state) && !former.value.isIn(state: tally.state) {
            guard let amount = box.value.amount(of: tally) else {
                faultCount += 1
                continue
            }
            if amount != 0 { amounts.append((name, amount)) }
        }
        if faultCount > 0 { noteFault { $0.noteFaults(faultCount, of: box.value.key) } }
        return amounts
    }

    private mutating func noteFaults(_ count: Int, of activity: EntityIndex) {
        guard count > 0, let key = entities[activity].key else { return }
        noteFault { $0.noteFaults(count, of: key) }
    }

    private mutating func tell(
        _ group: Aggregates.ChangedGroup, _ amounts: [(name: String, amount: Int64)], _ member: Aggregation.Member,
        sequence: Int64, _ derived: inout DerivedChanges
    ) {
        let (index, kind, aggregate) = (member.kind.index, member.kind.kind, member.kind.aggregate)
        let (number, time) = (member.number, time)
        if amounts.isEmpty, group.memberCount > 0, let place = group.widget, isToldLater(place, index) {
            // The common case: its widget stays, for the same accounts.
            if group.isChanged { changeAggregates { $0.tell(group.id, in: number, rev: sequence, asOf: time) } }
            return
        }
        // It needs the state before this commit.
        settleAggregates()
        guard let key = Key(kind: kinds.versions[index].name, id: group.id) else { return }
        let known = entities.index(of: key)
        let current = known.flatMap { self.widget(at: $0) }.flatMap { $0.isGone ? nil : $0 }
        let isKept = current != nil && !aggregate.tallies.isEmpty
        let stays =
            group.memberCount > 0 || !amounts.isEmpty || isKept || kind.instances.contains(group.id)
            || boards.hasTiles(on: key)
        guard current == nil || group.isChanged || !amounts.isEmpty || !stays else { return }
        guard stays || current != nil else { return }
        if current == nil, known.map({ self.widget(at: $0) == nil }) ?? true, groupRoom(of: key.kind) == 0 {
            let wall = wall
            return noteFault { $0.noteRefusedGroup(key, at: wall) }
        }
        var widget =
            current ?? Widget(configuration: group.configuration, tallies: aggregate.tallies.map(\.name), at: time)
        if stays {
            widget.tally(amounts, aggregate, at: time)
        } else {
            widget.leave()
        }
        let place = known ?? intern(key)
        put(widget, at: place, kind: index, rev: sequence, sequence: sequence)
        changeAggregates { $0.note(stays ? place : nil, of: group.id, in: number) }
        derived.changes.append(Change(entity: place, isWidget: true, commit: sequence))
    }

    // MARK: The end of a batch

    /// Updates the widgets with a changed value to the newest commit that changed one. A replay calls this after each record,
    /// with the same result.
    ///
    /// - Precondition: No record is being applied; its refusal would undo what this notes in the undo log.
    mutating func settleAggregates() {
        guard aggregates.hasTold else { return }
        for told in changeAggregates({ $0.takeTold() }) {
            guard case .widget(var widget) = entities[told.widget].state else { continue }
            widget.tally([], aggregates.aggregate(told.number), at: told.asOf)
            mutate(told.widget, isPlaceKept: true) { entity in
                entity.state = .widget(widget)
                entity.rev = told.rev
            }
            let change = Change(entity: told.widget, isWidget: true, commit: told.rev)
            changeAggregates { $0.noteSettled(change) }
        }
    }

    /// The changes of this batch to widgets that were updated after their records, in the order of commits.
    mutating func settledChanges() -> [Change] {
        settleAggregates()
        return changeAggregates { $0.takeSettled() }
    }

    // MARK: Limits

    /// How many more groups the widgets of a kind may show.
    func groupRoom(of kind: Substring) -> Int {
        let own = entities.kindNumbers.known(String(kind)).map { aggregates.keyCount(ofKind: $0) } ?? 0
        return max(0, min(settings.groupsPerKind - own, settings.groups - aggregates.keyCount))
    }

    /// Whether a tile may open another group of a kind that no activity has opened. Tiles open at most half of the allowed
    /// groups, so that boards cannot use up those of activities.
    func hasRoomForTile(on kind: Substring) -> Bool {
        guard let index = widgetVersion(named: kind), case .widget(let body) = kinds.versions[index].body,
            body.aggregate != nil
        else { return true }
        let own = entities.kindNumbers.known(String(kind)).map { aggregates.keyCount(ofKind: $0) } ?? 0
        return own < (settings.groupsPerKind + 1) / 2 && aggregates.keyCount < (settings.groups + 1) / 2
    }

    // MARK: Rows

    /// The current values of an aggregate, without its tallies.
    ///
    /// - Parameter account: The account whose devices show them; `nil` = every account.
    func values(ofAggregate entity: EntityIndex, _ aggregate: WidgetAggregate, for account: String?) -> JSONObject {
        guard let key = entities[entity].key else { return JSONObject() }
        let (index, group) = (entities[entity].kind, String(key.id))
        guard let account, !aggregate.isForAll else {
            return aggregates.values(of: group, in: index) ?? aggregates.emptyValues(in: index)
        }
        guard let number = entities.kindNumbers.known(aggregate.kind) else { return aggregates.emptyValues(in: index) }
        let visible = accounts.visible(to: account, kind: number).filter { isVisible($0, to: account) }
        return aggregates.values(of: group, in: index, among: visible)
    }

    // MARK: Kinds and starts

    /// Recomputes the levels after a start and when other kinds take effect.
    mutating func rebuildAggregates() {
        guard kinds.hasAggregates || !aggregates.isEmpty else { return }
        changeAggregates { $0.removeAll() }
        let kinds = kinds.aggregateKinds
        var places: [String: Int] = [:]
        for kind in kinds {
            let place = places[kind.aggregate.kind, default: 0]
            places[kind.aggregate.kind] = place + 1
            let count = kinds.count { $0.aggregate.kind == kind.aggregate.kind }
            changeAggregates { $0.begin(kind.index, kind.aggregate, place: place, placeCount: count) }
        }
        for entity in entities.existing {
            guard let box = activity(at: entity), let aggregation = self.kinds.aggregation(of: entities[entity].kind)
            else { continue }
            let reader = box.aggregateReader
            for member in aggregation.kinds {
                let new = reader.contribution(to: member.kind.aggregate, parameters: member.kind.kind.parameters)
                if let new { _ = changeAggregates { $0.set(new, of: entity, in: member.number) } }
            }
        }
    }
}
