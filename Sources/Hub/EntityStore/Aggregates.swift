internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel

/// The levels of all aggregates: values over the present activities, updated by each commit.
///
/// They are not state: they follow from the activities and the kinds in force, and a start recomputes them. To undo a change, the
/// undo log sets the former contribution again.
///
/// Invariants:
/// - The levels of each group follow from its slots.
/// - Between two batches ``told`` is empty.
struct Aggregates: Sendable {
    /// Indexed by the numbers of ``KindTable/aggregateKinds``.
    private var kinds: [KindLevels] = []
    /// The numbers of aggregates by the versions of their widget kinds.
    private var numbers: [Int: Int] = [:]
    /// Indexed by activity, then by the positions of the aggregates over its kind.
    private var members: [[AggregateSlot]] = []
    /// Widgets with a value that changed in the current batch. They are updated once at its end, because hundreds of events may
    /// change the same one.
    private var reports: [Report] = []
    /// The changes of these widgets for followers, in the order of commits.
    private var settled: [Change] = []
    /// The number of keys of aggregate widgets by kind name, including those that are gone and not yet forgotten.
    private var keyCounts: [Int32: Int] = [:]
    private(set) var keyCount = 0

    var isEmpty: Bool { kinds.isEmpty }

    /// A widget with a value that changed.
    struct Report: Sendable {
        var widget: EntityIndex
        var number: Int
        /// -1 = its last activity has left since.
        var group: Int32
        /// The newest commit that changed a value.
        var rev: Int64
        var asOf: Timestamp
    }

    /// A group whose activities changed.
    struct ChangedGroup {
        var id: String
        var configuration: JSON
        var memberCount: Int
        /// A value changed.
        var isChanged: Bool
        /// Its widget, if it had one when the widget was last updated.
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

    /// The number of the group that an activity is in; `nil` = none.
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

    /// Replaces one part of an activity's contribution.
    ///
    /// - Returns: The former part, and whether the value of its group changed; `nil` if the part is the same.
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
    /// - Returns: The groups that it left or joined.
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
            if state.reported >= 0 { reports[Int(state.reported)].group = -1 }
            kinds[number].removeGroup(group)
        }
        return result
    }

    /// The group of an activity, marked as changed; `nil` if the activity is in none.
    func changedGroup(of entity: EntityIndex, in number: Int) -> ChangedGroup? {
        guard let group = group(of: entity, in: number).map({ kinds[number].groups[Int($0)] }) else { return nil }
        return ChangedGroup(
            id: group.id, configuration: group.configuration, memberCount: group.memberCount, isChanged: true,
            widget: group.widget)
    }

    /// Stores the index of a group's widget, so that the next commit finds it directly.
    mutating func note(_ widget: EntityIndex?, of group: String, in number: Int) {
        guard kinds.indices.contains(number), let group = kinds[number].number(of: group) else { return }
        kinds[number].note(widget, of: group)
    }

    // MARK: Updates at the end of a batch

    var hasReports: Bool { !reports.isEmpty }

    /// The widget of the group that an activity is in.
    func widget(of entity: EntityIndex, in number: Int) -> EntityIndex? {
        group(of: entity, in: number).flatMap { kinds[number].groups[Int($0)].widget }
    }

    /// Records that the commit `rev` changed a value of an activity's group.
    ///
    /// - Precondition: The group has a widget.
    mutating func report(_ entity: EntityIndex, in number: Int, rev: Int64, asOf: Timestamp) {
        guard let group = group(of: entity, in: number) else { return }
        report(group, in: number, rev: rev, asOf: asOf)
    }

    mutating func report(_ id: String, in number: Int, rev: Int64, asOf: Timestamp) {
        guard let group = kinds[number].number(of: id) else { return }
        report(group, in: number, rev: rev, asOf: asOf)
    }

    private mutating func report(_ group: Int32, in number: Int, rev: Int64, asOf: Timestamp) {
        let known = Int(kinds[number].groups[Int(group)].reported)
        if known >= 0 {
            (reports[known].rev, reports[known].asOf) = (rev, asOf)
        } else if let widget = kinds[number].groups[Int(group)].widget {
            kinds[number].setReported(Int32(reports.count), of: group)
            reports.append(Report(widget: widget, number: number, group: group, rev: rev, asOf: asOf))
        }
    }

    /// Returns and clears ``told``, in the order of commits.
    mutating func takeReports() -> [Report] {
        var taken: [Report] = []
        swap(&taken, &reports)
        for one in taken where one.group >= 0 { kinds[one.number].setReported(-1, of: one.group) }
        taken.sort { ($0.rev, $0.widget.rawValue) < ($1.rev, $1.widget.rawValue) }
        return taken
    }

    /// Clears ``told``, because the batch is undone.
    mutating func dropReports() {
        _ = takeReports()
        settled = []
    }

    func aggregate(_ number: Int) -> WidgetAggregate { kinds[number].aggregate }

    mutating func noteSettled(_ change: Change) { settled.append(change) }

    mutating func takeSettled() -> [Change] {
        defer { settled = [] }
        return settled
    }

    // MARK: Values

    /// The values of a group without its tallies; `nil` if it has no activity.
    func values(of id: String, in version: Int) -> JSONObject? {
        guard let number = numbers[version], let group = kinds[number].number(of: id) else { return nil }
        return kinds[number].groups[Int(group)].values(kinds[number].aggregate)
    }

    /// The values of a group without activities.
    func emptyValues(in version: Int) -> JSONObject { numbers[version].map { kinds[$0].emptyValues } ?? JSONObject() }

    /// The configurations of the groups with activities, by their ids.
    func groups(in version: Int) -> [(id: String, configuration: JSON)] {
        guard let number = numbers[version] else { return [] }
        return kinds[number].present.map { ($0.id, $0.configuration) }.sorted { $0.0 < $1.0 }
    }

    /// The first values of a parameter among the groups with activities, in byte order, and how many more there are.
    func firstValues(of parameter: String, in version: Int, limit: Int) -> (values: [String], more: Int) {
        guard let number = numbers[version],
            let values = kinds[number].values.first(where: { $0.parameter == parameter })
        else { return ([], 0) }
        let first = values.first(limit)
        return (first, values.total - first.count)
    }

    /// The configurations of these activities' groups.
    func configurations(of members: [EntityIndex], in version: Int) -> [JSON] {
        guard let number = numbers[version] else { return [] }
        return Set(members.compactMap { group(of: $0, in: number) }).map { kinds[number].groups[Int($0)].configuration }
    }

    func configuration(of id: String, in version: Int) -> JSON? {
        guard let number = numbers[version], let group = kinds[number].number(of: id) else { return nil }
        return kinds[number].groups[Int(group)].configuration
    }

    /// The values over those `members` that are in the group.
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
