internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel

/// Every kind in force, and every older version that a key still uses.
struct KindTable: Sendable {
    /// All versions, by the index that instances hold.
    private(set) var versions: [Kind] = []
    /// The version in force of each kind, by name.
    private(set) var current: [String: Int] = [:]
    /// The number of each version's app, within which activities compete.
    private(set) var appNumbers: [Int32] = []
    /// Whether any version is a kind of widget.
    private(set) var hasWidgets = false
    /// For each version, whether its activities bring their own controls.
    private var ownControls: [Bool] = []
    /// For each version, the kinds of widgets in force that show its activities, in the order of their names.
    private var derivations: [[Derivation]] = []
    /// For each version, the aggregates in force over its activities.
    private var aggregations: [Aggregation?] = []
    /// The widgets that stacks may suggest, in the order of their keys: the first of those named by the kinds in force.
    private(set) var suggested: [SuggestedWidget] = []
    /// The keys of these and of those in former versions, in their order.
    private(set) var everSuggested: [Key] = []
    /// The kinds in force whose widgets come and go by relevance, with the family in which a watch shows them.
    private(set) var visiting: [Substring: WidgetFamily] = [:]
    /// The names of such kinds, including former versions.
    private(set) var everVisiting: Set<Substring> = []
    /// Differs for each set of kinds that takes effect.
    private(set) var generation = 0
    private var apps = Interner()

    /// The versions in force, as their indices, in the order of their names.
    var inForceIndices: [Int] { current.keys.sorted().compactMap { current[$0] } }

    /// The kinds in force, in the order of their names.
    var inForce: [Kind] { current.keys.sorted().compactMap { name in current[name].map { versions[$0] } } }

    init() {}

    /// The table of a snapshot.
    ///
    /// - Precondition: `inForce` holds indices of `versions`.
    init(versions: [Kind], inForce: [Int]) {
        for kind in versions { append(kind) }
        for index in inForce { current[versions[index].name] = index }
        findDerivations()
    }

    /// Puts `kinds` in force. Earlier versions keep their index.
    mutating func adopt(_ kinds: [Kind]) {
        current = [:]
        for kind in kinds {
            if let known = versions.firstIndex(where: { $0.name == kind.name && $0.source == kind.source }) {
                current[kind.name] = known
            } else {
                current[kind.name] = versions.count
                append(kind)
            }
        }
        findDerivations()
    }

    /// JSON has no greater whole number that every reader understands.
    private static let greatestVersion = (1 << 53) - 1

    /// The kinds with a new version for each text that is new, for files that are changed without one. A text that was known
    /// before gets its version back.
    func revised(_ kinds: [Kind]) -> [Kind] {
        kinds.map { kind in
            let known = versions.filter { $0.name == kind.name }
            if let same = known.last(where: { $0.differsInVersionAlone(from: kind) }) { return same }
            guard let newest = known.map(\.version).max(), kind.version <= newest, newest < Self.greatestVersion else {
                return kind
            }
            return kind.withVersion(newest + 1)
        }
    }

    private mutating func findSuggestions() {
        generation += 1
        suggested = inForceIndices.flatMap { suggestions(of: $0) }.sorted { $0.widget < $1.widget }
        if suggested.count > SuggestedWidget.limit { suggested.removeLast(suggested.count - SuggestedWidget.limit) }
        let ever = Set(versions.indices.flatMap { suggestions(of: $0) }.map(\.widget)).sorted()
        everSuggested = Array(ever.prefix(4 * SuggestedWidget.limit))
        findVisiting()
    }

    private mutating func findVisiting() {
        (visiting, everVisiting) = ([:], [])
        let inForce = Set(current.values)
        for index in versions.indices {
            guard case .widget(let kind) = versions[index].body, kind.isVisiting else { continue }
            let name = versions[index].name[...]
            everVisiting.insert(name)
            guard inForce.contains(index) else { continue }
            // A watch has no room for the other families.
            visiting[name] = kind.families.first { WidgetScene.isOffered(kind, $0, at: .smartStack, on: .watch) }
        }
    }

    private func suggestions(of index: Int) -> [SuggestedWidget] {
        guard case .widget(let kind) = versions[index].body, kind.isSuggested, !kind.isEach else { return [] }
        return kind.instances.compactMap { id in
            guard let key = Key(kind: versions[index].name, id: id), let configuration = kind.configuration(ofID: id)
            else { return nil }
            return SuggestedWidget(widget: key, configuration: configuration, families: kind.families)
        }
    }

    private mutating func findDerivations() {
        findSuggestions()
        for index in derivations.indices where !derivations[index].isEmpty { derivations[index] = [] }
        for widget in inForceIndices {
            guard case .widget(let kind) = versions[widget].body, !kind.isAggregate, let name = kind.activityKind else {
                continue
            }
            let derivation = Derivation(index: widget, name: versions[widget].name, kind: kind)
            for index in versions.indices where versions[index].name == name { derivations[index].append(derivation) }
        }
        aggregateKinds = inForceIndices.compactMap { index in
            guard case .widget(let kind) = versions[index].body, let aggregate = kind.aggregate else { return nil }
            return AggregateKind(index: index, name: versions[index].name, kind: kind, aggregate: aggregate)
        }
        for index in versions.indices {
            guard case .activity(let activity) = versions[index].body else { continue }
            aggregations[index] = Aggregation(aggregateKinds, of: activity, named: versions[index].name)
        }
    }

    /// The number of an app that has kinds.
    func number(ofApp name: String) -> Int32? { apps.known(name) }

    /// Whether the activities of a version bring their own controls.
    func hasOwnControls(_ version: Int) -> Bool { ownControls[version] }

    /// Whether widgets show the activities of a version.
    @inline(__always)
    func areShownByWidgets(_ version: Int) -> Bool { !derivations[version].isEmpty || aggregations[version] != nil }
    /// Whether a kind of aggregate widgets is in force.
    var hasAggregates: Bool { !aggregateKinds.isEmpty }
    var hasDerivedWidgets: Bool { hasAggregates || derivations.contains { !$0.isEmpty } }
    /// The kinds in force of widgets that show one activity.
    func widgetKinds(showing version: Int) -> [Derivation] { derivations[version] }
    /// The aggregates in force over the activities of a version; `nil` = none.
    func aggregation(of version: Int) -> Aggregation? { aggregations[version] }
    /// All aggregates in force, in the order of their names.
    private(set) var aggregateKinds: [AggregateKind] = []

    private mutating func append(_ kind: Kind) {
        versions.append(kind)
        derivations.append([])
        aggregations.append(nil)
        if case .activity(let activity) = kind.body {
            ownControls.append(activity.views.hasOwnControls)
        } else {
            ownControls.append(false)
        }
        if case .widget = kind.body { hasWidgets = true }
        appNumbers.append(apps.retain(kind.app))
    }
}

/// A kind of widgets that show one activity each.
struct Derivation: Sendable {
    /// Its version.
    let index: Int
    let name: String
    let kind: WidgetKind
}

/// A kind of widgets that aggregate many activities. A class, because each commit reads it.
final class AggregateKind: Sendable {
    /// Its version.
    let index: Int
    let name: String
    let kind: WidgetKind
    let aggregate: WidgetAggregate

    init(index: Int, name: String, kind: WidgetKind, aggregate: WidgetAggregate) {
        (self.index, self.name, self.kind, self.aggregate) = (index, name, kind, aggregate)
    }
}

/// The aggregates over the activities of one kind.
final class Aggregation: Sendable {
    let plan: AggregatePlan
    /// The aggregates, with what each reads and its number among all aggregates.
    let kinds: [Member]

    struct Member: Sendable {
        let kind: AggregateKind
        let number: Int
        let reads: AggregatePlan.Reads
        let all: UInt64
    }

    /// - Parameters:
    ///   - all: The kinds in force, in the order of their numbers.
    ///   - name: The name of the activities' kind.
    /// - Returns: `nil` if there is no aggregate over it.
    init?(_ all: [AggregateKind], of activity: ActivityKind, named name: String) {
        let own = all.enumerated().filter { $0.element.aggregate.kind == name }
        guard !own.isEmpty else { return nil }
        plan = AggregatePlan(own.map(\.element.aggregate), of: activity)
        kinds = zip(own, plan.reads).map { own, reads in
            Member(kind: own.element, number: own.offset, reads: reads, all: reads.all)
        }
    }
}

/// Why kinds cannot take effect.
public enum KindRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// A kind was removed from the folder while activities or controls of it exist.
    case stillInUse(kind: String, count: Int)
    /// The same kind and version now has another text.
    case changedWithoutVersion(kind: String, version: Int)
    /// A kind changed its type while keys of the old type exist.
    case changedType(kind: String, from: String, to: String)

    public var description: String {
        switch self {
        case .stillInUse(let kind, let count):
            "kind \(kind) is gone, but \(count) of it exist; put its file back, or end and dismiss them first"
        case .changedWithoutVersion(let kind, let version):
            "kind \(kind) version \(version) was loaded before with another text; give the new text a new version"
        case .changedType(let kind, let from, let to):
            "kind \(kind) was of type \(from) and is of type \(to) now, but some of it exist; give the new one another name"
        }
    }
}

extension Kind {
    fileprivate func differsInVersionAlone(from other: Kind) -> Bool {
        guard name == other.name, var own = source.object, var text = other.source.object else { return false }
        (own["version"], text["version"]) = (nil, nil)
        return own == text
    }

    fileprivate func withVersion(_ version: Int) -> Kind {
        var text = source.object ?? JSONObject()
        text["version"] = .integer(Int64(version))
        return Kind(name: name, version: version, app: app, title: title, body: body, source: .object(text))
    }

    /// Whether its views contain controls.
    var showsControls: Bool {
        switch body {
        case .activity(let activity): activity.views.showsControls
        case .widget(let widget): widget.showsControls
        case .toggle, .button: false
        }
    }

    /// It is a kind of toggle or button.
    var isControl: Bool {
        switch body {
        case .toggle, .button: true
        case .activity, .widget: false
        }
    }

    /// Whether a connection can act for it (`SERVE`): a kind of control, or of widgets that a provider loads.
    var isServed: Bool {
        if case .widget(let widget) = body { widget.isRefreshed } else { isControl }
    }

    /// The noun for people, used after "is".
    var noun: String {
        switch body {
        case .activity: "a live activity"
        case .toggle, .button: "a control"
        case .widget: "a widget"
        }
    }
}
