internal import FanOut
internal import HeapModule
internal import Kinds
internal import Machines
internal import TelltaleModel

/// The levels of all aggregates: values of the activities that are there now, kept up by each commit.
///
/// They are no state: they follow from the activities and the kinds in force, and a start computes them again. An open
/// transaction takes a change back by giving the former contribution again.
///
/// - Invariant: `groups` is what the contributions make of it.
struct Aggregates: Sendable {
    /// By the version of the kind of widget.
    private var kinds: [Int: KindLevels] = [:]
    /// The keys of widgets that tell activities together, those included that are gone and not yet forgotten; by their
    /// kinds' names.
    private var keyCounts: [Int32: Int] = [:]
    private(set) var keyCount = 0

    var isEmpty: Bool { kinds.isEmpty }

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

    /// Forgets the levels.
    mutating func removeAll() { kinds = [:] }
    func keyCount(ofKind name: Int32) -> Int { keyCounts[name] ?? 0 }

    mutating func countKey(ofKind name: Int32, by difference: Int) {
        let count = keyCount(ofKind: name) + difference
        keyCounts[name] = count == 0 ? nil : count
        keyCount += difference
    }

    mutating func begin(_ kind: Int, _ aggregate: WidgetAggregate) { kinds[kind] = KindLevels(aggregate) }

    func contribution(of entity: EntityIndex, to kind: Int) -> Contribution? { kinds[kind]?.contributions[entity] }

    /// Replaces the contribution of an activity.
    ///
    /// - Returns: The groups that it left and joined.
    mutating func set(_ contribution: Contribution?, of entity: EntityIndex, in kind: Int) -> [ChangedGroup] {
        kinds[kind]?.set(contribution, of: entity) ?? []
    }

    /// Notes where the widget of a group stands, so that the next commit finds it at once.
    mutating func note(_ widget: EntityIndex?, of group: String, in kind: Int) { kinds[kind]?.note(widget, of: group) }

    /// The values of a group but its tallies; `nil` where no activity is in it.
    func values(of group: String, in kind: Int) -> JSONObject? {
        guard let levels = kinds[kind], let group = levels.groups[group] else { return nil }
        return group.values(levels.aggregate)
    }

    /// The values of a group with no activity in it.
    func emptyValues(in kind: Int) -> JSONObject { kinds[kind]?.emptyValues ?? JSONObject() }

    /// The configurations of the groups with activities, by their ids.
    func groups(in kind: Int) -> [(id: String, configuration: JSON)] {
        (kinds[kind]?.groups ?? [:]).map { ($0.key, $0.value.configuration) }.sorted { $0.id < $1.id }
    }

    func configuration(of group: String, in kind: Int) -> JSON? { kinds[kind]?.groups[group]?.configuration }

    /// The values of those of `members` that are in a group.
    func values(of group: String, in kind: Int, among members: some Sequence<EntityIndex>) -> JSONObject {
        guard var alone = kinds[kind]?.empty else { return JSONObject() }
        for entity in members {
            guard let contribution = kinds[kind]?.contributions[entity], contribution.group == group else { continue }
            _ = alone.set(contribution, of: entity)
        }
        return alone.groups[group]?.values(alone.aggregate) ?? alone.emptyValues
    }
}

/// The levels of one kind of widget.
private struct KindLevels: Sendable {
    let aggregate: WidgetAggregate
    private(set) var contributions: [EntityIndex: Contribution] = [:]
    private(set) var groups: [String: GroupLevels] = [:]
    let emptyValues: JSONObject

    init(_ aggregate: WidgetAggregate) {
        self.aggregate = aggregate
        emptyValues = GroupLevels(configuration: .null, count: aggregate.values.count).values(aggregate)
    }

    mutating func note(_ widget: EntityIndex?, of group: String) { groups[group]?.widget = widget }

    var empty: KindLevels { KindLevels(aggregate) }

    mutating func set(_ contribution: Contribution?, of entity: EntityIndex) -> [Aggregates.ChangedGroup] {
        let former = contributions[entity]
        guard former != contribution else { return [] }
        contributions[entity] = contribution
        if let former, let contribution, former.group == contribution.group {
            return [change(former.group, contribution.configuration, former.parts, contribution.parts, entity)]
        }
        var changed: [Aggregates.ChangedGroup] = []
        if let former { changed.append(change(former.group, former.configuration, former.parts, nil, entity)) }
        if let contribution {
            changed.append(change(contribution.group, contribution.configuration, nil, contribution.parts, entity))
        }
        return changed
    }

    private mutating func change(
        _ id: String, _ configuration: JSON, _ old: [Contribution.Part]?, _ new: [Contribution.Part]?,
        _ entity: EntityIndex
    ) -> Aggregates.ChangedGroup {
        let count = aggregate.values.count
        var result = Aggregates.ChangedGroup(id: id, configuration: configuration, memberCount: 0, isChanged: false)
        // In place: levels are larger than what changes in them.
        Self.change(&groups[id, default: GroupLevels(configuration: configuration, count: count)]) { group in
            group.memberCount += (new == nil ? 0 : 1) - (old == nil ? 0 : 1)
            for index in 0..<count {
                let (before, after) = (old?[index] ?? .nothing, new?[index] ?? .nothing)
                guard before != after else { continue }
                let isOther = group.levels[index].change(
                    from: before, to: after, of: entity, aggregate.values[index].measure
                ) { other, part in contributions[other].map { $0.group == id && $0.parts[index] == part } ?? false }
                if isOther { result.isChanged = true }
            }
            (result.memberCount, result.widget) = (group.memberCount, group.widget)
        }
        if result.memberCount == 0 { groups[id] = nil }
        return result
    }

    private static func change(_ group: inout GroupLevels, _ body: (inout GroupLevels) -> Void) { body(&group) }
}

private struct GroupLevels: Sendable {
    let configuration: JSON
    var memberCount = 0
    var levels: [Level]
    var widget: EntityIndex?

    init(configuration: JSON, count: Int) {
        self.configuration = configuration
        levels = Array(repeating: Level(), count: count)
    }

    func values(_ aggregate: WidgetAggregate) -> JSONObject {
        var values = JSONObject()
        for (value, level) in zip(aggregate.values, levels) { values[value.name] = level.value(value.measure) }
        return values
    }
}

/// One value of one group.
private struct Level: Sendable {
    private var count = 0
    private var sum: Int128 = 0
    /// Activities in an order, and such as were there: these are passed over when they come up.
    private var order = Heap<Place>()
    /// Of these, those that are told: the least, the most, or the first ones.
    private var told: [Place] = []

    struct Place: Comparable, Sendable {
        var key: OrderKey
        var entity: EntityIndex
        var shown: JSON

        static func < (left: Place, right: Place) -> Bool {
            left.key != right.key ? left.key < right.key : left.entity.rawValue < right.entity.rawValue
        }

        static func == (left: Place, right: Place) -> Bool {
            left.key == right.key && left.entity == right.entity
        }

        func part(isListed: Bool) -> Contribution.Part { isListed ? .listed(key, shown) : .ordered(key) }
    }

    func value(_ measure: WidgetAggregate.Measure) -> JSON? {
        switch measure {
        case .count: return .integer(Int64(count))
        case .sum: return Millionths.json(sum)
        case .least, .most: return told.first?.key.json
        case .first:
            let items = JSON.array(told.map(\.shown))
            return count > told.count
                ? ["items": items, "more": .integer(Int64(count - told.count))] : ["items": items]
        case .tally: return nil
        }
    }

    /// - Parameter isThere: Whether an activity has this part now.
    /// - Returns: Whether the value is another one.
    mutating func change(
        from old: Contribution.Part, to new: Contribution.Part, of entity: EntityIndex,
        _ measure: WidgetAggregate.Measure, _ isThere: (EntityIndex, Contribution.Part) -> Bool
    ) -> Bool {
        let (formerCount, formerSum, former) = (count, sum, told)
        take(old, by: -1, entity)
        take(new, by: 1, entity)
        switch measure {
        case .count: return count != formerCount
        case .sum: return sum != formerSum
        case .least:
            while let place = order.min, !isThere(place.entity, .ordered(place.key)) { order.removeMin() }
            sweep(isListed: false, isThere)
            told = order.min.map { [$0] } ?? []
            return told.first?.key != former.first?.key
        case .most:
            while let place = order.max, !isThere(place.entity, .ordered(place.key)) { order.removeMax() }
            sweep(isListed: false, isThere)
            told = order.max.map { [$0] } ?? []
            return told.first?.key != former.first?.key
        case .first(let list):
            var first: [Place] = []
            while first.count < list.limit, let place = order.popMin() {
                guard first.last != place, isThere(place.entity, place.part(isListed: true)) else { continue }
                first.append(place)
            }
            for place in first { order.insert(place) }
            sweep(isListed: true, isThere)
            told = first
            return count != formerCount || first.map(\.shown) != former.map(\.shown)
        case .tally: return false
        }
    }

    private mutating func take(_ part: Contribution.Part, by difference: Int, _ entity: EntityIndex) {
        switch part {
        case .nothing, .fault: return
        case .one: break
        case .amount(let amount): sum += Int128(amount) * Int128(difference)
        case .ordered(let key):
            if difference > 0 { order.insert(Place(key: key, entity: entity, shown: .null)) }
        case .listed(let key, let shown):
            if difference > 0 { order.insert(Place(key: key, entity: entity, shown: shown)) }
        }
        count += difference
    }

    /// Drops the places that are no activity's any more, when they may be more than the others.
    private mutating func sweep(isListed: Bool, _ isThere: (EntityIndex, Contribution.Part) -> Bool) {
        guard order.count > 2 * count + 32 else { return }
        var kept: Set<EntityIndex> = []
        order = Heap(
            order.unordered.filter { place in
                isThere(place.entity, place.part(isListed: isListed)) && kept.insert(place.entity).inserted
            })
    }
}
