internal import Kinds
internal import TelltaleModel

/// Every kind in force, and every older version that some instance still lives by.
struct KindTable: Sendable {
    /// All versions, by the index that instances hold.
    private(set) var versions: [Kind] = []
    /// The version in force of each kind, by name.
    private(set) var current: [String: Int] = [:]
    /// The number of each version's app: what activities compete by.
    private(set) var appNumbers: [Int32] = []
    /// Whether any version is a kind of widget.
    private(set) var hasWidgets = false
    /// Of each version, whether its activities bring controls of their own.
    private var ownControls: [Bool] = []
    /// Of each version, the versions in force of the kinds of widgets that show its activities, in the order of their
    /// names.
    private var derivations: [[Derivation]] = []
    private var apps = Interner()

    /// The versions in force, as their indices, in the order of their names.
    var inForceIndices: [Int] { current.keys.sorted().compactMap { current[$0] } }

    /// The kinds in force, in the order of their names.
    var inForce: [Kind] { current.keys.sorted().compactMap { name in current[name].map { versions[$0] } } }

    init() {}

    /// The table that a snapshot describes.
    ///
    /// - Precondition: `inForce` holds indices of `versions`.
    init(versions: [Kind], inForce: [Int]) {
        for kind in versions { append(kind) }
        for index in inForce { current[versions[index].name] = index }
        findDerivations()
    }

    /// Puts `kinds` in force. Versions that were there before keep their index.
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

    private mutating func findDerivations() {
        for index in derivations.indices where !derivations[index].isEmpty { derivations[index] = [] }
        hasAggregates = false
        for widget in inForceIndices {
            if case .widget(let kind) = versions[widget].body, kind.aggregate != nil { hasAggregates = true }
            guard case .widget(let kind) = versions[widget].body, let name = kind.activityKind else { continue }
            let derivation = Derivation(
                index: widget, name: versions[widget].name, kind: kind, aggregate: kind.aggregate)
            for index in versions.indices where versions[index].name == name { derivations[index].append(derivation) }
        }
    }

    /// The index of the version that a snapshot names, which is added when it is not there.
    mutating func index(of kind: Kind) -> Int {
        if let known = versions.firstIndex(where: { $0.name == kind.name && $0.source == kind.source }) { return known }
        append(kind)
        return versions.count - 1
    }

    /// The number of an app of which there are kinds.
    func number(ofApp name: String) -> Int32? { apps.known(name) }

    /// Whether the activities of a version bring controls of their own.
    func hasOwnControls(_ version: Int) -> Bool { ownControls[version] }

    /// Whether widgets show the activities of a version.
    @inline(__always)
    func areShownByWidgets(_ version: Int) -> Bool { !derivations[version].isEmpty }
    /// Whether a kind in force is of widgets that tell many activities together.
    private(set) var hasAggregates = false
    var hasDerivedWidgets: Bool { derivations.contains { !$0.isEmpty } }
    /// The kinds in force of these widgets.
    func widgetKinds(showing version: Int) -> [Derivation] { derivations[version] }

    private mutating func append(_ kind: Kind) {
        versions.append(kind)
        derivations.append([])
        if case .activity(let activity) = kind.body {
            ownControls.append(activity.views.hasOwnControls)
        } else {
            ownControls.append(false)
        }
        if case .widget = kind.body { hasWidgets = true }
        appNumbers.append(apps.retain(kind.app))
    }
}

/// A kind of widgets that show activities.
struct Derivation: Sendable {
    /// Its version.
    let index: Int
    let name: String
    let kind: WidgetKind
    /// Of one that tells many activities together.
    let aggregate: WidgetAggregate?
}

/// Why kinds cannot take effect.
public enum KindRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// A kind is gone from the folder while activities or controls of it exist.
    case stillInUse(kind: String, count: Int)
    /// The same kind and version stands there with another text.
    case changedWithoutVersion(kind: String, version: Int)
    /// A kind became another type of thing while something of the old type exists.
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
    /// Controls stand in its views.
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

    /// The noun for people, behind "is".
    var noun: String {
        switch body {
        case .activity: "a live activity"
        case .toggle, .button: "a control"
        case .widget: "a widget"
        }
    }
}
