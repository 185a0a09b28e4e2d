public import TelltaleModel
public import TelltaleStatechart

/// One kind of live activity, control or widget: a kind file that passed all checks.
public struct Kind: Sendable {
    public enum Body: Sendable {
        case activity(ActivityKind)
        case toggle(ToggleKind)
        case button(ButtonKind)
        case widget(WidgetKind)
    }

    public let name: String
    public let version: Int
    /// The bundle identifier of the owner app, `com.example.coffee`. Activities of one app compete for places.
    public let app: String
    public let title: String
    public let body: Body
    /// The content of the file. The journal stores it, and two files are the same definition if their contents are
    /// equal.
    public let source: JSON

    public init(name: String, version: Int, app: String, title: String, body: Body, source: JSON) {
        self.name = name
        self.version = version
        self.app = app
        self.title = title
        self.body = body
        self.source = source
    }

    /// Reads and checks one kind file.
    ///
    /// - Parameters:
    ///   - source: The parsed content of the file.
    ///   - file: The file's name, for the diagnostics.
    /// - Returns: The kind, or `nil` if a diagnostic is an error; and all diagnostics, errors first.
    public static func read(_ source: JSON, file: String) -> (kind: Kind?, diagnostics: [Diagnostic]) {
        var reader = KindReader(file: file)
        let kind = reader.kind(source)
        return (kind, reader.sortedDiagnostics())
    }

    /// Reads a kind from the journal.
    ///
    /// Existing activities depend on it. Faults that a newer release refuses but that are tolerable at run time (a
    /// cycle of timers of zero delay, a text or path that is too long) are therefore accepted.
    ///
    /// - Returns: `nil` if `source` is not a kind.
    public static func read(journaled source: JSON) -> Kind? {
        var reader = KindReader(file: "", isAdmitted: true)
        return reader.kind(source)
    }
}

/// A kind of live activity: its machine, its durations and its views.
public final class ActivityKind: Sendable {
    public let statechart: Statechart
    /// The traits of each state, by ``StateIndex``.
    public let states: [StateTraits]
    /// The regions of its parallel states, outer regions first.
    public let regions: [StateIndex]
    /// Renames of incoming events; an event that is not listed keeps its name.
    public let accept: [String: String]
    /// The events that start an activity, after renaming.
    public let startsOn: Set<String>
    /// The time after an applied or noop event until an activity becomes stale; `nil` if it never does so by itself.
    public let stale: Milliseconds?
    /// The time that an ended activity lingers: 4 h by default, at most ``maxLinger``.
    public let dismiss: Milliseconds
    /// The longest active time before the system ends the activity: 8 h by default.
    public let maxActive: Milliseconds
    /// The longest linger: 4 h by default.
    public let maxLinger: Milliseconds
    /// Whether `supplementalFamilies` contains `small` and the kind has a view for it.
    public let hasSmallFamily: Bool
    public let views: ActivityViews
    public let url: Template?
    /// Whether all parts of all views, all alerts and the link are private.
    public let isPrivacySensitive: Bool
    /// Whether an alert of it may be private.
    public let hasPrivateAlerts: Bool
    /// Whether a control that belongs to it is not always offered (E6).
    public let hidesControls: Bool
    /// Whether its views depend on its state.
    public let viewsReadState: Bool
    /// The circumstances that its views may depend on.
    public let circumstances: PresentationCircumstances
    /// Whether the state decides on which of them its views depend.
    public let circumstancesFollowState: Bool

    public init(
        statechart: Statechart, states: [StateTraits], accept: [String: String], startsOn: Set<String>,
        stale: Milliseconds?, dismiss: Milliseconds, maxActive: Milliseconds, maxLinger: Milliseconds,
        hasSmallFamily: Bool, views: ActivityViews, url: Template?, isPrivacySensitive: Bool
    ) {
        self.statechart = statechart
        self.states = states
        regions = statechart.states.indices.filter { index in
            statechart.states[index].parent.map { statechart.states[$0.rawValue].kind == .parallel } ?? false
        }.map { StateIndex(rawValue: $0) }
        self.accept = accept
        self.startsOn = startsOn
        self.stale = stale
        self.dismiss = dismiss
        self.maxActive = maxActive
        self.maxLinger = maxLinger
        self.hasSmallFamily = hasSmallFamily
        self.views = views
        self.url = url
        self.isPrivacySensitive = isPrivacySensitive
        hasPrivateAlerts = isPrivacySensitive || states.contains { $0.alert?.isPrivate == true }
        hidesControls = views.hidesControls
        viewsReadState = views.all.contains(where: \.readsState)
        circumstances = PresentationCircumstances(views)
        circumstancesFollowState =
            !circumstances.isEmpty
            && views.all.contains { view in view.variants.contains { !$0.when.activity.isEmpty } }
    }
}

/// The properties of a state other than its transitions.
public struct StateTraits: Sendable {
    /// Its `title`, or else its key; empty for a machine without a title.
    public var title: Template
    /// Its own progress, or that of its nearest ancestor; `nil` if no ancestor has any.
    public var progress: Double?
    public var isMilestone = false
    /// Sent on every entry of the state.
    public var alert: AlertTemplate?
    /// Its own value, or that of its nearest ancestor, as for ``dismiss``. It takes precedence over the kind's value.
    public var stale: Milliseconds?
    public var dismiss: Milliseconds?
    public var tags: [String] = []
}

public struct AlertTemplate: Sendable {
    public var title: Template
    public var body: Template
    public var sound: String?
    /// Whether a locked device is sent ``summary`` in its place.
    public var isPrivate = false
    public var summary: Template?
}

/// The presentations of an activity. A presentation that the kind file does not declare is a default one with the
/// title, the state and the progress.
public struct ActivityViews: Sendable {
    /// The regions `leading` and `trailing`.
    public var compact: ActivityView
    public var minimal: ActivityView
    public var lockScreen: ActivityView
    /// The regions `leading`, `trailing`, `center` and `bottom`.
    public var expanded: ActivityView
    public var small: ActivityView?

    /// All of them, each with its variants.
    var all: [ActivityView] {
        ([compact, minimal, lockScreen, expanded] + (small.map { [$0] } ?? [])).flatMap(\.layouts)
    }
}

/// The definition of a toggle (Protocols/Kinds/README.md).
public struct ToggleKind: Hashable, Sendable {
    public enum Restore: String, CaseIterable, Hashable, Sendable {
        case reported, reissue
    }

    /// Symbol names and value texts, by state.
    public var symbolOn = ""
    public var symbolOff = ""
    public var valueOn = "On"
    public var valueOff = "Off"
    public var tint: String?
    public var hintOn: String?
    public var hintOff: String?
    public var timeout = Milliseconds.seconds(30)
    public var settle = Milliseconds.seconds(2)
    public var restore = Restore.reported
    public var requiresAuthentication = false
    public var privacySensitive = false
    /// Whether the optimistic value is shown on every surface, not only on the one that was tapped.
    public var optimisticEverywhere = false
    /// The ids of instances that exist from load.
    public var instances: [String] = []

    public init() {}
}

/// The definition of a button (Protocols/Kinds/README.md).
public struct ButtonKind: Hashable, Sendable {
    /// The event that a press sends to an activity.
    public struct Raises: Hashable, Sendable {
        public var kind: String
        public var event: String
        /// The activity's id, a template over the button's own id; `nil` for the operation's id.
        public var id: String?
        public var content: JSON
        public var attributes: JSON
        /// `"for": "everyone"`: an activity that the event starts is for everyone, and not only for the account that pressed.
        public var isForEveryone = false

        public init(kind: String, event: String, id: String?, content: JSON, attributes: JSON) {
            self.kind = kind
            self.event = event
            self.id = id
            self.content = content
            self.attributes = attributes
        }
    }

    public var symbol = ""
    public var actionHint: String?
    public var tint: String?
    public var timeout = Milliseconds.seconds(30)
    public var cooldown = Milliseconds.zero
    /// Whether a press may be performed more than once: when the acting provider leaves, the press is sent to the next one.
    public var isRepeatable = false
    public var requiresAuthentication = false
    public var privacySensitive = false
    public var raises: Raises?
    public var instances: [String] = []

    public init() {}
}

extension Kind {
    /// Its `type`, as kind files spell it.
    public var typeName: String {
        switch body {
        case .activity: "activity"
        case .toggle: "toggle"
        case .button: "button"
        case .widget: "widget"
        }
    }
}
