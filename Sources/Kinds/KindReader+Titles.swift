internal import TelltaleModel
internal import TelltaleStatechart

// The titles of states, and the names by which templates read the titles of regions.

extension KindReader {
    /// The keys of all regions, and their paths if they differ; without duplicates.
    static func regions(in state: StateDescription, path: String = "") -> [String] {
        var names: [String] = []
        // Bounded: the reader has refused deeper nesting.
        for child in state.children {
            let own = path.isEmpty ? child.key : "\(path).\(child.key)"
            let found = (state.kind == .parallel ? [child.key, own] : []) + regions(in: child, path: own)
            for name in found where !names.contains(name) { names.append(name) }
        }
        return names
    }

    /// A template that is rendered when a row is written, and so cannot refer to itself.
    mutating func title(_ object: JSONObject, at path: String) -> Template? {
        // Kinds accepted before titles were templates keep their meaning, literal braces included.
        if isAdmitted, let text = object["title"]?.string, (try? Template(text)) == nil {
            return Template(literal: text)
        }
        guard let text = text(object, "title", at: path), let title = template(text, at: Self.join(path, "title"))
        else { return nil }
        for case .value(let source, _) in title.parts {
            switch source {
            case .stateTitle, .region(_, .title):
                if isAdmitted { return Template(literal: title.text) }
                error(
                    Self.join(path, "title"), "a state's title cannot read {{\(source)}}, which is a state's title",
                    advice: "read attributes.…, content.…, state.key, progress, id or kind")
                return nil
            case .attributes, .content, .stateKey, .region(_, .key), .progress, .id, .kind, .widget, .unknown: break
            }
        }
        return title
    }
}
