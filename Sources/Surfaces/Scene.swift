internal import Kinds
internal import Machines
internal import TelltaleModel

/// The layout of activities on one device in one situation.
struct Scene {
    let surface: Surface
    let traits: Traits
    let foreground: Int32?
    let settings: SurfaceSettings
    /// How many activities the device shows.
    var limit = Int.max
    var hasAccount = true

    /// Whether the activity is hidden everywhere because it was stale from its start (L3).
    func withholds(_ activity: VisibleActivity) -> Bool { activity.isWithheld && settings.hidesStaleFromStart }

    /// Whether the surface may show the activity, independent of other activities.
    func shows(_ activity: VisibleActivity) -> Bool {
        switch activity.lifecycle {
        case .pending, .dismissed: return false
        case .active, .stale, .ended: break
        }
        if withholds(activity) { return false }
        switch surface {
        case .phone, .pad, .desktop: return true
        case .standby: return activity.isLive || settings.keepsEndedInStandBy
        // While another app is in front, the Smart Stack is not visible (3.3).
        case .watch: return traits.foreground == nil
        case .carplay: return activity.isLive && !traits.isDashboardHidden
        case .vision: return false
        }
    }

    /// Places every activity that the surface may show.
    func place(_ candidates: inout [Candidate], in placements: inout [Placement]) {
        if candidates.isEmpty { return }
        switch surface {
        case .phone, .pad: placeOnLockScreen(&candidates, in: &placements)
        case .watch, .carplay:
            candidates.insertionSort { Candidate.comesFirst($0, $1, by: settings.order) }
            for rank in candidates.indices {
                placements[candidates[rank].position] = inStack(candidates[rank].activity, order: rank + 1)
            }
        case .desktop:
            let apps = AppEntry.ranked(candidates, by: settings.order, liveFirst: true)
            for rank in apps.indices {
                let presentation: Presentation = min(apps.count, limit) == 1 ? .compact : .minimal
                placements[apps[rank].top.position] = Placement(presentation, order: rank + 1)
            }
        case .standby:
            let apps = AppEntry.ranked(candidates, by: settings.islandOrder, liveFirst: true)
            guard let top = apps.first?.top else { return }
            placements[top.position] = inStandBy(top.activity)
        case .vision: break
        }
    }

    /// Records in a placement the circumstances of the device that the views in it depend on.
    func setCircumstances(of placement: inout Placement, _ activity: VisibleActivity) {
        let known = activity.circumstances
        guard !known.isEmpty, let presentation = placement.presentation else { return }
        let unusual = unusualCircumstances
        var drawn = known[presentation]
        switch placement.island {
        case .none: break
        case .compact: drawn.formUnion(known.compact.union(known.expanded))
        case .attached, .detached: drawn.formUnion(known.minimal.union(known.expanded))
        }
        placement.restCircumstances = drawn.intersection(unusual)
        var alerting: CircumstanceSet = []
        if placement.options.contains(.banner) { alerting.formUnion(known.lockScreen) }
        if placement.options.contains(.expanded) { alerting.formUnion(known.expanded) }
        placement.alertCircumstances = alerting.intersection(unusual)
    }

    /// The circumstances of the device that are not the usual ones.
    private var unusualCircumstances: CircumstanceSet {
        var unusual: CircumstanceSet = traits.isRedacted(on: surface, settings) ? .redaction : []
        if traits.widgets.isDark { unusual.insert(.darkness) }
        if traits.isLuminanceReduced || (surface == .watch && traits.isWristDown) { unusual.insert(.reducedLuminance) }
        if !hasAccount { unusual.insert(.noAccount) }
        return unusual
    }

    func inStack(_ activity: VisibleActivity, order: Int) -> Placement {
        var options: Placement.Options = []
        if surface == .watch {
            if traits.isWristDown || traits.isLuminanceReduced { options.insert(.luminanceReduced) }
        } else if activity.isAlerting {
            // On a visible dashboard an alert is drawn in place, without a notification (3.3).
            options.insert(.highlighted)
        }
        if activity.hasSmallFamily {
            if surface == .watch, !traits.isLocked { options.insert(.interactive) }
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

    private func placeOnLockScreen(_ candidates: inout [Candidate], in placements: inout [Placement]) {
        var options: Placement.Options = []
        // Buttons are inactive until the person authenticates (3.5).
        if traits.isLocked {
            if traits.isLuminanceReduced { options.insert(.luminanceReduced) }
        } else {
            options.insert(.interactive)
        }
        let apps = AppEntry.ranked(candidates, by: settings.lockScreenOrder, liveFirst: false)
        for index in candidates.indices {
            candidates[index].rank = apps.firstIndex { $0.app == candidates[index].activity.app } ?? 0
        }
        candidates.insertionSort { left, right in
            left.rank != right.rank ? left.rank < right.rank : Candidate.comesFirst(left, right, by: .relevance)
        }
        for rank in candidates.indices {
            placements[candidates[rank].position] = Placement(.lockScreen, order: rank + 1, options: options)
        }

        guard !traits.isLocked else { return }
        candidates.removeLast(max(0, candidates.count - limit))
        candidates.removeAll { $0.activity.app == foreground }
        guard hasIsland else {
            for candidate in candidates where candidate.activity.isAlerting {
                placements[candidate.position].options.insert(.banner)
            }
            return
        }
        candidates.removeAll { !$0.activity.isLive }
        let onIsland = AppEntry.ranked(candidates, by: settings.islandOrder, liveFirst: true)
        for rank in onIsland.indices.prefix(2) {
            placements[onIsland[rank].top.position].island =
                onIsland.count == 1 ? .compact : rank == 0 ? .attached : .detached
        }
        // An alert expands the island for its own activity (3.8). The places at rest do not change: C7 determines them.
        for candidate in candidates where candidate.activity.isAlerting {
            guard placements[candidate.position].island == .none else { continue }
            placements[candidate.position].options.insert(.expanded)
        }
    }

    var hasIsland: Bool { surface == .phone && traits.hasIsland }
}

/// An activity that the surface may show, and its position in the input.
struct Candidate {
    var activity: VisibleActivity
    var position: Int
    /// The rank of its app.
    var rank = 0

    init(activity: VisibleActivity, position: Int) {
        self.activity = activity
        self.position = position
    }

    /// C7: by relevance score, then by start, earliest first.
    @inline(always)
    static func comesFirst(_ left: Candidate, _ right: Candidate, by order: SurfaceSettings.Order) -> Bool {
        let (left, right) = (left.activity, right.activity)
        if order == .alert, left.lastAlertAt != right.lastAlertAt {
            return (left.lastAlertAt ?? .distantPast) > (right.lastAlertAt ?? .distantPast)
        }
        if left.score != right.score { return left.score > right.score }
        if left.startedAt != right.startedAt { return left.startedAt < right.startedAt }
        return left.index < right.index
    }
}

/// One app and its best activity.
struct AppEntry {
    let app: Int32
    /// Live activities before lingering ones, then by C7.
    var top: Candidate
    var isAlerting: Bool
    var lastAlertAt: Timestamp
    /// The start of its first activity.
    var startedAt: Timestamp
    var index: Int32

    private init(_ candidate: Candidate) {
        let activity = candidate.activity
        app = activity.app
        top = candidate
        isAlerting = activity.isAlerting
        lastAlertAt = activity.lastAlertAt ?? .distantPast
        startedAt = activity.startedAt
        index = activity.index
    }

    /// Every app, best first.
    ///
    /// By alert (C8): apps with an unexpired alert first, then by the newest alert, then by start. By relevance: by
    /// their best activities.
    static func ranked(
        _ candidates: [Candidate], by order: SurfaceSettings.Order, liveFirst: Bool
    ) -> [AppEntry] {
        var entries: [AppEntry] = []
        entries.reserveCapacity(candidates.count)
        for candidate in candidates {
            guard let known = entries.firstIndex(where: { $0.app == candidate.activity.app }) else {
                entries.append(AppEntry(candidate))
                continue
            }
            entries[known].add(candidate)
        }
        entries.insertionSort { left, right in
            let (leftTop, rightTop) = (left.top.activity, right.top.activity)
            if liveFirst, leftTop.isLive != rightTop.isLive { return leftTop.isLive }
            if order == .relevance { return Candidate.comesFirst(left.top, right.top, by: .relevance) }
            if left.isAlerting != right.isAlerting { return left.isAlerting }
            if left.lastAlertAt != right.lastAlertAt { return left.lastAlertAt > right.lastAlertAt }
            if left.startedAt != right.startedAt { return left.startedAt < right.startedAt }
            return left.index < right.index
        }
        return entries
    }

    private mutating func add(_ candidate: Candidate) {
        let activity = candidate.activity
        isAlerting = isAlerting || activity.isAlerting
        lastAlertAt = max(lastAlertAt, activity.lastAlertAt ?? .distantPast)
        startedAt = min(startedAt, activity.startedAt)
        index = min(index, activity.index)
        let isBetter =
            activity.isLive != top.activity.isLive
            ? activity.isLive : Candidate.comesFirst(candidate, top, by: .relevance)
        if isBetter { top = candidate }
    }
}

extension Array {
    /// A stable in-place sort. It is faster than the library's sort for the handful of activities that a device sees;
    /// the library's sort takes over for longer arrays.
    fileprivate mutating func insertionSort(by comesFirst: (Element, Element) -> Bool) {
        guard count <= 24 else { return sort(by: comesFirst) }
        for next in indices.dropFirst() {
            let element = self[next]
            var place = next
            while place > 0, comesFirst(element, self[place - 1]) {
                self[place] = self[place - 1]
                place -= 1
            }
            if place != next { self[place] = element }
        }
    }
}

extension PresentationCircumstances {
    subscript(presentation: Presentation) -> CircumstanceSet {
        switch presentation {
        case .compact: compact
        case .minimal: minimal
        case .expanded: expanded
        case .lockScreen: lockScreen
        case .small: small
        }
    }
}
