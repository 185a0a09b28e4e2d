internal import Machines
public import TelltaleModel

/// What one device shows of the activities that it can see: the rules of rules.md 3.3, 3.5 and 3.8.
///
/// Pure, and without a clock: the same activities in the same situation give the same placements.
public enum Projection {
    /// Places every activity.
    ///
    /// - Parameters:
    ///   - foreground: The interned app of ``Traits/foreground``, where activities of it may exist.
    ///   - competing: Whether the activities compete for the places of one device (a subscription of an account's). If not,
    ///     each is placed as if it were alone.
    /// - Returns: A placement for each activity, in their order.
    public static func project(
        surface: Surface, traits: Traits, foreground: Int32? = nil, activities: [VisibleActivity],
        settings: SurfaceSettings = SurfaceSettings(), competing: Bool
    ) -> [Placement] {
        var placements = [Placement](repeating: .hidden, count: activities.count)
        let scene = Scene(surface: surface, traits: traits, foreground: foreground, settings: settings)
        var candidates: [Candidate] = []
        if competing { candidates.reserveCapacity(activities.count) }
        for position in activities.indices where scene.shows(activities[position]) {
            candidates.append(Candidate(activity: activities[position], position: position))
            if !competing {
                scene.place(&candidates, in: &placements)
                candidates.removeAll(keepingCapacity: true)
            }
        }
        if competing { scene.place(&candidates, in: &placements) }
        return placements
    }

    /// How this device draws an alert of an activity; `nil` = not at all.
    ///
    /// Independent of the row: on CarPlay the notification comes exactly when there is none, and on a phone or a pad whose row
    /// has nothing to draw it with, being locked or the activity's end, it is the sound and the light alone (3.3).
    public static func alertStyle(
        of activity: VisibleActivity, surface: Surface, traits: Traits, foreground: Int32? = nil,
        settings: SurfaceSettings = SurfaceSettings()
    ) -> AlertStyle? {
        let scene = Scene(surface: surface, traits: traits, foreground: foreground, settings: settings)
        // One that is dismissed alerts: the alert came before, and may have waited for this device.
        guard activity.lifecycle != .pending, !scene.withholds(activity) else { return nil }
        switch surface {
        case .phone, .pad:
            // The owner app is being used: its own screen tells more (3.3, column F).
            if let foreground, foreground == activity.app { return nil }
            return scene.hasIsland ? .expanded : .banner
        case .watch: return .alert
        case .carplay: return traits.isDashboardHidden && !traits.isFocusOn ? .notification : nil
        case .desktop: return settings.opensDesktopPanel ? .panel : nil
        case .standby, .vision: return nil
        }
    }

    /// What `OPEN` shows: what a desktop's menu bar opens, on whatever surface. ``Placement/hidden`` = nothing, because the
    /// surface shows the activity in no situation.
    public static func opened(
        _ activity: VisibleActivity, surface: Surface, traits: Traits, settings: SurfaceSettings = SurfaceSettings()
    ) -> Placement {
        // The situation does not matter: an alert can be opened where there is no row just now.
        let scene = Scene(surface: surface, traits: Traits(), foreground: nil, settings: settings)
        guard scene.shows(activity) else { return .hidden }
        // Inactive until the person authenticates, and in a car always (3.5).
        let options: Placement.Options = traits.isLocked || surface == .carplay ? [] : .interactive
        return switch settings.desktopSelection {
        case .lockScreen: Placement(.lockScreen, order: 1, options: options)
        case .expanded: Placement(.expanded, order: 1, options: options)
        }
    }
}
