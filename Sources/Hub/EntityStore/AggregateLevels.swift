internal import FanOut
internal import HeapModule
internal import Kinds
internal import Machines
internal import TelltaleModel

/// The levels of one kind of widget.
struct KindLevels: Sendable {
    let aggregate: WidgetAggregate
    /// Its position among the aggregates over the same kind of activity, and how many these are.
    let place: Int
    let placeCount: Int
    let emptyValues: JSONObject
    private(set) var groups: [Group] = []
    private var numbers: [String: Int32] = [:]
    private var freeNumbers: [Int32] = []
    /// The values of each parameter, for the gallery.
    private(set) var values: [GroupValues]

    /// The activities that share one configuration.
    struct Group: Sendable {
        var id: String
        var configuration: JSON
        var memberCount = 0
        var levels: [Level]
        /// Its widget, if it had one when the widget was last updated.
        var widget: EntityIndex?
        /// Its position in ``Aggregates/reports``; -1 = no value changed in the current batch.
        var reported: Int32 = -1

        func values(_ aggregate: WidgetAggregate) -> JSONObject {
            var values = JSONObject()
            for (value, level) in zip(aggregate.values, levels) { values[value.name] = level.value(value.ranking) }
            return values
        }
    }

    init(_ aggregate: WidgetAggregate, place: Int, placeCount: Int) {
        (self.aggregate, self.place, self.placeCount) = (aggregate, place, placeCount)
        let levels = Array(repeating: Level(), count: aggregate.values.count)
        values = aggregate.groups.map { GroupValues(of: $0.parameter, isAlone: aggregate.groups.count == 1) }
        emptyValues = Group(id: "", configuration: .null, levels: levels).values(aggregate)
    }

    func number(of id: String) -> Int32? { numbers[id] }

    /// The groups with activities.
    var present: [Group] { numbers.values.map { groups[Int($0)] } }

    mutating func open(_ id: String, _ configuration: JSON) -> Int32 {
        if let known = numbers[id] { return known }
        for index in values.indices { values[index].count(configuration, by: 1) }
        let group = Group(
            id: id, configuration: configuration, levels: Array(repeating: Level(), count: aggregate.values.count))
        if let free = freeNumbers.popLast() {
            groups[Int(free)] = group
            numbers[id] = free
            return free
        }
        groups.append(group)
        let number = Int32(groups.count - 1)
        numbers[id] = number
        return number
    }

    /// Drops a group without activities.
    mutating func removeGroup(_ number: Int32) {
        let closed = groups[Int(number)]
        for index in values.indices { values[index].count(closed.configuration, by: -1) }
        numbers[closed.id] = nil
        groups[Int(number)] = Group(id: "", configuration: .null, levels: [])
        freeNumbers.append(number)
    }

    mutating func note(_ widget: EntityIndex?, of number: Int32) { groups[Int(number)].widget = widget }
    mutating func setReported(_ reported: Int32, of number: Int32) { groups[Int(number)].reported = reported }
    mutating func countMember(of number: Int32, by difference: Int) { groups[Int(number)].memberCount += difference }

    /// - Parameter members: The contributions of all activities, after the change.
    /// - Returns: Whether the value changed.
    mutating func change(
        _ value: Int, of number: Int32, from old: Contribution.Part, to new: Contribution.Part,
        of entity: EntityIndex, _ members: [[AggregateSlot]]
    ) -> Bool {
        let place = place
        // The common case, which does not read the other values.
        let ranking = aggregate.values[value].ranking
        if ranking == .sum || ranking == .count {
            return groups[Int(number)].levels[value].change(from: old, to: new, of: entity, ranking) { _, _ in true }
        }
        return groups[Int(number)].levels[value].change(from: old, to: new, of: entity, ranking) {
            other, part in
            let row = Int(other.rawValue)
            return place < members[row].count && members[row][place].group == number
                && members[row][place].parts[value] == part
        }
    }
}

/// The contribution of one activity to one aggregate.
struct AggregateSlot: Sendable {
    /// -1 = it is in no group.
    var group: Int32 = -1
    var parts: [Contribution.Part] = []
}

/// One value of one group.
struct Level: Sendable {
    private var count = 0
    private var sum: Int128 = 0
    /// Activities in rank order. Stale entries are skipped when they come up.
    private var order = Heap<Place>()
    /// Those that the value shows: the least, the most, or the first ones.
    private var reported: [Place] = []

    struct Place: Comparable, Sendable {
        var key: OrderKey
        var entity: EntityIndex
        /// Set for an entry of a list. It makes the order stable, because indices of keys change with a restart.
        var id = ""
        var shown: JSON

        static func < (left: Place, right: Place) -> Bool {
            if left.key != right.key { return left.key < right.key }
            if left.id != right.id { return left.id.utf8.lexicographicallyPrecedes(right.id.utf8) }
            return left.entity.rawValue < right.entity.rawValue
        }

        static func == (left: Place, right: Place) -> Bool {
            left.key == right.key && left.entity == right.entity
        }

        func part(isListed: Bool) -> Contribution.Part { isListed ? .listed(key, id: id, shown) : .ordered(key) }
    }

    func value(_ ranking: WidgetAggregate.Ranking) -> JSON? {
        switch ranking {
        case .count: return .integer(Int64(count))
        case .sum: return Millionths.json(sum)
        case .least, .most: return reported.first?.key.json
        case .first:
            let items = JSON.array(reported.map(\.shown))
            return count > reported.count
                ? ["items": items, "more": .integer(Int64(count - reported.count))] : ["items": items]
        case .tally: return nil
        }
    }

    /// - Parameter isThere: Whether an activity makes this contribution now.
    /// - Returns: Whether the value changed.
    mutating func change(
        from old: Contribution.Part, to new: Contribution.Part, of entity: EntityIndex,
        _ ranking: WidgetAggregate.Ranking, _ isThere: (EntityIndex, Contribution.Part) -> Bool
    ) -> Bool {
        let (formerCount, formerSum) = (count, sum)
        addPart(old, by: -1, entity)
        addPart(new, by: 1, entity)
        switch ranking {
        case .count: return count != formerCount
        case .sum: return sum != formerSum
        case .tally: return false
        case .least, .most, .first: return rank(ranking, isThere, formerCount)
        }
    }

    /// Recomputes which activities the value shows.
    private mutating func rank(
        _ ranking: WidgetAggregate.Ranking, _ isThere: (EntityIndex, Contribution.Part) -> Bool, _ formerCount: Int
    ) -> Bool {
        let former = reported
        switch ranking {
        case .count, .sum, .tally: return false
        case .least:
            while let place = order.min, !isThere(place.entity, .ordered(place.key)) { order.removeMin() }
            sweep(isListed: false, isThere)
            reported = order.min.map { [$0] } ?? []
            return reported.first?.key != former.first?.key
        case .most:
            while let place = order.max, !isThere(place.entity, .ordered(place.key)) { order.removeMax() }
            sweep(isListed: false, isThere)
            reported = order.max.map { [$0] } ?? []
            return reported.first?.key != former.first?.key
        case .first(let limit):
            var first: [Place] = []
            while first.count < limit, let place = order.popMin() {
                guard first.last != place, isThere(place.entity, place.part(isListed: true)) else { continue }
                first.append(place)
            }
            for place in first { order.insert(place) }
            sweep(isListed: true, isThere)
            reported = first
            return count != formerCount || first.map(\.shown) != former.map(\.shown)
        }
    }

    private mutating func addPart(_ part: Contribution.Part, by difference: Int, _ entity: EntityIndex) {
        switch part {
        case .nothing, .fault: return
        case .one: break
        case .amount(let amount): sum += Int128(amount) * Int128(difference)
        case .ordered(let key):
            if difference > 0 { order.insert(Place(key: key, entity: entity, shown: .null)) }
        case .listed(let key, let id, let shown):
            if difference > 0 { order.insert(Place(key: key, entity: entity, id: id, shown: shown)) }
        }
        count += difference
    }

    /// Drops stale places when they may outnumber the others.
    private mutating func sweep(isListed: Bool, _ isThere: (EntityIndex, Contribution.Part) -> Bool) {
        guard order.count > 2 * count + 32 else { return }
        var kept: Set<EntityIndex> = []
        order = Heap(
            order.unordered.filter { place in
                isThere(place.entity, place.part(isListed: isListed)) && kept.insert(place.entity).inserted
            })
    }
}
