public import TelltaleModel
public import TelltaleStatechart

/// A kind of widget: where its content comes from, and its views (Protocols/Widgets/README.md).
public final class WidgetKind: Sendable {
    /// Where the timelines come from.
    public enum Source: Sendable {
        /// Producers post timelines (`EVT … type=timeline`).
        case pushed
        /// A provider is asked for them (`SERVE`, `DO … action=timeline`); producers may post them too.
        case refreshed
        /// The content is a function of the time of day.
        case schedule(WidgetSchedule)
        /// One widget for each activity of a kind for which `condition` holds.
        case each(kind: String, where: Guard?)
        /// One activity of a kind: the one with this id, or, for `nil`, with the value of the only parameter as its id.
        case one(kind: String, id: String?)
        /// Many activities together.
        case over(WidgetAggregate)

        /// The name in the full row.
        public var name: String {
            switch self {
            case .pushed: "pushed"
            case .refreshed: "asked"
            case .schedule: "schedule"
            case .each: "each"
            case .one: "one"
            case .over: "over"
            }
        }
    }

    /// In the order of the file.
    public let families: [WidgetFamily]
    /// By declared family.
    let views: [WidgetFamily: WidgetView]
    /// The states of its activity that its views name, and where.
    let namedStates: [(name: String, path: String)]
    public let source: Source
    /// The parameters of a configuration, in the order of their names.
    public let parameters: [WidgetParameter]
    /// The ids that exist from load: of the recommended configurations, or `main` for a kind without parameters.
    public let instances: [String]
    /// The recommended configurations, by their ids.
    let recommended: [String: JSON]
    /// The places that never show it, and those where its buttons are inactive.
    public let neverPlaces: Set<WidgetPlace>
    public let disfavouredPlaces: Set<WidgetPlace>
    public let isBackgroundRemovable: Bool
    /// The content's margin, in points.
    public let margin: Double
    /// All content is private: a locked device gets no part (W76).
    public let isPrivacySensitive: Bool
    /// A locked device gets the placeholder (W77).
    public let isProtected: Bool
    /// The time after which content counts as out of date; `nil` for never.
    public let stale: Milliseconds?
    /// The time that a provider has for an answer.
    public let timeout: Milliseconds
    /// Whether CarPlay opens its app (W63).
    public let hasCarApp: Bool
    public let texture: String
    /// Its possible mountings on visionOS.
    public let mountings: Set<WidgetMounting>
    /// When its widgets are present; `nil` = always.
    public let relevance: WidgetRelevance?
    /// Stacks that take suggestions may show its recommended configurations while they are relevant (W42).
    public let isSuggested: Bool
    public let url: Template?
    public let about: String
    /// The colour of the gallery's edit screen.
    public let editTint: String?
    /// Sample content: `content`, `attributes`, `values`, `config`, `state`, `progress`, `lifecycle`.
    public let preview: JSON?

    init(
        families: [WidgetFamily], views: [WidgetFamily: WidgetView], source: Source, parameters: [WidgetParameter],
        recommended: [JSON], places: (never: Set<WidgetPlace>, disfavoured: Set<WidgetPlace>), options: Options,
        namedStates: [(name: String, path: String)]
    ) {
        self.namedStates = namedStates
        self.families = families
        self.views = views
        self.source = source
        self.parameters = parameters
        var ids: [String] = []
        var configurations: [String: JSON] = [:]
        for configuration in recommended {
            let id = WidgetParameter.id(of: configuration, parameters: parameters)
            if configurations.updateValue(configuration, forKey: id) == nil { ids.append(id) }
        }
        if case .each = source { ids = [] } else if parameters.isEmpty { ids = [WidgetParameter.mainID] }
        instances = ids
        self.recommended = configurations
        (neverPlaces, disfavouredPlaces) = places
        isBackgroundRemovable = options.isBackgroundRemovable
        margin = options.margin
        isPrivacySensitive = options.isPrivacySensitive
        isProtected = options.isProtected
        stale = options.stale
        timeout = options.timeout
        hasCarApp = options.hasCarApp
        texture = options.texture
        mountings = options.mountings
        relevance = options.relevance
        isSuggested = options.isSuggested
        url = options.url
        about = options.about
        editTint = options.editTint
        preview = options.preview
        viewByteCount = options.viewByteCount
    }

    /// The members of a kind file that have a default.
    struct Options {
        var isBackgroundRemovable = true
        var margin = 16.0
        var isPrivacySensitive = false
        var isProtected = false
        var stale: Milliseconds?
        var timeout = Milliseconds.seconds(30)
        var hasCarApp = false
        var texture = "glass"
        var mountings = Set(WidgetMounting.allCases)
        var relevance: WidgetRelevance?
        var isSuggested = false
        var url: Template?
        var about = ""
        var editTint: String?
        var preview: JSON?
        var viewByteCount = 0
    }

    /// Whether a timeline may be posted for it.
    public var isPushed: Bool {
        switch source {
        case .pushed, .refreshed: true
        case .schedule, .each, .one, .over: false
        }
    }

    /// Whether a provider loads its timelines.
    public var isRefreshed: Bool { if case .refreshed = source { true } else { false } }

    /// Whether its content is computed, so that it is current while a connection exists (`live`).
    public var isLive: Bool { !isPushed }

    /// The size of its largest view in bytes of compact JSON: approximately what a row's entry takes besides its content.
    public let viewByteCount: Int

    /// Whether a view names a control.
    public var showsControls: Bool { views.values.contains(where: \.showsControls) }

    /// The recommended configurations with their ids, in the order of the file.
    public var recommendedConfigurations: [(id: String, configuration: JSON)] {
        instances.compactMap { id in recommended[id].map { (id, $0) } }
    }

    /// The configuration of the gallery's sample: that of the preview, else the first recommended one.
    public var sampleConfiguration: JSON {
        (recommendedConfigurations.first?.configuration ?? [:]).merging(preview?["config"] ?? [:])
    }

    /// The configuration that an id stands for; `nil` = none.
    ///
    /// An id that is a hash stands for a recommended configuration only, because it cannot be inverted.
    public func configuration(ofID id: String) -> JSON? {
        if case .each = source { return [:] }
        if let known = recommended[id] { return known }
        switch parameters.count {
        case 0: return id == WidgetParameter.mainID ? [:] : nil
        case 1:
            guard !WidgetParameter.isHashed(id), let value = parameters[0].value(of: id) else { return nil }
            var object = JSONObject()
            object[parameters[0].name] = value
            return .object(object)
        default: return nil
        }
    }

    /// The values that its templates read, with `content` as the content.
    public func context(key: Key, content: JSON, configuration: JSON) -> TemplateContext {
        var context = TemplateContext(
            key: key, attributes: .null, content: content, stateKey: "", stateTitle: "", progress: nil)
        context.widget = WidgetContext(configuration: configuration)
        return context
    }

    /// The same, with the `values` over many activities.
    public func context(key: Key, values: JSON, configuration: JSON) -> TemplateContext {
        var context = context(key: key, content: .null, configuration: configuration)
        context.widget = WidgetContext(configuration: configuration, values: values)
        return context
    }

    /// The same for the sample content; `nil` for a kind without any.
    public func previewContext(key: Key, configuration: JSON) -> TemplateContext? {
        guard let preview else { return nil }
        var context = TemplateContext(
            key: key, attributes: preview["attributes"] ?? .null, content: preview["content"] ?? .null,
            stateKey: preview["state"]?["key"]?.string ?? "", stateTitle: preview["state"]?["title"]?.string ?? "",
            progress: preview["progress"]?.double)
        context.widget = WidgetContext(
            configuration: (preview["config"] ?? [:]).merging(configuration), values: preview["values"] ?? .null,
            lifecycle: preview["lifecycle"]?.string)
        return context
    }
}

/// The values that only templates of widgets read. Boxed, because rows of activities have none.
public final class WidgetContext: Sendable {
    let configuration: JSON
    let values: JSON
    let lifecycle: String?

    public init(configuration: JSON, values: JSON = .null, lifecycle: String? = nil) {
        (self.configuration, self.values, self.lifecycle) = (configuration, values, lifecycle)
    }
}
