public import TelltaleModel

/// A text with `{{path | filter}}` in it (Kinds/README.md).
///
/// Parsed once, when its kind is loaded; filled in at every change that somebody sees.
public struct Template: Hashable, Sendable {
    /// As it was written.
    public let text: String

    enum Part: Hashable, Sendable {
        case literal(String)
        case value(TemplatePath, [TemplateFilter])
    }

    let parts: [Part]

    /// Parses `text`.
    ///
    /// A path that no template can read is not a fault: it is an empty text, and the lint tells it. Nor is a filter that
    /// does not exist: the value passes through it as it is.
    ///
    /// - Throws: ``TemplateSyntaxError``.
    public init(_ text: String) throws(TemplateSyntaxError) {
        self.text = text
        var parser = TemplateParser(text)
        parts = try parser.parts()
    }

    /// A text in which nothing is filled in, braces included.
    init(literal text: String) {
        self.text = text
        parts = [.literal(text)]
    }

    init(path: TemplatePath) {
        text = "{{\(path)}}"
        parts = [.value(path, [])]
    }

    /// The longest text that a template gives, in bytes: one that reads the content many times must not multiply it.
    public static let renderedByteLimit = 2_048

    /// Fills it in. A missing value is an empty text, and what is longer than ``renderedByteLimit`` is cut between two
    /// Unicode scalars.
    public func rendered(in context: TemplateContext) -> String {
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

    /// `text`, cut between two Unicode scalars where it is longer than ``renderedByteLimit``.
    public static func bounded(_ text: String) -> String {
        guard text.utf8.count > renderedByteLimit else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: renderedByteLimit)
        while text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
        return String(text[..<end])
    }

    /// Its value where it is one `{{…}}` and nothing else, else its text; `nil` for a missing one.
    ///
    /// So a number of the content stays a number where a date or a fraction is wanted.
    func value(in context: TemplateContext) -> JSON? {
        if parts.count == 1, case .value(let path, let filters) = parts[0] {
            return Self.value(path, filters, in: context)
        }
        return .string(rendered(in: context))
    }

    private static func value(_ path: TemplatePath, _ filters: [TemplateFilter], in context: TemplateContext) -> JSON? {
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
    /// Bytes from the start of the text.
    public var offset: Int
    public var reason: String

    public init(offset: Int, reason: String) {
        self.offset = offset
        self.reason = reason
    }
}

/// What templates can read.
public struct TemplateContext: Sendable {
    /// Its kind and its id: cut out of it where a template asks, which is seldom.
    public var key: Key
    public var attributes: JSON
    public var content: JSON
    /// Of the innermost active state; of several regions, the first's.
    public var stateKey: String
    public var stateTitle: String
    public var progress: Double?

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

/// What one `{{…}}` reads.
enum TemplatePath: Hashable, Sendable, CustomStringConvertible {
    case attributes([String])
    case content([String])
    case stateTitle
    case stateKey
    case progress
    case id
    case kind
    /// A path that leads nowhere, whatever the activity: always missing.
    case unknown(String)

    init(_ text: String) {
        let names = text.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        switch (names[0], names.count) {
        case ("attributes", _): self = .attributes(Array(names.dropFirst()))
        case ("content", _): self = .content(Array(names.dropFirst()))
        case ("state", 2) where names[1] == "title": self = .stateTitle
        case ("state", 2) where names[1] == "key": self = .stateKey
        case ("progress", 1): self = .progress
        case ("id", 1): self = .id
        case ("kind", 1): self = .kind
        default: self = .unknown(text)
        }
    }

    var description: String {
        switch self {
        case .attributes(let names): (["attributes"] + names).joined(separator: ".")
        case .content(let names): (["content"] + names).joined(separator: ".")
        case .stateTitle: "state.title"
        case .stateKey: "state.key"
        case .progress: "progress"
        case .id: "id"
        case .kind: "kind"
        case .unknown(let text): text
        }
    }

    func value(in context: TemplateContext) -> JSON? {
        switch self {
        case .attributes(let names): Self.descend(context.attributes, names[...])
        case .content(let names): Self.descend(context.content, names[...])
        case .stateTitle: .string(context.stateTitle)
        case .stateKey: .string(context.stateKey)
        case .progress: context.progress.flatMap { $0.isFinite ? JSON($0) : nil }
        case .id: .string(String(context.key.id))
        case .kind: .string(String(context.key.kind))
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
