public import TelltaleModel
public import TelltaleStatechart

/// One kind of live activity or control: a kind file that has been checked.
public struct Kind: Sendable {
    public enum Body: Sendable {
        case activity(ActivityKind)
        case toggle(ToggleKind)
        case button(ButtonKind)
    }

    public let name: String
    public let version: Int
    /// The owner app, `com.example.coffee`: what activities compete by.
    public let app: String
    public let title: String
    public let body: Body
    /// The file's content, as it was read. The journal keeps it, and two files are the same when it is equal.
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
    ///   - source: The file's content, parsed.
    ///   - file: Its name, for the diagnostics.
    /// - Returns: The kind, or `nil` when a diagnostic is an error; and every diagnostic, errors first.
    public static func read(_ source: JSON, file: String) -> (kind: Kind?, diagnostics: [Diagnostic]) {
        var reader = KindReader(file: file)
        let kind = reader.kind(source)
        return (kind, reader.sortedDiagnostics())
    }

    /// Reads a kind that the journal holds.
    ///
    /// Activities live by it, so it is taken even where a release that came later refuses such a file for what can be
    /// lived with: a circle of timers of no time, a text or a path that is too long.
    ///
    /// - Returns: `nil` where it is no kind at all.
    public static func read(journaled source: JSON) -> Kind? {
        var reader = KindReader(file: "", isAdmitted: true)
        return reader.kind(source)
    }
}

/// A kind of live activity: its machine, its times, and what its screens show.
public final class ActivityKind: Sendable {
    public let statechart: Statechart
    /// What this kind says of each state, by ``StateIndex``.
    public let states: [StateTraits]
    /// New names for incoming events; a name not in it is taken as it is.
    public let accept: [String: String]
    /// Domain events that start an activity, after renaming.
    public let startsOn: Set<String>
    /// How long after an applied or noop event an activity goes stale; `nil` = never by itself.
    public let stale: Milliseconds?
    /// The linger after the end: 4 h by default, at most ``maxLinger``.
    public let dismiss: Milliseconds
    /// The longest time before the system ends it: 8 h by default.
    public let maxActive: Milliseconds
    /// The longest linger: 4 h by default.
    public let maxLinger: Milliseconds
    /// `supplementalFamilies` holds `small`, and there is a view for it.
    public let hasSmallFamily: Bool
    public let views: ActivityViews
    public let url: Template?

    public init(
        statechart: Statechart, states: [StateTraits], accept: [String: String], startsOn: Set<String>,
        stale: Milliseconds?, dismiss: Milliseconds, maxActive: Milliseconds, maxLinger: Milliseconds,
        hasSmallFamily: Bool, views: ActivityViews, url: Template?
    ) {
        self.statechart = statechart
        self.states = states
        self.accept = accept
        self.startsOn = startsOn
        self.stale = stale
        self.dismiss = dismiss
        self.maxActive = maxActive
        self.maxLinger = maxLinger
        self.hasSmallFamily = hasSmallFamily
        self.views = views
        self.url = url
    }
}

/// What a kind says of one state beside its transitions.
public struct StateTraits: Sendable {
    /// Its `title`, else its key.
    public var title: String
    /// Its own progress, or its nearest ancestor's; `nil` where no ancestor has one.
    public var progress: Double?
    public var isMilestone = false
    /// Fires on every entry.
    public var alert: AlertTemplate?
    /// Its own, or its nearest ancestor's, as of ``dismiss``; goes before the kind's own.
    public var stale: Milliseconds?
    public var dismiss: Milliseconds?
    public var tags: [String] = []

    public init(title: String) {
        self.title = title
    }
}

public struct AlertTemplate: Sendable {
    public var title: Template
    public var body: Template
    public var sound: String?

    public init(title: Template, body: Template, sound: String?) {
        self.title = title
        self.body = body
        self.sound = sound
    }
}

/// The presentations of an activity. One that the kind file does not declare is a plain one, made from the title, the
/// state and the progress.
public struct ActivityViews: Sendable {
    public var compactLeading: ViewTemplate
    public var compactTrailing: ViewTemplate
    public var minimal: ViewTemplate
    public var lockScreen: ViewTemplate
    /// `leading`, `trailing`, `center`, `bottom`.
    public var expanded: ViewTemplate
    public var small: ViewTemplate?

    public init(
        compactLeading: ViewTemplate, compactTrailing: ViewTemplate, minimal: ViewTemplate, lockScreen: ViewTemplate,
        expanded: ViewTemplate, small: ViewTemplate?
    ) {
        self.compactLeading = compactLeading
        self.compactTrailing = compactTrailing
        self.minimal = minimal
        self.lockScreen = lockScreen
        self.expanded = expanded
        self.small = small
    }
}

/// A toggle: Kinds/README.md.
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
    /// The optimistic value is shown everywhere, not on the tapped surface alone.
    public var optimisticEverywhere = false
    /// Ids that exist from load.
    public var instances: [String] = []

    public init() {}
}

/// A button: Kinds/README.md.
public struct ButtonKind: Hashable, Sendable {
    /// An event that a press sends to an activity.
    public struct Raises: Hashable, Sendable {
        public var kind: String
        public var event: String
        /// The activity's id, a template over the button's own; `nil` = the operation's id.
        public var id: String?
        public var content: JSON
        public var attributes: JSON

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
    public var requiresAuthentication = false
    public var privacySensitive = false
    public var raises: Raises?
    public var instances: [String] = []

    public init() {}
}
