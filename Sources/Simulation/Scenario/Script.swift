public import TelltaleModel

/// A screen with a name, which steps and expectations speak of.
public struct StageScreen: Sendable, Hashable {
    public var name: String
    /// A surface's name, or `full`.
    public var view: String
    public var account: String?
    public var traits: [String]
    /// The board that it shows, with its `@`; `nil` = everything but boards.
    public var board: String?
}

/// A row that a screen must show, or must not show.
public struct ExpectedView: Sendable, Hashable {
    public var screen: String
    public var key: String
    /// Members that the row has at least; `nil` when the screen must not show the key.
    public var shows: JSONObject?

    /// Whether a row is as it is to be: every member named is there and alike, and texts may be inside longer ones'
    /// places only whole.
    func holds(_ body: JSONObject?) -> Bool {
        guard let shows else { return body == nil }
        guard let body else { return false }
        return JSON.object(body).contains(.object(shows))
    }

    var text: String {
        shows.map { "\(screen) shows \(key) with \(JSON.object($0))" } ?? "\(screen) does not show \(key)"
    }
}

/// The request of a step about a board.
public struct TileStep: Sendable, Hashable {
    /// `@BOARD/ID`.
    public var key: String
    /// As `do=` has it.
    public var action: String
    /// Of the widget that is placed: its kind, or its key.
    public var widget: String?
    /// The other words, as `family=systemSmall`.
    public var words: [String] = []
    public var configuration: JSONObject?

    func line(eid: String? = nil) -> String {
        var line = (["TILE \(key)", "do=\(action)"] + words).joined(separator: " ")
        if let widget { line += " widget=\(widget)" }
        if let eid { line += " eid=\(eid)" }
        if let configuration { line += " {\"configuration\":\(JSON.object(configuration))}" }
        return line
    }
}

/// One thing that happens on the stage, in its turn: not before its time, and not before the step before it is done.
public struct ScriptStep: Sendable, Hashable {
    public enum Action: Sendable, Hashable {
        /// An event of the order system.
        case post(key: String, event: String, accounts: [String], tail: JSONObject)
        /// A person does something on a screen.
        case set(key: String, isOn: Bool, screen: String)
        case press(key: String, screen: String)
        case open(key: String, screen: String)
        case dismiss(key: String, screen: String)
        /// A person arranges a board on a screen: the words and the tail of `TILE`.
        case tile(TileStep, screen: String)
        /// A screen loses its connection, or comes back.
        case connection(isLost: Bool, screen: String)
        /// The situation of a screen changes: `locked=yes`, `dashboard=hidden`, …
        case traits([String], screen: String)
        case expect(ExpectedView, within: Int64)
        /// Only a caption.
        case say
    }

    /// Milliseconds after the beginning.
    public var at: Int64
    public var action: Action
    /// The caption for a viewer.
    public var text: String?
    public let path: String
}

extension JSON {
    /// Whether everything that `part` names is here, alike. An array is alike only as a whole.
    func contains(_ part: JSON) -> Bool {
        guard case .object(let members) = part, let own = object else { return self == part }
        return members.allSatisfy { member in own[member.name]?.contains(member.value) == true }
    }

    /// With every text exchanged, at any depth.
    func mappingTexts(_ body: (String) -> JSON) -> JSON {
        switch self {
        case .string(let text): return body(text)
        case .array(let array): return .array(array.map { $0.mappingTexts(body) })
        case .object(var object):
            for member in object { object[member.name] = member.value.mappingTexts(body) }
            return .object(object)
        case .null, .bool, .integer, .number: return self
        }
    }
}
