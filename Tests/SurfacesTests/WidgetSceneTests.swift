import Kinds
import Machines
import Surfaces
import TelltaleModel
import TestSupport
import Testing

/// `Protocols/Machines/widgets.table`.
struct WidgetSceneTests {
    @Test("Protocols/Machines/widgets.table", arguments: try TableFile("Machines/widgets.table").rows)
    func row(_ row: TableFile.Row) throws {
        let device = try DeviceWords(row[1])
        let scene = WidgetScene(
            try kind(row[2]), surface: device.surface, place: device.place, family: device.family, mode: device.mode,
            traits: device.traits, hasAccount: device.hasAccount)
        #expect(words(of: scene, namesFamily: device.family == nil) == row[3], "\(row)")
    }

    /// Of the last columns of the table.
    private func words(of scene: WidgetScene?, namesFamily: Bool) -> String {
        guard let scene else { return "not_offered" }
        var words = namesFamily ? [scene.family.rawValue] : []
        words += [scene.mode.rawValue, scene.background.rawValue, "\(JSON(scene.margin))"]
        if scene.scale > 1 { words.append("x\(scene.scale)") }
        if let behind = scene.behind { words.append("behind=\(behind)") }
        let flags = [
            ("night", scene.isNight), ("dim", scene.isLuminanceReduced), ("far", scene.isSimplified),
            ("dark", scene.isDark), ("name", scene.showsName), ("taps", scene.isInteractive), ("links", scene.hasLinks),
            ("app", scene.opensApp), ("redacted", scene.isRedacted), ("placeholder", scene.isPlaceholder),
            ("preview", scene.isPreview), ("nobody", !scene.hasAccount),
        ]
        return (words + flags.filter(\.1).map(\.0)).joined(separator: " ")
    }

    private func kind(_ text: String) throws -> WidgetKind {
        var source = JSONObject()
        source["families"] = .array(WidgetFamily.allCases.map { .string($0.rawValue) })
        var (never, disfavoured): ([JSON], [JSON]) = ([], [])
        var words = text.split(separator: " ").map { String($0) }[...]
        while let word = words.popFirst() {
            switch word {
            case "-": break
            case "only": source["families"] = .array([.string(words.removeFirst())])
            case "never": never.append(.string(words.removeFirst()))
            case "disfavoured": disfavoured.append(.string(words.removeFirst()))
            case "kept": source["backgroundRemovable"] = false
            case "protected": source["protection"] = "complete"
            case "car": source["carApp"] = true
            case "margins=0": source["margins"] = "none"
            default: throw BadWord(word: word)
            }
        }
        source["places"] = ["never": .array(never), "disfavoured": .array(disfavoured)]
        return try widgetKind(.object(source))
    }

    @Test func `an always-on display shows private parts where the setting says so`() throws {
        var traits = Traits()
        traits.isLuminanceReduced = true
        var settings = SurfaceSettings()
        settings.hidesPrivateAlwaysOn = false
        let scene = WidgetScene(try widgetKind([:]), surface: .phone, traits: traits, settings: settings)
        #expect(scene?.isRedacted == false)
    }

    @Test("Every family is in a place of the catalogue, and every mode that it is drawn in is one that it has")
    func families() throws {
        let kind = try widgetKind(["families": .array(WidgetFamily.allCases.map { .string($0.rawValue) })])
        for family in WidgetFamily.allCases {
            #expect(Catalogue.families.contains { $0.family == family.rawValue })
            for surface in Surface.allCases {
                for place in WidgetPlace.allCases {
                    for mode in [nil] + WidgetMode.allCases.map({ Optional($0) }) {
                        guard
                            let scene = WidgetScene(kind, surface: surface, place: place, family: family, mode: mode)
                        else { continue }
                        #expect(family.has(scene.mode))
                        // W72: an accessory, and all of the Smart Stack, has one target.
                        #expect(!(scene.hasLinks && (family.isAccessory || place == .smartStack)))
                    }
                }
            }
        }
    }
}

struct BadWord: Error { let word: String }

/// A kind with one view for each of its families.
func widgetKind(_ patch: JSON) throws -> WidgetKind {
    let families = patch["families"] ?? ["systemSmall", "accessoryRectangular"]
    var views = JSONObject()
    for case .string(let family) in families.array ?? [] {
        views[family] = ["title": "{{content.title}}", "text": .string("\(family) {{content.title}}")]
    }
    let base: JSON = [
        "kind": "glance", "type": "widget", "version": 1, "app": "com.example.coffee", "title": "Glance",
        "families": families, "views": .object(views),
    ]
    let (kind, faults) = Kind.read(base.merging(patch), file: "glance.json")
    guard case .widget(let widget)? = kind?.body else { throw BadWord(word: "\(faults)") }
    return widget
}

/// A device as a table or a vector names it.
struct DeviceWords {
    var surface: Surface
    var place: WidgetPlace?
    var family: WidgetFamily?
    var mode: WidgetMode?
    var traits = Traits()
    var hasAccount = true

    init(_ text: String) throws {
        let words = text.split(separator: " ").map { String($0) }
        guard let first = words.first, let surface = Surface(rawValue: first) else { throw BadWord(word: text) }
        self.surface = surface
        for word in words.dropFirst() {
            let parts = word.split(separator: "=").map { String($0) }
            guard parts.count == 2 else {
                guard word == "nobody" else { throw BadWord(word: word) }
                hasAccount = false
                continue
            }
            switch parts[0] {
            case "placement": place = WidgetPlace(rawValue: parts[1])
            case "family": family = WidgetFamily(rawValue: parts[1])
            case "mode": mode = WidgetMode(rawValue: parts[1])
            default: try traits.set(parts[0], to: parts[1])
            }
        }
    }
}
