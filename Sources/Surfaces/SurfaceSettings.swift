public import TelltaleModel

/// What Apple's sources leave open, with the recommended choice as the default (rules.md, section 13).
public struct SurfaceSettings: Hashable, Sendable {
    /// By what activities stand in a row.
    public enum Order: String, Hashable, Sendable {
        /// The relevance score, then the first started (C7).
        case relevance
        /// The last alerted first, then as `relevance`.
        case alert
    }

    /// What an activity without the small family shows on CarPlay.
    public enum CarPlayFallback: String, Hashable, Sendable {
        /// The compact halves, joined: iOS 26.
        case compact
        /// The Lock Screen presentation, cut off: iOS 27 (rules.md Q9).
        case lockScreen
    }

    /// What a selected item of the menu bar opens.
    public enum DesktopSelection: String, Hashable, Sendable {
        case lockScreen, expanded
    }

    /// The order on the watch, CarPlay and the desktop (Q8; line-protocol.md §6).
    public var order = Order.relevance
    /// The order of apps on the Lock Screen (Q7). Within an app it is always relevance, then the first started.
    public var lockScreenOrder = Order.alert
    /// Which app has the attached minimal presentation, which the detached one, and who is left out (Q6, C8).
    public var islandOrder = Order.alert
    /// Q9.
    public var carPlayFallback = CarPlayFallback.compact
    /// Q10.
    public var desktopSelection = DesktopSelection.lockScreen
    /// An alert opens the desktop's panel for a moment (Q11); otherwise it is drawn where it is.
    public var opensDesktopPanel = true
    /// An alert fills a display in StandBy for a moment (Q27).
    public var fillsStandBy = true
    /// The minimal presentation stays in StandBy while an ended activity lingers (3.3).
    public var keepsEndedInStandBy = true
    /// An activity that was stale from its start is shown nowhere before it becomes active (Q26, L3).
    public var hidesStaleFromStart = true

    public init() {}

    /// Adds all of it to `hash`.
    public func combine(into hash: inout StableHash) {
        for order in [order, lockScreenOrder, islandOrder] { hash.combine(order.rawValue) }
        hash.combine(carPlayFallback.rawValue)
        hash.combine(desktopSelection.rawValue)
        for choice in [opensDesktopPanel, fillsStandBy, keepsEndedInStandBy, hidesStaleFromStart] {
            hash.combine(choice ? "yes" : "no")
        }
    }
}
