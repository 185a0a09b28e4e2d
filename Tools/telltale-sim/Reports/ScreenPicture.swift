import Cards
import Simulation
import TelltaleModel

/// A screen with its rows, drawn in HTML.
struct ScreenPicture {
    private let display: Glimpse.Display
    private let now: Timestamp

    /// - Parameter time: Unix milliseconds of the daemon's clock, from which timers are counted down.
    init(_ display: Glimpse.Display, at time: Int64) {
        self.display = display
        now = Timestamp(milliseconds: time)
    }

    var html: HTML {
        let (name, kind) = Self.names(of: display.view)
        let label = display.name == kind ? name : "\(name) · \(display.name)"
        let away: HTML = display.isAway ? " away" : ""
        let rows = display.rows.map { (key: $0.key, row: JSON.object($0.body)) }
        let cards = rows.filter { $0.row["control"] == nil }
        let controls = rows.filter { $0.row["control"] != nil }
        let content: HTML
        switch display.view {
        case .full: content = rows.map { full($0.key, $0.row) }.joined()
        case .surface(.phone), .surface(.pad):
            content =
                island(cards.map(\.row)) + cards.map { lockScreen($0.row) }.joined()
                + controls.map { control($0.key, $0.row) }.joined()
        case .surface(.desktop): content = menuBar(rows)
        case .surface: content = rows.map { single($0.key, $0.row) }.joined()
        }
        let empty: HTML = rows.isEmpty && display.view != .surface(.desktop) ? "<p class=\"empty\">nothing</p>" : ""
        return """
            <figure class="device \(kind)\(away)"><figcaption>\(label)\(display.isAway ? ", away" : "")</figcaption>\
            <div class="glass">\(content)\(empty)</div></figure>
            """
    }

    private static func names(of view: ViewName) -> (name: String, kind: String) {
        switch view {
        case .full: ("Full view", "full")
        case .surface(.phone): ("iPhone", "phone")
        case .surface(.pad): ("iPad", "pad")
        case .surface(.watch): ("Watch", "watch")
        case .surface(.carplay): ("CarPlay", "carplay")
        case .surface(.desktop): ("Mac menu bar", "desktop")
        case .surface(.standby): ("StandBy", "standby")
        case .surface(.vision): ("Vision", "vision")
        }
    }

    // MARK: Cards

    private func single(_ key: String, _ row: JSON) -> HTML {
        if row["control"] != nil { return control(key, row) }
        return card(row, presentation(row["presentation"]?.string ?? "", row["view"]))
    }

    private func lockScreen(_ row: JSON) -> HTML {
        guard let place = row["banner"] ?? row["lockScreen"] else { return "" }
        return card(row, presentation("lockScreen", place["view"]))
    }

    private func card(_ row: JSON, _ content: HTML) -> HTML {
        let lifecycle = row["lifecycle"]?.string ?? ""
        let isFaded = row["stale"]?.bool == true || lifecycle == "ended" || lifecycle == "stale"
        let look: HTML = (row["highlighted"]?.bool == true ? " lit" : "") + (isFaded ? " faded" : "")
        let note: HTML =
            ["ended", "stale", "pending"].contains(lifecycle) ? "<span class=\"tag\">\(lifecycle)</span>" : ""
        let app: HTML = row["appName"]?.string.map { "<span class=\"app\">\($0)</span>" } ?? ""
        return "<div class=\"card\(look)\">\(app)\(note)\(content)</div>"
    }

    private func presentation(_ name: String, _ view: JSON?) -> HTML {
        switch name {
        case "compact":
            return
                "<div class=\"row\">\(ViewPicture(view?["leading"]).inline(at: now))\(ViewPicture(view?["trailing"]).inline(at: now))</div>"
        case "minimal": return ViewPicture(view).inline(at: now)
        case "expanded":
            let center = ViewPicture(view?["center"]).stacked(at: now)
            return presentation("compact", view) + center + ViewPicture(view?["bottom"]).stacked(at: now)
        case _: return ViewPicture(view).stacked(at: now)
        }
    }

    /// The Dynamic Island: one compact, or two minimal ones.
    private func island(_ rows: [JSON]) -> HTML {
        guard display.view == .surface(.phone) else { return "" }
        let shown = rows.filter { $0["island"]?["presentation"] != nil }
            .sorted { ($0["island"]?["order"]?.integer ?? 0) < ($1["island"]?["order"]?.integer ?? 0) }
        let pieces = shown.map { row -> HTML in
            let view = row["island"]?["view"]
            guard row["island"]?["presentation"]?.string == "compact" else {
                return "<span class=\"island\">\(ViewPicture(view).inline(at: now))</span>"
            }
            return """
                <span class="island wide">\(ViewPicture(view?["leading"]).inline(at: now))\
                \(ViewPicture(view?["trailing"]).inline(at: now))</span>
                """
        }
        return "<div class=\"top\">\(pieces.isEmpty ? "<span class=\"island\"></span>" : pieces.joined())</div>"
    }

    private func menuBar(_ rows: [(key: String, row: JSON)]) -> HTML {
        let items = rows.map { key, row -> HTML in
            if row["control"] != nil {
                let symbol = row["symbol"]?.string.map(Symbols.glyph) ?? "●"
                return "<span class=\"item\">\(symbol)\(row["shown"]?.bool == true ? " on" : "")</span>"
            }
            let faded: HTML = row["stale"]?.bool == true ? " faded" : ""
            return
                "<span class=\"item\(faded)\">\(presentation(row["presentation"]?.string ?? "minimal", row["view"]))</span>"
        }
        return
            "<div class=\"menubar\"><span class=\"item\">●</span><span class=\"space\"></span>\(items.joined())</div>"
    }

    // MARK: Controls and full rows

    private func control(_ key: String, _ row: JSON) -> HTML {
        let symbol: HTML = row["symbol"]?.string.map { "<span class=\"symbol\">\(Symbols.glyph($0))</span>" } ?? ""
        let isAvailable = row["available"]?.bool ?? true
        let state: String
        switch row["phase"]?.string {
        case _ where row["status"]?.string != nil: state = row["status"]?.string ?? ""
        case _ where !isAvailable: state = "unavailable"
        case "pending"?: state = row["wanted"]?.bool == true ? "turning on …" : "turning off …"
        case "performing"?: state = "…"
        case _: state = row["text"]?.string ?? ""
        }
        let face: HTML =
            row["control"]?.string == "button"
            ? "<span class=\"press\"></span>"
            : row["shown"]?.bool == true ? "<span class=\"switch on\"></span>" : "<span class=\"switch\"></span>"
        return """
            <div class="card control\(isAvailable ? "" : " faded")"><div class="row"><span>\(symbol)<b>\(row["title"]?.string ?? key)</b>\
            </span>\(face)</div><p>\(state)</p></div>
            """
    }

    private func full(_ key: String, _ row: JSON) -> HTML {
        if row["control"] != nil { return control(key, row) }
        let members = ["attributes", "content"].flatMap { name in
            (row[name]?.object ?? JSONObject()).map { "\($0.name) \($0.value.string ?? $0.value.description)" }
        }
        let progress = ViewPicture(["progress": row["progress"] ?? .null]).stacked(at: now)
        return card(
            row,
            "<p class=\"key\">\(key)</p><p><b>\(row["state"]?.string ?? "?")</b></p><p>\(members.joined(separator: " · "))</p>\(progress)"
        )
    }
}
