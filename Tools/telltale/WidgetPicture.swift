import Kinds
import Surfaces
import TelltaleModel

/// The row of a widget in lines of text, with every entry, as `telltale kinds run` prints it.
enum WidgetPicture {
    /// - Parameter label: In front of the first line.
    static func lines(of row: JSON, label: String = "", at now: Timestamp) -> [String] {
        func text(_ name: String) -> String { row[name]?.string ?? "" }
        let head = "  \(label)\(text("presentation"))  \(text("mode")), background \(text("background"))"
        let entries = (row["entries"]?.array ?? []).map { entry -> String in
            let span = Timestamp(milliseconds: entry["date"]?.integer ?? 0) - now
            let marks = ["placeholder", "stale"].filter { entry[$0]?.bool == true }.map { " (\($0))" }.joined()
            return "    \(Self.text(of: span))\(marks)  \(entry["view"]?.description ?? "")"
        }
        return ([head] + entries).map(\.harmless)
    }

    /// `now`, or how far ahead: `+1h30m`.
    private static func text(of span: Milliseconds) -> String {
        guard span > .zero else { return "now" }
        var (rest, text) = ((span.count + 999) / 1_000, "+")
        for (unit, name) in [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")] as [(Int64, String)] where rest >= unit {
            text += "\(rest / unit)\(name)"
            rest %= unit
        }
        return text
    }

    /// The first place of a surface that shows a family of a kind; `nil` if none does.
    static func scene(of definition: WidgetKind, _ family: WidgetFamily, on surface: Surface) -> WidgetScene? {
        var traits = Traits()
        if let situation = definition.relevance?.situations.first {
            try? traits.set(situation.trait, to: situation.value)
        }
        return WidgetPlace.allCases.lazy.compactMap { place in
            WidgetScene(definition, surface: surface, place: place, family: family, traits: traits)
        }.first { !$0.isPreview }
    }
}
