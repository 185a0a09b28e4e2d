/// The ids of suggestions, as devices have read them: an id follows from the stack and the widget, so it is the same on every
/// board, on every node and after a restart.
final class SuggestionNames {
    /// The tile that an id stands for.
    struct Origin: Hashable {
        var stack: String
        var widget: String
    }

    private var ids: [Origin: String] = [:]
    private var origins: [String: Origin] = [:]

    /// In the order of their bytes.
    var all: [String] { origins.keys.sorted() }

    func origin(of id: String) -> Origin? { origins[id] }
    func id(of widget: String, in stack: String) -> String? { ids[Origin(stack: stack, widget: widget)] }

    static func isID(_ id: some StringProtocol) -> Bool { id.hasPrefix("~") }

    /// Whether an id may stand for a tile: it is learned where nothing is known of either.
    func mayName(_ id: String, _ widget: String, in stack: String) -> Bool {
        let origin = Origin(stack: stack, widget: widget)
        if ids[origin] == nil, origins[id] == nil, Self.isID(id) { (ids[origin], origins[id]) = (id, origin) }
        return ids[origin] == id
    }
}
