public import Kinds
public import Machines
public import TelltaleModel

/// The forms in which an activity can be drawn (Protocols/Surfaces/rules.md C1).
public enum Presentation: String, CaseIterable, Hashable, Sendable {
    case compact, minimal, expanded, lockScreen, small
}

/// The form in which an alert is drawn: `style=` of an `ALERT` line.
public enum AlertStyle: String, CaseIterable, Hashable, Sendable {
    /// The Dynamic Island expands for a moment.
    case expanded
    /// The Lock Screen presentation appears at the top for a moment.
    case banner
    /// On the watch: title and body.
    case alert
    /// In CarPlay: at the bottom, while another screen is in front.
    case notification
    /// On the desktop: the panel opens for a moment.
    case panel
}

/// The properties of an activity that projection reads.
public struct VisibleActivity: Hashable, Sendable {
    /// The owner's number of the activity. Breaks ties, lower first.
    public var index: Int32
    /// The interned owner app. Activities of one app compete for places.
    public var app: Int32
    public var lifecycle: Activity.Lifecycle
    public var score: Double
    public var startedAt: Timestamp
    public var lastAlertAt: Timestamp?
    /// Whether its last change came with an alert.
    public var isAlerting: Bool
    /// Whether it was stale from the start and has not been active since.
    public var isWithheld: Bool
    public var hasSmallFamily: Bool
    /// What its views depend on.
    public var circumstances: PresentationCircumstances

    public init(
        index: Int32, app: Int32, lifecycle: Activity.Lifecycle, score: Double = 0, startedAt: Timestamp,
        lastAlertAt: Timestamp? = nil, isAlerting: Bool = false, isWithheld: Bool = false, hasSmallFamily: Bool = false,
        circumstances: PresentationCircumstances = PresentationCircumstances()
    ) {
        self.index = index
        self.app = app
        self.lifecycle = lifecycle
        self.score = score
        self.startedAt = startedAt
        self.lastAlertAt = lastAlertAt
        self.isAlerting = isAlerting
        self.isWithheld = isWithheld
        self.hasSmallFamily = hasSmallFamily
        self.circumstances = circumstances
    }

    public init(_ activity: borrowing Activity, index: Int32, app: Int32) {
        self.init(
            index: index, app: app, lifecycle: activity.lifecycle, score: activity.score ?? 0,
            startedAt: activity.startedAt, lastAlertAt: activity.lastAlertAt, isAlerting: activity.isAlerting,
            isWithheld: activity.isWithheld, hasSmallFamily: activity.kind.hasSmallFamily,
            circumstances: activity.viewCircumstances)
    }

    var isLive: Bool { lifecycle == .active || lifecycle == .stale }
}

/// The place and the form in which one surface shows one activity. Small and comparable: a row is sent again when its
/// placement changes.
///
/// The activity's state, the placement and the surface determine the row's body, so sessions for which the three are
/// equal share one body.
public struct Placement: Hashable, Sendable {
    public struct Options: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Its buttons are active.
        public static let interactive = Self(rawValue: 1 << 0)
        /// Two compact halves in one view, because the kind has no small family.
        public static let joined = Self(rawValue: 1 << 1)
        /// Drawn dark, without animation.
        public static let luminanceReduced = Self(rawValue: 1 << 2)
        /// Tinted red for a dark room.
        public static let night = Self(rawValue: 1 << 3)
        /// Fills the display, at twice its size.
        public static let fullScreen = Self(rawValue: 1 << 4)
        /// An alert highlights it in place.
        public static let highlighted = Self(rawValue: 1 << 5)
        /// The Lock Screen presentation covers the screen for a moment.
        public static let banner = Self(rawValue: 1 << 6)
        /// The Dynamic Island, which otherwise shows another activity, expands for this one for a moment.
        public static let expanded = Self(rawValue: 1 << 7)
    }

    /// The presentation in the Dynamic Island, besides the Lock Screen.
    public enum Island: UInt8, Hashable, Sendable {
        case none, compact
        /// The minimal presentation that is attached to the island.
        case attached
        /// The minimal presentation in a separate circle.
        case detached
    }

    /// `nil` if the activity is not shown.
    public var presentation: Presentation?
    public var island: Island
    /// The position, from 1; 0 if the activity is not shown.
    public var order: UInt16
    public var options: Options
    /// ``restCircumstances`` in the low half, ``alertCircumstances`` in the high one: a subscription holds a placement, and is kept
    /// small.
    private var circumstanceBits: UInt8 = 0

    public init(_ presentation: Presentation?, order: Int, options: Options = [], island: Island = .none) {
        self.presentation = presentation
        self.order = UInt16(clamping: order)
        self.options = options
        self.island = island
    }

    public static let hidden = Placement(nil, order: 0)

    /// The placement before and after the moment of an alert.
    public var withoutAlert: Placement {
        var placement = self
        placement.options.subtract([.highlighted, .banner, .expanded])
        placement.alertCircumstances = []
        return placement
    }

    /// The circumstances other than the usual ones that the views at rest depend on.
    var restCircumstances: CircumstanceSet {
        get { CircumstanceSet(rawValue: circumstanceBits & 0xF) }
        set { circumstanceBits = circumstanceBits & 0xF0 | newValue.rawValue & 0xF }
    }

    /// The same of the views for the moment of an alert.
    var alertCircumstances: CircumstanceSet {
        get { CircumstanceSet(rawValue: circumstanceBits >> 4) }
        set { circumstanceBits = circumstanceBits & 0xF | newValue.rawValue << 4 }
    }

    public var isShown: Bool { presentation != nil }
    public var isInteractive: Bool { options.contains(.interactive) }
    /// Whether it hides what is private, and one of its views has something that may be (E10).
    public var isRedacted: Bool { isUnder(.redaction) }

    /// Whether a circumstance holds that one of its views depends on.
    func isUnder(_ circumstance: CircumstanceSet) -> Bool {
        restCircumstances.union(alertCircumstances).contains(circumstance)
    }
}
