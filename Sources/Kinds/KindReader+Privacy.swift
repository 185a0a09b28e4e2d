internal import TelltaleModel
internal import TelltaleStatechart

/// What is private in one place and shown in another.
extension KindReader {
    mutating func note(privateParts: [String], of owner: String, at path: String) {
        for part in privateParts { privatePlaces.append((Self.join(path, part), owner)) }
        // `else` is the text while a timer has no date.
        for part in privateParts where part == "text" || part.hasSuffix(".text") {
            privatePlaces.append((Self.join(path, part.dropLast("text".count) + "else"), owner))
        }
    }

    /// Refuses names of private parts that the view at `path` does not have: the parts that they mean would be shown.
    mutating func refuseUnknown(privateParts names: [String], among parts: [String], at path: String) {
        for (index, part) in names.enumerated() where !parts.contains(part) {
            refuse(
                "\(Self.join(path, "private"))[\(index)]", "the view has no part \(quoted(part))",
                advice: Self.advice(onUnknown: part, among: parts))
        }
    }

    static func advice(onUnknown part: String, among parts: [String]) -> String {
        Spelling.nearest(to: part, among: parts).map { "did you mean \(quoted($0))?" }
            ?? "take it out, or add the part"
    }

    /// Reports values of private parts that other parts, alerts or the link show. A summary is shown.
    mutating func lintPrivacy() {
        guard !privatePlaces.isEmpty else { return }
        var owners: [String: String] = [:]
        var shown: [(value: String, path: String)] = []
        for (template, path) in templates {
            let owner = privatePlaces.first { place in
                path == place.path || path.hasPrefix(place.path + ".") || path.hasPrefix(place.path + "[")
            }?.owner
            let isDrawn = path.hasPrefix("views.") || path == "url" || path.contains(".alert.")
            for case .value(let value, _) in template.parts where isDrawn {
                switch value {
                case .attributes, .content: break
                default: continue
                }
                if let owner {
                    owners[value.description] = owners[value.description] ?? owner
                } else {
                    shown.append((value.description, path))
                }
            }
        }
        for (value, path) in shown {
            guard let owner = owners[value] else { continue }
            warn(
                path, "\(value) is private in \(owner) and shown in \(Self.drawnPlace(path))",
                advice: "make it private there too, or show something else")
        }
    }

    /// The view, the alert or the link that a path is in: `small` of `views.small.title`.
    private static func drawnPlace(_ path: String) -> String {
        if path.hasPrefix("views.") { return String(path.dropFirst("views.".count).prefix { $0 != "." }) }
        guard let alert = path.firstRange(of: ".alert.") else { return path }
        return String(path[..<alert.upperBound].dropLast())
    }
}
