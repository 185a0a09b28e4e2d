public import TelltaleModel

/// The path that a guard or an assignment reads: `content.eta`, `attributes.shop`, `event.content.shelf`.
public struct ValuePath: Hashable, Sendable, CustomStringConvertible {
    public enum Root: String, Hashable, Sendable {
        case attributes, content, event
    }

    public var root: Root
    /// The names below the root; empty for the root itself.
    public var names: [String]

    public init(root: Root, names: [String]) {
        self.root = root
        self.names = names
    }

    /// `nil` unless `text` is a root followed by dots and names of `[A-Za-z0-9_-]`. A name of digits is an index into
    /// an array.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let root = parts.first.flatMap({ Root(rawValue: String($0)) }) else { return nil }
        guard parts[1...].allSatisfy({ $0.isName(with: "_-", upTo: .max) }) else { return nil }
        self.init(root: root, names: parts[1...].map { String($0) })
    }

    public var description: String { ([root.rawValue] + names).joined(separator: ".") }

    /// The value at the path, or `nil`.
    public func value(in values: MachineValues) -> JSON? {
        switch root {
        case .attributes: Self.value(of: values.attributes, at: names[...])
        case .content: Self.value(of: values.content, at: names[...])
        case .event:
            switch values.boundEvent {
            case .json(let event): Self.value(of: event, at: names[...])
            case .named(let name, let content):
                // Reads as if the event were an object, without making that object.
                switch names.first {
                case nil: values.event
                case "type": Self.value(of: .string(name), at: names.dropFirst())
                case "content": Self.value(of: content, at: names.dropFirst())
                default: nil
                }
            }
        }
    }

    private static func value(of root: JSON, at names: ArraySlice<String>) -> JSON? {
        var value = root
        for name in names {
            switch value {
            case .object(let object):
                guard let member = object[name] else { return nil }
                value = member
            case .array(let elements):
                guard let index = Int(name), elements.indices.contains(index) else { return nil }
                value = elements[index]
            case .null, .bool, .integer, .number, .string: return nil
            }
        }
        return value
    }
}

/// The values that guards and assignments read and that assignments change.
public struct MachineValues: Sendable {
    /// The activity's static data: an object.
    public var attributes: JSON
    /// The activity's content state: an object. Assignments set its members.
    public var content: JSON

    /// The event being processed, `{"type": name, "content": {…}}`, or null for a timer and for the start.
    ///
    /// As with SCXML's `_event`, it keeps its value while subsequent `always` transitions are taken.
    public var event: JSON {
        get {
            switch boundEvent {
            case .json(let event): event
            case .named(let name, let content): ["type": .string(name), "content": content]
            }
        }
        set { boundEvent = .json(newValue) }
    }

    /// The parts of an event. Its object is made only when a guard reads it, which few do.
    enum BoundEvent: Sendable {
        case json(JSON)
        case named(String, content: JSON)
    }

    var boundEvent: BoundEvent

    public init(attributes: JSON = [:], content: JSON = [:], event: JSON = .null) {
        self.attributes = attributes
        self.content = content
        boundEvent = .json(event)
    }
}
