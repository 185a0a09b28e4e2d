public import TelltaleModel
public import TelltaleStatechart

/// A text with placeholders `{{path | filter}}` (Protocols/Kinds/README.md).
///
/// It is parsed once, when its kind is loaded, and rendered for every change that a subscriber sees.
public struct Template: Hashable, Sendable {
    /// The source text.
    public let text: String

    enum Part: Hashable, Sendable {
        case literal(String)
        case value(TemplatePath, [TemplateFilter])
    }

    let parts: [Part]

    /// Parses `text`.
    ///
    /// A path that no template can read and an unknown filter are no syntax errors: the path renders as an empty text,
    /// the filter passes its value on, and the lint reports both.
    ///
    /// - Throws: ``TemplateSyntaxError``.
    public init(_ text: String) throws(TemplateSyntaxError) {
        self.text = text
        var parser = TemplateParser(text)
        parts = try parser.parts()
    }

    /// Makes a literal text, in which braces have no meaning.
    init(literal text: String) {
        self.text = text
        parts = [.literal(text)]
    }

    init(path: TemplatePath) {
        text = "{{\(path)}}"
        parts = [.value(path, [])]
    }

    /// The size limit of a rendered text, in bytes. It bounds a template that repeats a long content many times.
    public static let renderedByteLimit = 2_048

    /// Renders the text. A missing value renders as an empty text. A result over ``renderedByteLimit`` is cut between
    /// two Unicode scalars.
    public func rendered(in context: TemplateContext) -> String {
        if parts.count == 1, case .literal(let text) = parts[0] { return Self.bounded(text) }
        var result = ""
        for part in parts {
            switch part {
            case .literal(let text): result += text
            case .value(let path, let filters):
                result += Self.text(of: Self.value(path, filters, in: context))
            }
            if result.utf8.count > Self.renderedByteLimit { return Self.bounded(result) }
        }
        return result
    }

    /// `text`, cut between two Unicode scalars to at most ``renderedByteLimit`` bytes.
    public static func bounded(_ text: String) -> String {
        guard text.utf8.count > renderedByteLimit else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: renderedByteLimit)
        while text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
        return String(text[..<end])
    }

    /// The value of a template that is a single placeholder, or else the rendered text; `nil` for a missing value.
    ///
    /// It keeps a number a number, for a date or a fraction.
    public func value(in context: TemplateContext) -> JSON? {
        if parts.count == 1, case .value(let path, let filters) = parts[0] {
            return Self.value(path, filters, in: context)
        }
        return .string(rendered(in: context))
    }

    static func value(_ path: TemplatePath, _ filters: [TemplateFilter], in context: TemplateContext) -> JSON? {
        filters.reduce(path.value(in: context)) { value, filter in filter.applied(to: value) }
    }

    static func text(of value: JSON?) -> String {
        switch value {
        case nil, .null?: ""
        case .string(let text)?: text
        case .bool?, .integer?, .number?, .array?, .object?: value?.description ?? ""
        }
    }
}

public struct TemplateSyntaxError: Error, Hashable, Sendable {
    /// Offset in bytes from the start of the text.
    public var offset: Int
    public var reason: String
}

/// The values that templates can read.
public struct TemplateContext: Sendable {
    /// The key, from which a template derives kind and id on demand, which is rare.
    public var key: Key
    public var attributes: JSON
    public var content: JSON
    /// The key of the innermost active state; in parallel regions, that of the first region.
    public var stateKey: String
    /// The title of the innermost active state; if there are several, that of the parallel state around them.
    public var stateTitle: String
    public var progress: Double?
    /// The innermost active state of each region, outer regions first.
    public var regions: [Region] = []
    /// The values that only templates of widgets read; `nil` for an activity.
    public var widget: WidgetContext?
    /// The activity, for views that depend on its state; `nil` if they do not.
    public var subject: GuardSubject?

    /// The innermost active state of one region; of a region with regions, the first's.
    public struct Region: Hashable, Sendable {
        /// The region's own key, and its path from the machine.
        public var name: String
        public var path: String
        public var stateKey: String
        public var stateTitle: String

        public init(name: String, path: String, stateKey: String, stateTitle: String) {
            (self.name, self.path, self.stateKey, self.stateTitle) = (name, path, stateKey, stateTitle)
        }
    }

    public init(
        key: Key, attributes: JSON, content: JSON, stateKey: String, stateTitle: String,
        progress: Double?
    ) {
        self.key = key
        self.attributes = attributes
        self.content = content
        self.stateKey = stateKey
        self.stateTitle = stateTitle
        self.progress = progress
    }
}

/// The path of one placeholder.
enum TemplatePath: Hashable, Sendable, CustomStringConvertible {
    case attributes([String])
    case content([String])
    case stateTitle
    case stateKey
    /// `states.REGION.title` and `states.REGION.key`; the region by its key, or by its path.
    case region(String, RegionPart)
    case progress
    case id
    case kind
    case widget(WidgetPath)
    /// A path that is not in the grammar and never has a value.
    case unknown(String)

    enum RegionPart: String, Hashable, Sendable {
        case title, key
    }

    /// A path that only a widget has.
    enum WidgetPath: Hashable, Sendable {
        case configuration([String])
        case values([String])
        case lifecycle
    }

    init(_ text: String) {
        let names = text.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        switch (names[0], names.count) {
        case ("attributes", _): self = .attributes(Array(names.dropFirst()))
        case ("content", _): self = .content(Array(names.dropFirst()))
        case ("state", 2) where names[1] == "title": self = .stateTitle
        case ("state", 2) where names[1] == "key": self = .stateKey
        case ("states", 3...):
            guard let part = RegionPart(rawValue: names[names.count - 1]) else {
                self = .unknown(text)
                return
            }
            self = .region(names[1..<names.count - 1].joined(separator: "."), part)
        case ("progress", 1): self = .progress
        case ("id", 1): self = .id
        case ("kind", 1): self = .kind
        case ("config", 2...): self = .widget(.configuration(Array(names.dropFirst())))
        case ("values", 2...): self = .widget(.values(Array(names.dropFirst())))
        case ("lifecycle", 1): self = .widget(.lifecycle)
        default: self = .unknown(text)
        }
    }

    var description: String {
        switch self {
        case .attributes(let names): (["attributes"] + names).joined(separator: ".")
        case .content(let names): (["content"] + names).joined(separator: ".")
        case .stateTitle: "state.title"
        case .stateKey: "state.key"
        case .region(let name, let part): "states.\(name).\(part.rawValue)"
        case .progress: "progress"
        case .id: "id"
        case .kind: "kind"
        case .widget(.configuration(let names)): (["config"] + names).joined(separator: ".")
        case .widget(.values(let names)): (["values"] + names).joined(separator: ".")
        case .widget(.lifecycle): "lifecycle"
        case .unknown(let text): text
        }
    }

    func value(in context: TemplateContext) -> JSON? {
        switch self {
        case .attributes(let names): Self.descend(context.attributes, names[...])
        case .content(let names): Self.descend(context.content, names[...])
        case .stateTitle: .string(context.stateTitle)
        case .stateKey: .string(context.stateKey)
        case .region(let name, let part):
            context.regions.first { $0.name == name || $0.path == name }.map { region in
                .string(part == .title ? region.stateTitle : region.stateKey)
            }
        case .progress: context.progress.flatMap { $0.isFinite ? JSON($0) : nil }
        case .id: .string(String(context.key.id))
        case .kind: .string(String(context.key.kind))
        case .widget(.configuration(let names)):
            context.widget.flatMap { Self.descend($0.configuration, names[...]) }
        case .widget(.values(let names)): context.widget.flatMap { Self.descend($0.values, names[...]) }
        case .widget(.lifecycle): context.widget?.lifecycle.map { .string($0) }
        case .unknown: nil
        }
    }

    private static func descend(_ value: JSON, _ names: ArraySlice<String>) -> JSON? {
        guard let name = names.first else { return value }
        switch value {
        case .object(let object): return object[name].flatMap { descend($0, names.dropFirst()) }
        case .array(let elements):
            guard let index = Int(name), elements.indices.contains(index) else { return nil }
            return descend(elements[index], names.dropFirst())
        case .null, .bool, .integer, .number, .string: return nil
        }
    }
}
