public import TelltaleModel
public import TelltaleWire

/// The viewer of a request: `surface=`, `account=`, `trait=NAME:VALUE` and `caps=widgets` in its query.
public struct Situation: Hashable, Sendable {
    public var surface: Surface?
    public var account: String?
    public var traits: [Attribute] = []
    /// Whether the client supports widgets: patterns of everything then include widgets and tiles.
    public var showsWidgets = false
    /// For `HELLO`.
    public var capabilities: [String] { showsWidgets ? ["widgets"] : [] }

    public init() {}

    /// Whether everything has its default, so that a shared connection will do.
    public var isDefault: Bool { surface == nil && account == nil && traits.isEmpty && !showsWidgets }

    /// - Throws: `bad_attr`.
    public init(_ query: Query) throws(Problem) {
        if let text = try query["surface"] {
            guard let surface = Surface(rawValue: text) else {
                let names = Surface.allCases.map(\.rawValue).joined(separator: ", ")
                throw Problem("bad_attr", "there is no surface \"\(text)\"; there are \(names)")
            }
            self.surface = surface
        }
        account = try query.word("account")
        if let text = try query["caps"] {
            guard text == "widgets" else { throw Problem("bad_attr", "caps= is to be widgets") }
            showsWidgets = true
        }
        for text in query.all("trait") {
            guard let colon = text.firstIndex(of: ":") else { throw .trait(text) }
            let name = String(text[..<colon])
            let value = try Query.word(String(text[text.index(after: colon)...]), "trait")
            guard let trait = TraitName(rawValue: name), trait.takes(value),
                !traits.contains(where: { $0.name == name })
            else { throw .trait(text) }
            traits.append(Attribute(name: name, value: value))
        }
    }
}

extension Problem {
    fileprivate static func trait(_ text: String) -> Problem {
        Problem(
            "bad_attr",
            "trait=\(text) is not taken; write trait=NAME:VALUE, each NAME at most once, of "
                + TraitName.allCases.map { "\($0.rawValue):\($0.values)" }.joined(separator: " "))
    }
}
