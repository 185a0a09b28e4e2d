internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel

/// The levels of all aggregates: values of the activities that are there now, kept up by each commit.
///
/// They are no state: they follow from the activities and the kinds in force, and a start computes them again. An open
/// transaction takes a change back by giving the former contribution again.
///
/// Invariants:
/// - The levels of each group are what the slots make of it.
/// - Between two batches ``told`` is empty.
struct Aggregates: Sendable {
    /// By their numbers, which are those of ``KindTable/aggregateKinds``.
    private var kinds: [KindLevels] = []
    /// Their numbers by the versions of the kinds of widgets.
    private var numbers: [Int: Int] = [:]
    /// By the indices of activities, and then by the places of the kinds over theirs.
    private var members: [[AggregateSlot]] = []
    /// Widgets of which a value changed in the batch under way. They take it at the batch's end: hundreds of events change
    /// the same one.
    private var told: [Told] = []
    /// The changes of these for followers, in the order of commits.
    private var settled: [Change] = []
    /// The keys of widgets that tell activities together, those included that are gone and not yet forgotten; by their
    /// kinds' names.
    private var keyCounts: [Int32: Int] = [:]
    private(set) var keyCount = 0

    var isEmpty: Bool { kinds.isEmpty }

    /// A widget of which a value changed.
    struct Told: Sendable {
        var widget: EntityIndex
        var number: Int
        /// -1 = its last activity has left since.
        var group: Int32
        /// The newest commit that did.
        var rev: Int64
        var asOf: Timestamp
    }

    /// A group whose activities changed.
    struct ChangedGroup {
        var id: String
        var configuration: JSON
        var memberCount: Int
        /// A value is another one.
        var isChanged: Bool
        /// Its widget, where it had one when it was told last.
        var widget: EntityIndex?
    }

    // MARK: Keys

    func keyCount(ofKind name: Int32) -> Int { keyCounts[name] ?? 0 }

    mutating func countKey(ofKind name: Int32, by difference: Int) {
        let count = keyCount(ofKind: name) + difference
        keyCounts[name] = count == 0 ? nil : count
        keyCount += difference
    }

    // MARK: Kinds

    /// Forgets the levels.
    mutating func removeAll() { (kinds, numbers, members) = ([], [:], []) }

    mutating func begin(_ version: Int, _ aggregate: WidgetAggregate, place: Int, placeCount: Int) {
        numbers[version] = kinds.count
        kinds.append(KindLevels(aggregate, place: place, placeCount: placeCount))
    }

    // MARK: Changes

    /// The number of the group in which an activity counts; `nil` where it does not.
    private func group(of entity: EntityIndex, in number: Int) -> Int32? {
        let row = Int(entity.rawValue)
        guard row < members.count, number < kinds.count else { return nil }
        let place = kinds[number].place
        guard place < members[row].count, members[row][place].group >= 0 else { return nil }
        return members[row][place].group
    }

    func counts(_ entity: EntityIndex, in number: Int) -> Bool { group(of: entity, in: number) != nil }

    func contribution(of entity: EntityIndex, to number: Int) -> Contribution? {
        guard let group = group(of: entity, in: number) else { return nil }
        return Contribution(
            group: kinds[number].groups[Int(group)].id, configuration: kinds[number].groups[Int(group)].configuration,
            parts: members[Int(entity.rawValue)][kinds[number].place].parts)
    }

    /// Replaces one part of an activity that counts.
    ///
    /// - Returns: The former part, and whether the value of its group is another one; `nil` where the part is the same.
    mutating func replace(
        _ part: Contribution.Part, at value: Int, of entity: EntityIndex, in number: Int
    ) -> (former: Contribution.Part, isOther: Bool)? {
        let (row, place) = (Int(entity.rawValue), kinds[number].place)
        let former = members[row][place].parts[value]
        guard former != part else { return nil }
        members[row][place].parts[value] = part
        let group = members[row][place].group
        let isOther = kinds[number].change(value, of: group, from: former, to: part, of: entity, members)
        return (former, isOther)
    }

    /// Replaces the contribution of an activity.
    ///
    /// - Returns: The groups that it left and joined.
    mutating func set(_ contribution: Contribution?, of entity: EntityIndex, in number: Int) -> [ChangedGroup] {
        guard kinds.indices.contains(number) else { return [] }
        let formerGroup = group(of: entity, in: number)
        guard formerGroup != nil || contribution != nil else { return [] }
        let (row, place) = (Int(entity.rawValue), kinds[number].place)
        while members.count <= row { members.append([]) }
        while members[row].count < kinds[number].placeCount { members[row].append(AggregateSlot()) }
        let group = contribution.map { kinds[number].open($0.group, $0.configuration) } ?? -1
        let former = members[row][place].parts
        members[row][place] = AggregateSlot(group: group, parts: contribution?.parts ?? [])
        if formerGroup == group {
            return [change(group, from: former, to: contribution?.parts, of: entity, in: number)]
        }
        var changed: [ChangedGroup] = []
        if let formerGroup { changed.append(change(formerGroup, from: former, to: nil, of: entity, in: number)) }
        if let contribution {
            changed.append(change(group, from: nil, to: contribution.parts, of: entity, in: number))
        }
        return changed
    }

    private mutating func change(
        _ group: Int32, from old: [Contribution.Part]?, to new: [Contribution.Part]?, of entity: EntityIndex,
        in number: Int
    ) -> ChangedGroup {
        kinds[number].countMember(of: group, by: (new == nil ? 0 : 1) - (old == nil ? 0 : 1))
        var isChanged = false
        for value in kinds[number].aggregate.values.indices {
            let (before, after) = (old?[value] ?? .nothing, new?[value] ?? .nothing)
            guard before != after else { continue }
            if kinds[number].change(value, of: group, from: before, to: after, of: entity, members) { isChanged = true }
        }
        let state = kinds[number].groups[Int(group)]
        let result = ChangedGroup(
            id: state.id, configuration: state.configuration, memberCount: state.memberCount, isChanged: isChanged,
            widget: state.widget)
        if state.memberCount == 0 {
            if state.told >= 0 { told[Int(state.told)].group = -1 }
            kinds[number].close(group)
        }
        return result
    }

    /// The group of an activity that counts, of which a value is another one.
    func changedGroup(of entity: EntityIndex, in number: Int) -> ChangedGroup? {
        guard let group = group(of: entity, in: number).map({ kinds[number].groups[Int($0)] }) else { return nil }
        return ChangedGroup(
            id: group.id, configuration: group.configuration, memberCount: group.memberCount, isChanged: true,
            widget: group.widget)
    }

    /// Notes where the widget of a group stands, so that the next commit finds it at once.
    mutating func note(_ widget: EntityIndex?, of group: String, in number: Int) {
        guard kinds.indices.contains(number), let group = kinds[number].number(of: group) else { return }
        kinds[number].note(widget, of: group)
    }

    // MARK: Told at the end of a batch

    var hasTold: Bool { !told.isEmpty }

    /// The widget of the group of an activity that counts.
    func widget(of entity: EntityIndex, in number: Int) -> EntityIndex? {
        group(of: entity, in: number).flatMap { kinds[number].groups[Int($0)].widget }
    }

    /// The commit `rev` changed a value of the group of an activity.
    ///
    /// - Precondition: The group has a widget.
    mutating func tell(_ entity: EntityIndex, in number: Int, rev: Int64, asOf: Timestamp) {
        guard let group = group(of: entity, in: number) else { return }
        tell(group, in: number, rev: rev, asOf: asOf)
    }

    mutating func tell(_ id: String, in number: Int, rev: Int64, asOf: Timestamp) {
        guard let group = kinds[number].number(of: id) else { return }
        tell(group, in: number, rev: rev, asOf: asOf)
    }

    private mutating func tell(_ group: Int32, in number: Int, rev: Int64, asOf: Timestamp) {
        let known = Int(kinds[number].groups[Int(group)].told)
        if known >= 0 {
            (told[known].rev, told[known].asOf) = (rev, asOf)
        } else if let widget = kinds[number].groups[Int(group)].widget {
            kinds[number].setTold(Int32(told.count), of: group)
            told.append(Told(widget: widget, number: number, group: group, rev: rev, asOf: asOf))
        }
    }

    /// Takes ``told``, in the order of commits.
    mutating func takeTold() -> [Told] {
        var taken: [Told] = []
        swap(&taken, &told)
        for one in taken where one.group >= 0 { kinds[one.number].setTold(-1, of: one.group) }
        taken.sort { ($0.rev, $0.widget.rawValue) < ($1.rev, $1.widget.rawValue) }
        return taken
    }

    /// A batch is taken back.
    mutating func dropTold() {
        _ = takeTold()
        settled = []
    }

    func aggregate(_ number: Int) -> WidgetAggregate { kinds[number].aggregate }

    mutating func noteSettled(_ change: Change) { settled.append(change) }

    mutating func takeSettled() -> [Change] {
        defer { settled = [] }
        return settled
    }

    // MARK: Values

    /// The values of a group but its tallies; `nil` where no activity is in it.
    func values(of id: String, in version: Int) -> JSONObject? {
        guard let number = numbers[version], let group = kinds[number].number(of: id) else { return nil }
        return kinds[number].groups[Int(group)].values(kinds[number].aggregate)
    }

    /// The values of a group with no activity in it.
    func emptyValues(in version: Int) -> JSONObject { numbers[version].map { kinds[$0].emptyValues } ?? JSONObject() }

    /// The configurations of the groups with activities, by their ids.
    func groups(in version: Int) -> [(id: String, configuration: JSON)] {
        guard let number = numbers[version] else { return [] }
        return kinds[number].present.map { ($0.id, $0.configuration) }.sorted { $0.0 < $1.0 }
    }

    /// The first values of a parameter among the groups with activities, by their bytes, and how many more there are.
    func firstValues(of parameter: String, in version: Int, limit: Int) -> (values: [String], more: Int) {
        guard let number = numbers[version],
            let values = kinds[number].values.first(where: { $0.parameter == parameter })
        else { return ([], 0) }
        let first = values.first(limit)
        return (first, values.total - first.count)
    }

    /// The configurations of the groups that these activities are in.
    func configurations(of members: [EntityIndex], in version: Int) -> [JSON] {
        guard let number = numbers[version] else { return [] }
        return Set(members.compactMap { group(of: $0, in: number) }).map { kinds[number].groups[Int($0)].configuration }
    }

    func configuration(of id: String, in version: Int) -> JSON? {
        guard let number = numbers[version], let group = kinds[number].number(of: id) else { return nil }
        return kinds[number].groups[Int(group)].configuration
    }

    /// The values of those of `members` that are in a group.
    func values(of id: String, in version: Int, among members: some Sequence<EntityIndex>) -> JSONObject {
        guard let number = numbers[version] else { return JSONObject() }
        var alone = Aggregates()
        alone.begin(version, kinds[number].aggregate, place: 0, placeCount: 1)
        for entity in members {
            guard let contribution = contribution(of: entity, to: number), contribution.group == id else { continue }
            _ = alone.set(contribution, of: entity, in: 0)
        }
        return alone.values(of: id, in: version) ?? alone.emptyValues(in: version)
    }
}
