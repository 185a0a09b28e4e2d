public import TelltaleModel
internal import TelltaleStatechart

/// The circumstances of a device under which a view is drawn, for its variants.
public struct Circumstances: Hashable, Sendable {
    public var surface: Surface
    public var mode = WidgetMode.fullColor
    public var isBackgroundRemoved = false
    public var isSimplified = false
    public var isDark = false
    public var isLuminanceReduced = false
    public var hasAccount = true

    /// The usual ones on a surface.
    public init(surface: Surface) {
        self.surface = surface
    }

    fileprivate func holds(_ name: String, _ value: String) -> Bool {
        switch name {
        case "surface": value == surface.rawValue
        case "mode": value == mode.rawValue
        case "background": value == (isBackgroundRemoved ? "removed" : "kept")
        case "detail": value == (isSimplified ? "simplified" : "full")
        case "appearance": value == (isDark ? "dark" : "light")
        case "luminance": value == (isLuminanceReduced ? "reduced" : "normal")
        case "account": value == (hasAccount ? "some" : "none")
        default: false
        }
    }
}

/// `when` of a variant: all of its members hold.
struct ViewCondition: Sendable {
    /// What it asks of the device: a circumstance, and its values of which one holds.
    var device: [(name: String, values: [String])] = []
    var activity = StateCondition()

    /// The circumstances that there are, each with its values.
    static let values: [(name: String, values: [String])] = [
        ("surface", Surface.allCases.map(\.rawValue)), ("mode", WidgetMode.allCases.map(\.rawValue)),
        ("background", ["kept", "removed"]), ("detail", ["full", "simplified"]), ("appearance", ["light", "dark"]),
        ("luminance", ["normal", "reduced"]), ("account", ["some", "none"]),
    ]

    func holds(_ circumstances: Circumstances, _ context: TemplateContext) -> Bool {
        device.allSatisfy { member in member.values.contains { circumstances.holds(member.name, $0) } }
            && activity.holds(in: context)
    }

    /// What a view with this condition depends on.
    var circumstances: CircumstanceSet {
        device.reduce(into: []) { set, member in
            switch member.name {
            case "appearance": set.insert(.darkness)
            case "luminance": set.insert(.reducedLuminance)
            case "account": set.insert(.noAccount)
            // The others are the same for all devices of a surface.
            default: break
            }
        }
    }
}

/// What a `when` asks of the activity: E2, E3.
struct StateCondition: Sendable {
    /// One of these states is active; empty if it does not matter.
    var states: [String] = []
    /// It is true.
    var condition: Guard?
    /// It is not true.
    var exception: Guard?

    static let names = ["state", "guard", "unless"]

    var isEmpty: Bool { states.isEmpty && condition == nil && exception == nil }

    func holds(in context: TemplateContext) -> Bool { holds(for: context.subject) }

    /// - Parameter subject: `nil` without an activity.
    func holds(for subject: GuardSubject?) -> Bool {
        if isEmpty { return true }
        guard let subject else { return states.isEmpty && condition == nil }
        return (states.isEmpty || subject.isActive(anyOf: states))
            && (condition.map { $0.holds(for: subject) == true } ?? true)
            && exception.map { $0.holds(for: subject) == true } != true
    }
}
