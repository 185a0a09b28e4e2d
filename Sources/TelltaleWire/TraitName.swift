/// A property of a device's situation, reported with `TRAIT` (Protocols/Line/line-protocol.md §8). The first value of
/// each is the default.
public enum TraitName: String, CaseIterable, Hashable, Sendable {
    case dashboard, foreground, locked, show, wrist, light, luminance, focus, standby, island
    case tint, appearance, desktop, distance, touch, screen, place, fitness, sleep, headphones, motion

    /// The possible values as text; `foreground` accepts the name of an app, and `tint` a colour, too.
    public var values: String {
        switch self {
        case .dashboard: "visible|hidden"
        case .foreground: "none|APP"
        case .locked: "no|yes"
        case .show: "unlocked|locked"
        case .wrist: "up|down"
        case .light: "normal|low"
        case .luminance: "normal|reduced"
        case .focus: "off|on"
        case .standby: "off|on|tapped"
        case .island: "auto|yes|no"
        case .tint: "none|clear|COLOUR"
        case .appearance: "light|dark"
        case .desktop: "front|behind"
        case .distance: "near|far"
        case .touch: "yes|no"
        case .screen: "on|off"
        case .place: "none|home|work|school|commute"
        case .fitness: "none|workout|rings"
        case .sleep: "none|bedtime|wakeup"
        case .headphones: "off|on"
        case .motion: "full|reduced"
        }
    }

    public func takes(_ value: String) -> Bool {
        switch self {
        case .foreground, .tint: !value.isEmpty
        case .dashboard, .locked, .show, .wrist, .light, .luminance, .focus, .standby, .island, .appearance, .desktop,
            .distance, .touch, .screen, .place, .fitness, .sleep, .headphones, .motion:
            // By bytes: finding characters took a third of the time to read a line.
            values.utf8.split(separator: UInt8(ascii: "|")).contains { $0.elementsEqual(value.utf8) }
        }
    }
}
