public import Machines
public import TelltaleModel

/// The settings that decisions depend on. They are journaled when they take effect, so that a replay decides the same.
public struct DecisionSettings: Hashable, Sendable {
    public var activities = ActivitySettings()
    /// Limits on the live activities of one person.
    public var activityLimits = ActivityLimits()
    /// How long an event id is remembered.
    public var eventIDAge = Milliseconds.days(7)
    /// How many event ids are remembered per source.
    public var eventIDsPerSource = 1_000_000
    /// How long a dismissed activity can be requested.
    public var retention = Milliseconds.days(7)
    /// The most groups of activities that the widgets of one kind, and of all kinds together, may show: each is a key. A group
    /// counts until its key is forgotten.
    public var groupsPerKind = 65_536
    public var groups = 262_144
    /// The least time between two refreshes of a widget by its provider.
    public var widgetFloor = Milliseconds.minutes(5)
    /// How many times as fast as real time the kinds' clock runs.
    public var clockSpeed = 1.0
    /// Whether ``rules`` are those of ``activities``.
    private var namesRules = false

    /// The edition of the rules, by which ``activities`` are decided. `nil` in proposed settings: an existing history keeps its
    /// edition, and a new one starts with the newest.
    public var rules: DecisionRules? {
        get { namesRules ? activities.rules : nil }
        set { (activities.rules, namesRules) = (newValue ?? .newest, newValue != nil) }
    }

    public init() {}

    /// The settings of a history in which no record has set any yet.
    static var unsaid: DecisionSettings {
        var settings = DecisionSettings()
        settings.rules = .first
        return settings
    }

    /// Omits `rules` if they are the first edition, as the first releases did.
    var json: JSON {
        var json: JSONObject = [
            "byteCountLimit": .integer(Int64(activities.byteCountLimit)),
            "acceptsOldEnd": .bool(activities.acceptsOldEnd),
            "aheadLimit": .integer(activities.aheadLimit.count),
            "markLimit": .integer(Int64(activities.markLimit)),
            "activitiesPerApp": .integer(Int64(activityLimits.perApp)),
            "activitiesPerAccount": .integer(Int64(activityLimits.perAccount)),
            "eventIDAge": .integer(eventIDAge.count),
            "eventIDsPerSource": .integer(Int64(eventIDsPerSource)),
            "retention": .integer(retention.count),
            "groupsPerKind": .integer(Int64(groupsPerKind)),
            "groups": .integer(Int64(groups)),
            "widgetFloor": .integer(widgetFloor.count),
            "clockSpeed": JSON(clockSpeed),
        ]
        if let rules, rules > .first { json["rules"] = .integer(rules.number) }
        return .object(json)
    }

    /// A member missing from `json`, written by an earlier release, gets its default. Missing `rules` means the first edition.
    ///
    /// - Throws: ``UnknownRules`` for rules of a later release.
    init(_ json: JSON) throws(UnknownRules) {
        let number = json["rules"]?.integer ?? DecisionRules.first.number
        guard let rules = DecisionRules(number: number) else { throw UnknownRules(number: number) }
        self.rules = rules
        if let value = json["byteCountLimit"]?.integer { activities.byteCountLimit = Int(value) }
        if let value = json["acceptsOldEnd"]?.bool { activities.acceptsOldEnd = value }
        if let value = json["aheadLimit"]?.integer { activities.aheadLimit = Milliseconds(value) }
        if let value = json["markLimit"]?.integer { activities.markLimit = Int(value) }
        if let value = json["activitiesPerApp"]?.integer { activityLimits.perApp = Int(value) }
        if let value = json["activitiesPerAccount"]?.integer { activityLimits.perAccount = Int(value) }
        if let value = json["eventIDAge"]?.integer { eventIDAge = Milliseconds(value) }
        if let value = json["eventIDsPerSource"]?.integer { eventIDsPerSource = Int(value) }
        if let value = json["retention"]?.integer { retention = Milliseconds(value) }
        if let value = json["groupsPerKind"]?.integer { groupsPerKind = Int(value) }
        if let value = json["groups"]?.integer { groups = Int(value) }
        if let value = json["widgetFloor"]?.integer { widgetFloor = Milliseconds(value) }
        if let value = json["clockSpeed"]?.double { clockSpeed = value }
    }
}

/// A later release wrote this history, with rules that this release does not know.
struct UnknownRules: Error, CustomStringConvertible {
    let number: Int64

    var description: String {
        "this history is decided by rules \(number), and this release knows 1 to \(DecisionRules.newest.number); use the release that wrote it, or a later one"
    }
}
