/// A situation of a device that it may report with `TRAIT` (line-protocol.md §8). The first value of each is the default.
public enum TraitName: String, CaseIterable, Hashable, Sendable {
    case dashboard, foreground, locked, wrist, light, luminance, focus, standby

    /// The values, as they are written; `foreground` takes the name of an app too.
    public var values: String {
        switch self {
        case .dashboard: "visible|hidden"
        case .foreground: "none|APP"
        case .locked: "no|yes"
        case .wrist: "up|down"
        case .light: "normal|low"
        case .luminance: "normal|reduced"
        case .focus: "off|on"
        case .standby: "off|on|tapped"
        }
    }

    public func takes(_ value: String) -> Bool {
        switch self {
        case .foreground: !value.isEmpty
        case .dashboard, .locked, .wrist, .light, .luminance, .focus, .standby:
            values.split(separator: "|").contains { $0.utf8.elementsEqual(value.utf8) }
        }
    }
}
