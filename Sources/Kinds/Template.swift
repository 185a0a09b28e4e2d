public import Model

/// A text with `{{path | filter}}` in it (definitions.md).
public struct Template: Hashable, Sendable {
    /// As it was written.
    public let text: String

    /// Parses `text`.
    ///
    /// - Throws: ``TemplateSyntaxError``.
    public init(_ text: String) throws(TemplateSyntaxError) {
        self.text = text
    }

    /// Fills it in. A missing value is an empty text.
    public func rendered(in context: TemplateContext) -> String { text }
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
    public var kind: String
    public var id: String
    public var attributes: JSON
    public var content: JSON
    /// Of the innermost active state; of several regions, the first's.
    public var stateKey: String
    public var stateTitle: String
    public var progress: Double?

    public init(
        kind: String, id: String, attributes: JSON, content: JSON, stateKey: String, stateTitle: String,
        progress: Double?
    ) {
        self.kind = kind
        self.id = id
        self.attributes = attributes
        self.content = content
        self.stateKey = stateKey
        self.stateTitle = stateTitle
        self.progress = progress
    }
}

/// The parts of one presentation: `symbol text title subtitle timer else progress tint buttons`, others as they are.
public struct ViewTemplate: Sendable {
    public init() {}

    /// Appends the filled-in view as one JSON object.
    ///
    /// `timer` becomes an absolute date in Unix ms, or, where there is none, `text` from `else`; `progress: true` becomes
    /// the activity's fraction.
    public func write(to writer: inout JSONWriter, context: TemplateContext) {
        writer.beginObject()
        writer.endObject()
    }
}
