internal import Kinds
internal import Machines
public import TelltaleModel

/// Decides how one device shows the activities that it may see: Protocols/Surfaces/rules.md 3.3, 3.5 and 3.8.
///
/// Pure, and without a clock: the same activities in the same situation give the same placements.
public enum Projection {
    /// Places every activity.
    ///
    /// - Parameters:
    ///   - foreground: The interned app of ``Traits/foreground``, if activities of it may exist.
    ///   - competing: Whether the activities compete for the places of one device (a subscription with an account). If
    ///     not, each is placed as if it were alone.
    ///   - hasAccount: Whether the subscription or the connection has an account; if they compete, it has.
    ///   - limit: How many activities the device shows. Those with a higher ``Placement/order`` do not affect the others; the
    ///     caller drops them.
    /// - Returns: A placement for each activity, in the order of `activities`.
    public static func project(
        surface: Surface, traits: Traits, foreground: Int32? = nil, activities: [VisibleActivity],
        settings: SurfaceSettings = SurfaceSettings(), competing: Bool, hasAccount: Bool = true, limit: Int = .max
    ) -> [Placement] {
        var placements = [Placement](repeating: .hidden, count: activities.count)
        let scene = Scene(
            surface: surface, traits: traits, foreground: foreground, settings: settings, limit: limit,
            hasAccount: hasAccount)
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
        for position in activities.indices where !activities[position].circumstances.isEmpty {
            scene.setCircumstances(of: &placements[position], activities[position])
        }
        return placements
    }

    /// Places an activity that competes with no other.
    public static func placeAlone(
        _ activity: VisibleActivity, surface: Surface, traits: Traits, foreground: Int32? = nil,
        settings: SurfaceSettings = SurfaceSettings(), hasAccount: Bool = true
    ) -> Placement {
        guard surface == .watch || surface == .carplay else {
            let placements = project(
                surface: surface, traits: traits, foreground: foreground, activities: [activity], settings: settings,
                competing: false, hasAccount: hasAccount)
            return placements.first ?? .hidden
        }
        // The list of one activity, which needs no order.
        let scene = Scene(
            surface: surface, traits: traits, foreground: foreground, settings: settings, hasAccount: hasAccount)
        guard scene.shows(activity) else { return .hidden }
        var placement = scene.inStack(activity, order: 1)
        scene.setCircumstances(of: &placement, activity)
        return placement
    }

    /// A placement under the circumstances that the views of its activity depend on now: they may follow the state, which
    /// moves no activity.
    public static func renewed(
        _ placement: Placement, of activity: VisibleActivity, surface: Surface, traits: Traits,
        settings: SurfaceSettings,
        hasAccount: Bool
    ) -> Placement {
        var placement = placement
        (placement.restCircumstances, placement.alertCircumstances) = ([], [])
        Scene(surface: surface, traits: traits, foreground: nil, settings: settings, hasAccount: hasAccount)
            .setCircumstances(of: &placement, activity)
        return placement
    }

    /// The style of an activity's alert on this device; `nil` if it is not drawn.
    ///
    /// It does not depend on the row. In CarPlay the notification is drawn only without a row. On a phone or a pad that
    /// is locked, or after the activity has ended, only sound and light remain (3.3).
    public static func alertStyle(
        of activity: VisibleActivity, surface: Surface, traits: Traits, foreground: Int32? = nil,
        settings: SurfaceSettings = SurfaceSettings()
    ) -> AlertStyle? {
        let scene = Scene(surface: surface, traits: traits, foreground: foreground, settings: settings)
        // A dismissed activity may alert: the alert preceded the dismissal and may have waited for this device.
        guard activity.lifecycle != .pending, !scene.withholds(activity) else { return nil }
        switch surface {
        case .phone, .pad:
            // The owner app is in front and shows the change itself (3.3, column F).
            if let foreground, foreground == activity.app { return nil }
            return scene.hasIsland ? .expanded : .banner
        case .watch: return .alert
        case .carplay: return traits.isDashboardHidden && !traits.isFocusOn ? .notification : nil
        case .desktop: return settings.opensDesktopPanel ? .panel : nil
        case .standby, .vision: return nil
        }
    }

    /// The view that `OPEN` shows, on any surface: the one that a desktop's menu bar opens. ``Placement/hidden`` if the
    /// surface never shows the activity.
    public static func opened(
        _ activity: VisibleActivity, surface: Surface, traits: Traits, settings: SurfaceSettings = SurfaceSettings()
    ) -> Placement {
        // The situation does not matter, because an alert can be opened while its activity has no row.
        let scene = Scene(surface: surface, traits: Traits(), foreground: nil, settings: settings)
        guard scene.shows(activity) else { return .hidden }
        // Buttons are inactive until the person authenticates, and always in a car (3.5).
        let options: Placement.Options = traits.isLocked || surface == .carplay ? [] : .interactive
        let presentation: Presentation =
            switch settings.desktopSelection {
            case .lockScreen: .lockScreen
            case .expanded: .expanded
            }
        var placement = Placement(presentation, order: 1, options: options)
        Scene(surface: surface, traits: traits, foreground: nil, settings: settings)
            .setCircumstances(of: &placement, activity)
        return placement
    }
}
