public import TelltaleModel

/// An activity as one view shows it.
public protocol ActivityRow: Hashable, Sendable {
    /// Reads the body of a row; `nil` if it is not a row of this view.
    init?(_ body: JSONObject)

    /// The place among the rows of a subscription, from 1; a view without an order has 0.
    var order: Int { get }
}

/// The stage of an activity's life.
public enum Lifecycle: String, Hashable, Sendable {
    case pending, active, stale, ended, dismissed
}

/// The members that the row of an activity has on every surface.
public struct ActivityFrame: Hashable, Sendable {
    /// The place among the rows of this subscription, from 1.
    public var order: Int
    public var lifecycle: Lifecycle
    /// Whether to draw it as out of date.
    public var isStale: Bool
    /// The bundle identifier of the app that it belongs to.
    public var app: String
    public var title: String
    /// Where a tap leads.
    public var url: String?

    /// `nil` for the row of a control.
    init?(_ body: JSONObject) {
        guard body["control"] == nil, let lifecycle = body["lifecycle"]?.string.flatMap(Lifecycle.init) else {
            return nil
        }
        self.lifecycle = lifecycle
        order = body["order"]?.integer.map { Int(clamping: $0) } ?? 0
        isStale = body["stale"]?.bool ?? false
        app = body["app"]?.string ?? ""
        title = body["title"]?.string ?? ""
        url = body["url"]?.string
    }
}

/// An activity on a CarPlay dashboard. It is never interactive there.
public struct CarPlayRow: ActivityRow {
    public var frame: ActivityFrame
    public var card: ActivityCard
    /// Whether to draw the leading and the trailing half of a compact card as one.
    public var isJoined: Bool
    /// Whether to highlight it for a moment, to show an alert in place.
    public var isHighlighted: Bool

    public var order: Int { frame.order }

    public init?(_ body: JSONObject) {
        guard let frame = ActivityFrame(body), let card = ActivityCard(body) else { return nil }
        self.frame = frame
        self.card = card
        isJoined = body["joined"]?.bool ?? false
        isHighlighted = body["highlighted"]?.bool ?? false
    }
}

/// An activity in the Smart Stack of a watch.
public struct WatchRow: ActivityRow {
    public var frame: ActivityFrame
    public var card: ActivityCard
    /// The name of the app, where the halves of a compact card are joined.
    public var appName: String?
    public var isJoined: Bool
    /// Whether to draw it dark, without animation.
    public var isLuminanceReduced: Bool

    public var order: Int { frame.order }

    public init?(_ body: JSONObject) {
        guard let frame = ActivityFrame(body), let card = ActivityCard(body) else { return nil }
        self.frame = frame
        self.card = card
        appName = body["appName"]?.string
        isJoined = body["joined"]?.bool ?? false
        isLuminanceReduced = body["luminance"]?.string == "reduced"
    }
}

/// An activity in the menu bar of a Mac.
public struct DesktopRow: ActivityRow {
    public var frame: ActivityFrame
    public var card: ActivityCard

    public var order: Int { frame.order }

    public init?(_ body: JSONObject) {
        guard let frame = ActivityFrame(body), let card = ActivityCard(body) else { return nil }
        self.frame = frame
        self.card = card
    }
}

/// An activity in StandBy.
public struct StandByRow: ActivityRow {
    public var frame: ActivityFrame
    public var card: ActivityCard
    /// The Lock Screen view over everything else, for a moment.
    public var banner: ActivityCard?
    /// Whether to tint it red: the room is dark.
    public var isNight: Bool
    /// Whether to fill the display, at ``scale``.
    public var isFullScreen: Bool
    public var scale: Double
    public var isLuminanceReduced: Bool

    public var order: Int { frame.order }

    public init?(_ body: JSONObject) {
        guard let frame = ActivityFrame(body), let card = ActivityCard(body) else { return nil }
        self.frame = frame
        self.card = card
        banner = body["banner"]?.object.flatMap(ActivityCard.init)
        isNight = body["night"]?.bool ?? false
        isFullScreen = body["fullScreen"]?.bool ?? false
        scale = body["scale"]?.double ?? 1
        isLuminanceReduced = body["luminance"]?.string == "reduced"
    }
}

/// An activity on a phone or a tablet, where it can be in two places at once. A place that is `nil` does not show it.
public struct PhoneRow: ActivityRow {
    /// An activity in the Dynamic Island.
    public struct Island: Hashable, Sendable {
        public var card: ActivityCard
        /// 1 beside the camera, 2 detached from it.
        public var order: Int
        public var isAttached: Bool
        /// For when it is held, or an alert opens it.
        public var expanded: ActivityCard?
    }

    public var frame: ActivityFrame
    public var lockScreen: ActivityCard?
    public var island: Island?
    /// The Lock Screen view over everything else, for a moment.
    public var banner: ActivityCard?
    /// The expanded view in the island, for a moment, of an activity that has no place there.
    public var expanded: ActivityCard?

    public var order: Int { frame.order }

    public init?(_ body: JSONObject) {
        guard let frame = ActivityFrame(body) else { return nil }
        self.frame = frame
        func card(_ object: JSON?) -> ActivityCard? { object?.object.flatMap(ActivityCard.init) }
        lockScreen = card(body["lockScreen"])
        banner = card(body["banner"])
        expanded = card(body["expanded"])
        if let place = body["island"], let shown = card(place) {
            island = Island(
                card: shown, order: place["order"]?.integer.map { Int(clamping: $0) } ?? 1,
                isAttached: place["attached"]?.bool ?? true, expanded: card(place["expanded"]))
        }
    }
}

/// The whole state of an activity.
public struct FullRow: ActivityRow {
    public var kind: String
    /// The innermost active state, as a dotted path; several, of parallel regions, joined by commas.
    public var state: String
    /// The paths of all active states.
    public var configuration: [String]
    public var lifecycle: Lifecycle
    public var attributes: JSONObject
    public var content: JSONObject
    /// 0 to 1.
    public var progress: Double?
    public var startedAt: Timestamp?
    public var updatedAt: Timestamp?
    public var staleAt: Timestamp?
    public var endedAt: Timestamp?
    public var removeAt: Timestamp?
    public var score: Double?

    public var order: Int { 0 }

    public init?(_ body: JSONObject) {
        guard body["control"] == nil, let kind = body["kind"]?.string, let state = body["state"]?.string,
            let lifecycle = body["lifecycle"]?.string.flatMap(Lifecycle.init)
        else { return nil }
        self.kind = kind
        self.state = state
        self.lifecycle = lifecycle
        configuration = (body["configuration"]?.array ?? []).compactMap(\.string)
        attributes = body["attributes"]?.object ?? JSONObject()
        content = body["content"]?.object ?? JSONObject()
        progress = body["progress"]?.double
        func date(_ name: String) -> Timestamp? { body[name]?.integer.map(Timestamp.init(milliseconds:)) }
        startedAt = date("startedAt")
        updatedAt = date("updatedAt")
        staleAt = date("staleAt")
        endedAt = date("endedAt")
        removeAt = date("removeAt")
        score = body["score"]?.double
    }
}
