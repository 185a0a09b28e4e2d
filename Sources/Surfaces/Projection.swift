internal import Machines
public import Model

/// What one device shows of the activities that it can see: the rules of apple-domain.md 3.3, 3.5 and 3.8.
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
        if competing {
            var candidates: [Int] = []
            candidates.reserveCapacity(activities.count)
            for position in activities.indices where scene.shows(activities[position]) { candidates.append(position) }
            scene.place(candidates, of: activities, in: &placements)
        } else {
            for position in activities.indices where scene.shows(activities[position]) {
                scene.place([position], of: activities, in: &placements)
            }
        }
        return placements
    }

    /// How this device draws an alert of an activity of `app`; `nil` = not at all.
    ///
    /// Independent of the row: on CarPlay the notification comes exactly when there is no row.
    public static func alertStyle(
        surface: Surface, traits: Traits, app: Int32, foreground: Int32? = nil,
        settings: SurfaceSettings = SurfaceSettings()
    ) -> AlertStyle? {
        switch surface {
        // The owner app is being used: its own screen tells more (3.3, column F).
        case .phone, .pad:
            if let foreground, foreground == app { return nil }
            return surface == .phone && traits.hasIsland ? .expanded : .banner
        case .watch: return .alert
        case .carplay: return traits.isDashboardHidden && !traits.isFocusOn ? .notification : nil
        case .desktop: return settings.opensDesktopPanel ? .panel : nil
        case .standby, .vision: return nil
        }
    }

    /// What `OPEN` of an item of the menu bar shows.
    public static func opened(settings: SurfaceSettings = SurfaceSettings()) -> Placement {
        switch settings.desktopSelection {
        case .lockScreen: Placement(.lockScreen, order: 1, options: .interactive)
        case .expanded: Placement(.expanded, order: 1, options: .interactive)
        }
    }
}

/// One device in one situation.
private struct Scene {
    let surface: Surface
    let traits: Traits
    let foreground: Int32?
    let settings: SurfaceSettings

    /// Whether the surface may show it at all, whatever else there is.
    func shows(_ activity: VisibleActivity) -> Bool {
        switch activity.lifecycle {
        case .pending, .dismissed: return false
        case .active, .stale, .ended: break
        }
        if activity.isWithheld, settings.hidesStaleFromStart { return false }
        switch surface {
        case .phone, .pad, .desktop: return true
        case .standby: return activity.isLive || settings.keepsEndedInStandBy
        // With another app in front the Smart Stack is not there (3.3).
        case .watch: return traits.foreground == nil
        case .carplay: return activity.isLive && !traits.isDashboardHidden
        case .vision: return false
        }
    }

    func place(_ candidates: [Int], of activities: [VisibleActivity], in placements: inout [Placement]) {
        switch surface {
        case .phone, .pad: placeOnLockScreen(candidates, of: activities, in: &placements)
        case .watch, .carplay:
            let sorted = sorted(candidates, of: activities, by: settings.order)
            for (rank, position) in sorted.enumerated() {
                placements[position] = inStack(activities[position], order: rank + 1)
            }
        case .desktop:
            let tops = tops(of: candidates, activities, by: settings.order)
            for (rank, position) in tops.enumerated() {
                placements[position] = Placement(tops.count == 1 ? .compact : .minimal, order: rank + 1)
            }
        case .standby:
            guard let top = tops(of: candidates, activities, by: settings.islandOrder).first else { return }
            placements[top] = inStandBy(activities[top])
        case .vision: break
        }
    }

    // MARK: One activity

    private func inStack(_ activity: VisibleActivity, order: Int) -> Placement {
        var options: Placement.Options = []
        if surface == .watch {
            if traits.isWristDown || traits.isLuminanceReduced { options.insert(.luminanceReduced) }
        } else if activity.isAlerting {
            // On a dashboard that is in view an alert is told in place: there is no notification (3.3).
            options.insert(.highlighted)
        }
        if activity.hasSmallFamily {
            if surface == .watch { options.insert(.interactive) }
            return Placement(.small, order: order, options: options)
        }
        if surface == .carplay, settings.carPlayFallback == .lockScreen {
            return Placement(.lockScreen, order: order, options: options)
        }
        return Placement(.compact, order: order, options: options.union(.joined))
    }

    private func inStandBy(_ activity: VisibleActivity) -> Placement {
        var options: Placement.Options = []
        if traits.isLightLow { options.insert(.night) }
        if traits.isLuminanceReduced { options.insert(.luminanceReduced) }
        if traits.standBy == .tapped {
            options.insert(.fullScreen)
            if !traits.isLocked { options.insert(.interactive) }
            return Placement(.lockScreen, order: 1, options: options)
        }
        if activity.isAlerting, settings.fillsStandBy { options.insert(.banner) }
        return Placement(.minimal, order: 1, options: options)
    }

    // MARK: The phone and the pad

    private func placeOnLockScreen(
        _ candidates: [Int], of activities: [VisibleActivity], in placements: inout [Placement]
    ) {
        var options: Placement.Options = []
        // Buttons are inactive until the person authenticates (3.5).
        if traits.isLocked {
            if traits.isLuminanceReduced { options.insert(.luminanceReduced) }
        } else {
            options.insert(.interactive)
        }
        for (rank, position) in grouped(candidates, of: activities).enumerated() {
            placements[position] = Placement(.lockScreen, order: rank + 1, options: options)
        }

        guard !traits.isLocked else { return }
        var eligible = candidates
        eligible.removeAll { !activities[$0].isLive || activities[$0].app == foreground }
        guard surface == .phone, traits.hasIsland else {
            for position in eligible where activities[position].isAlerting {
                placements[position].options.insert(.banner)
            }
            return
        }
        let tops = tops(of: eligible, activities, by: settings.islandOrder)
        for (rank, position) in tops.prefix(2).enumerated() {
            placements[position].island = tops.count == 1 ? .compact : rank == 0 ? .attached : .detached
        }
    }

    // MARK: Order

    private func sorted(
        _ candidates: [Int], of activities: [VisibleActivity], by order: SurfaceSettings.Order
    ) -> [Int] {
        candidates.sorted { comesFirst(activities[$0], activities[$1], by: order) }
    }

    /// The best activity of each app, best app first; what is live goes before what lingers.
    private func tops(
        of candidates: [Int], _ activities: [VisibleActivity], by order: SurfaceSettings.Order
    ) -> [Int] {
        var tops: [Int] = []
        for position in candidates {
            let activity = activities[position]
            if let known = tops.firstIndex(where: { activities[$0].app == activity.app }) {
                if isBetter(activity, activities[tops[known]]) { tops[known] = position }
            } else {
                tops.append(position)
            }
        }
        guard tops.count > 1 else { return tops }
        let ranks = tops.map { AppRank(app: activities[$0].app, candidates, of: activities) }
        let sorted = tops.indices.sorted { left, right in
            let (leftTop, rightTop) = (activities[tops[left]], activities[tops[right]])
            if leftTop.isLive != rightTop.isLive { return leftTop.isLive }
            switch order {
            case .relevance: return comesFirst(leftTop, rightTop, by: .relevance)
            case .alert: return ranks[left].comesBefore(ranks[right])
            }
        }
        return sorted.map { tops[$0] }
    }

    /// Every activity, those of one app together, best app first.
    private func grouped(_ candidates: [Int], of activities: [VisibleActivity]) -> [Int] {
        guard candidates.count > 1 else { return candidates }
        var ranks: [AppRank] = []
        var rankOf: [Int] = []
        rankOf.reserveCapacity(candidates.count)
        for position in candidates {
            let app = activities[position].app
            if let known = ranks.firstIndex(where: { $0.app == app }) {
                rankOf.append(known)
            } else {
                rankOf.append(ranks.count)
                ranks.append(AppRank(app: app, candidates, of: activities))
            }
        }
        let sorted = candidates.indices.sorted { left, right in
            let (leftOne, rightOne) = (activities[candidates[left]], activities[candidates[right]])
            if rankOf[left] == rankOf[right] { return comesFirst(leftOne, rightOne, by: .relevance) }
            switch settings.lockScreenOrder {
            case .relevance: return ranks[rankOf[left]].comesFirst(ranks[rankOf[right]])
            case .alert: return ranks[rankOf[left]].comesBefore(ranks[rankOf[right]])
            }
        }
        return sorted.map { candidates[$0] }
    }

    private func isBetter(_ left: VisibleActivity, _ right: VisibleActivity) -> Bool {
        if left.isLive != right.isLive { return left.isLive }
        return comesFirst(left, right, by: .relevance)
    }

    private func comesFirst(
        _ left: VisibleActivity, _ right: VisibleActivity, by order: SurfaceSettings.Order
    ) -> Bool {
        if order == .alert, left.lastAlertAt != right.lastAlertAt {
            return (left.lastAlertAt ?? .distantPast) > (right.lastAlertAt ?? .distantPast)
        }
        if left.score != right.score { return left.score > right.score }
        if left.startedAt != right.startedAt { return left.startedAt < right.startedAt }
        return left.index < right.index
    }
}

/// How an app stands among others (C8): whose alert is unexpired, who alerted last, who started first.
private struct AppRank {
    let app: Int32
    var isAlerting = false
    var lastAlertAt = Timestamp.distantPast
    var startedAt = Timestamp.distantFuture
    var score = -Double.infinity
    var index = Int32.max

    init(app: Int32, _ candidates: [Int], of activities: [VisibleActivity]) {
        self.app = app
        for position in candidates where activities[position].app == app {
            let activity = activities[position]
            isAlerting = isAlerting || activity.isAlerting
            lastAlertAt = max(lastAlertAt, activity.lastAlertAt ?? .distantPast)
            startedAt = min(startedAt, activity.startedAt)
            score = max(score, activity.score)
            index = min(index, activity.index)
        }
    }

    func comesBefore(_ other: AppRank) -> Bool {
        if isAlerting != other.isAlerting { return isAlerting }
        if lastAlertAt != other.lastAlertAt { return lastAlertAt > other.lastAlertAt }
        if startedAt != other.startedAt { return startedAt < other.startedAt }
        return index < other.index
    }

    func comesFirst(_ other: AppRank) -> Bool {
        if score != other.score { return score > other.score }
        if startedAt != other.startedAt { return startedAt < other.startedAt }
        return index < other.index
    }
}
