public import Kinds
public import TelltaleModel

/// Settings for the behaviour that Apple's documentation leaves open, with the recommended choice as the default
/// (Protocols/Surfaces/rules.md, section 13).
public struct SurfaceSettings: Hashable, Sendable {
    /// The order of activities in a list.
    public enum Order: String, Hashable, Sendable {
        /// By relevance score, then by start, earliest first (C7).
        case relevance
        /// By the last alert, newest first, then as `relevance`.
        case alert
    }

    /// The presentation in CarPlay of an activity without the small family.
    public enum CarPlayFallback: String, Hashable, Sendable {
        /// The compact halves, joined: iOS 26.
        case compact
        /// The Lock Screen presentation, cut off: iOS 27 (Q9).
        case lockScreen
    }

    /// The view that a selected item of the menu bar opens.
    public enum DesktopSelection: String, Hashable, Sendable {
        case lockScreen, expanded
    }

    /// The order on the watch, in CarPlay and on the desktop (Q8; Protocols/Line/line-protocol.md §6).
    public var order = Order.relevance
    /// The order of apps on the Lock Screen (Q7). Within an app it is always by relevance, then by start.
    public var lockScreenOrder = Order.alert
    /// The order of apps in the Dynamic Island: the first gets the attached presentation, the second the detached one,
    /// others none (Q6, C8).
    public var islandOrder = Order.alert
    /// Q9.
    public var carPlayFallback = CarPlayFallback.compact
    /// Q10.
    public var desktopSelection = DesktopSelection.lockScreen
    /// Whether an alert opens the desktop's panel for a moment (Q11); otherwise it is drawn in place.
    public var opensDesktopPanel = true
    /// Whether an alert fills a display in StandBy for a moment (Q27).
    public var fillsStandBy = true
    /// Whether StandBy keeps the minimal presentation while an ended activity lingers (3.3).
    public var keepsEndedInStandBy = true
    /// Whether an activity that was stale from its start is hidden everywhere until it becomes active (Q26, L3).
    public var hidesStaleFromStart = true
    /// Whether an always-on display hides the private parts of widgets although the device is unlocked (W76).
    public var hidesPrivateAlwaysOn = true
    /// Where relevant widgets that nobody placed are shown, besides the watch's Smart Stack (W44).
    public var relevancePlaces: Set<WidgetPlace> = []

    /// How long a smart stack keeps the tile that a person chose (W41).
    public var stackHold = Milliseconds.minutes(15)

    public init() {}

    /// Adds all settings to `hash`.
    public func combine(into hash: inout StableHash) {
        for order in [order, lockScreenOrder, islandOrder] { hash.combine(order.rawValue) }
        hash.combine(carPlayFallback.rawValue)
        hash.combine(desktopSelection.rawValue)
        for choice in [opensDesktopPanel, fillsStandBy, keepsEndedInStandBy, hidesStaleFromStart] {
            hash.combine(choice ? "yes" : "no")
        }
        // Only if it is not the default, so that cursors of releases without widgets stay valid.
        if !hidesPrivateAlwaysOn { hash.combine("alwaysOnPrivate") }
        if stackHold != .minutes(15) { hash.combine(UInt64(bitPattern: stackHold.count)) }
        for place in WidgetPlace.allCases where relevancePlaces.contains(place) {
            hash.combine("relevanceOn \(place.rawValue)")
        }
    }
}
