/// The apps that accept pushes: their bundle ids, and the kind for each attributes type.
public struct PushDirectory: Hashable, Sendable {
    /// How the pushes of one attributes type become events of a kind.
    public struct Activity: Hashable, Sendable {
        public var kind: String
        /// Where in `aps` the key's id stands, as `["attributes", "orderNumber"]`; `nil` = an id is generated.
        public var idPath: [String]?
        /// Where in `aps` the name of the domain event stands; `nil` = a push carries only content.
        public var eventPath: [String]?
        /// The domain events that start an activity of the kind.
        public var startsOn: Set<String>

        public init(
            kind: String, idPath: [String]? = nil, eventPath: [String]? = nil, startsOn: Set<String> = []
        ) {
            self.kind = kind
            self.idPath = idPath
            self.eventPath = eventPath
            self.startsOn = startsOn
        }
    }

    public struct App: Hashable, Sendable {
        /// The configured activities by the name of the attributes type, without those that follow from the kinds.
        public var activities: [String: Activity]
        /// The kinds whose `app` is this one.
        public var kinds: Set<String>

        public init(activities: [String: Activity] = [:], kinds: Set<String> = []) {
            self.activities = activities
            self.kinds = kinds
        }

        /// The activity of an attributes type: as configured, else the kind of the same name. `CoffeeOrderAttributes`
        /// and `coffee-order` are the same name.
        public func activity(ofType type: String) -> Activity? {
            if let activity = activities[type] { return activity }
            let suffix = "Attributes"
            let name = Self.plain(type.hasSuffix(suffix) ? String(type.dropLast(suffix.count)) : type)
            return kinds.first { Self.plain($0) == name }.map { activity(ofKind: $0) }
        }

        /// The activity of a kind: as configured, else with its content only.
        public func activity(ofKind kind: String) -> Activity {
            activities.sorted { $0.key < $1.key }.first { $0.value.kind == kind }?.value ?? Activity(kind: kind)
        }

        private static func plain(_ name: String) -> String { name.lowercased().filter { $0 != "-" } }
    }

    public var apps: [String: App]

    public init(apps: [String: App] = [:]) {
        self.apps = apps
    }

    /// The bundle id of a kind's app; `nil` if no app has the kind.
    public func app(ofKind kind: some StringProtocol) -> String? {
        let kind = String(kind)
        return apps.keys.sorted().first { apps[$0]?.kinds.contains(kind) ?? false }
    }
}
