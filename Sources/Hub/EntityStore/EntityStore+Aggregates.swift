internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

// Widgets that tell many activities together (`over`).
extension EntityStore {
    /// Lets the aggregates of a kind follow an activity.
    mutating func accumulate(
        _ activity: EntityIndex, _ former: ActivityBox?, _ box: ActivityBox, _ reader: AggregateReader,
        _ index: Int, _ kind: WidgetKind, _ aggregate: WidgetAggregate, sequence: Int64,
        _ derived: inout DerivedChanges
    ) {
        let old = aggregates.contribution(of: activity, to: index)
        let new = reader.contribution(to: aggregate, parameters: kind.parameters, former: old)
        let amounts = old == nil ? [] : tallied(aggregate, former, box)
        guard old != new || !amounts.isEmpty else { return }
        var changed: [Aggregates.ChangedGroup] = []
        if old != new {
            noteContribution(old, of: activity, in: index)
            changed = changeAggregates { $0.set(new, of: activity, in: index) }
            noteFaults((new?.faultCount ?? 0) - (old?.faultCount ?? 0), of: activity)
        }
        if !amounts.isEmpty, let old, !changed.contains(where: { $0.id == old.group }) {
            changed.append(
                Aggregates.ChangedGroup(
                    id: old.group, configuration: old.configuration, memberCount: 1, isChanged: false))
        }
        for group in changed {
            let grown = group.id == old?.group ? amounts : []
            tell(group, grown, index, kind, aggregate, sequence: sequence, &derived)
        }
    }

    /// By how much each tally grows; empty where none does.
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
        _ group: Aggregates.ChangedGroup, _ amounts: [(name: String, amount: Int64)], _ index: Int,
        _ kind: WidgetKind, _ aggregate: WidgetAggregate, sequence: Int64, _ derived: inout DerivedChanges
    ) {
        if let place = group.widget, group.memberCount > 0, case .widget(var widget) = entities[place].state,
            entities[place].kind == index,
            !widget.isGone
        {
            // Nearly always: its widget stays, for whom it was.
            guard group.isChanged || !amounts.isEmpty else { return }
            widget.tally(amounts, aggregate, at: time)
            recordUndo(of: place)
            update(place) { entity in
                entity.state = .widget(widget)
                entity.rev = sequence
            }
            derived.changes.append(Change(entity: place, isWidget: true, commit: sequence))
            return
        }
        guard let key = Key(kind: kinds.versions[index].name, id: group.id) else { return }
        let known = entities.index(of: key)
        let current = known.flatMap { self.widget(at: $0) }.flatMap { $0.isGone ? nil : $0 }
        let isKept = current != nil && !aggregate.tallies.isEmpty
        let stays = group.memberCount > 0 || !amounts.isEmpty || isKept || kind.instances.contains(group.id)
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
        recordUndo(of: place)
        put(widget, at: place, kind: index, rev: sequence, sequence: sequence)
        changeAggregates { $0.note(stays ? place : nil, of: group.id, in: index) }
        derived.changes.append(Change(entity: place, isWidget: true, commit: sequence))
    }

    // MARK: Limits

    /// How many more groups the widgets of a kind may tell.
    func groupRoom(of kind: Substring) -> Int {
        let own = entities.kindNumbers.known(String(kind)).map { aggregates.keyCount(ofKind: $0) } ?? 0
        return max(0, min(settings.groupsPerKind - own, settings.groups - aggregates.keyCount))
    }

    /// Counts the widget at `entity` as a group, once more or once less.
    mutating func countGroup(at entity: EntityIndex, by difference: Int) {
        guard case .widget(let widget) = entities[entity].state, widget.isAggregate else { return }
        let name = entities[entity].kindName
        changeAggregates { $0.countKey(ofKind: name, by: difference) }
    }

    // MARK: Rows

    /// The values of an aggregate now, but its tallies.
    ///
    /// - Parameter account: Whose devices are shown them; `nil` = every account's.
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

    /// Computes the levels anew: after a start, and when other kinds are in force.
    mutating func rebuildAggregates() {
        guard kinds.hasAggregates || !aggregates.isEmpty else { return }
        changeAggregates { $0.removeAll() }
        for index in kinds.inForceIndices {
            guard case .widget(let kind) = kinds.versions[index].body, case .over(let aggregate) = kind.source else {
                continue
            }
            changeAggregates { $0.begin(index, aggregate) }
            for entity in entities.existing {
                guard let box = activity(at: entity), kinds.versions[entities[entity].kind].name == aggregate.kind,
                    let contribution = AggregateReader(box.value).contribution(
                        to: aggregate, parameters: kind.parameters, former: nil)
                else { continue }
                _ = changeAggregates { $0.set(contribution, of: entity, in: index) }
            }
        }
    }
}
