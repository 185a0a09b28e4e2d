import Kinds
import Machines
import Surfaces
import TelltaleModel
import Testing

/// Rows of widgets. Vectors W-V are those of Protocols/Widgets/rules.md.
struct WidgetRowTests {
    private static let start = Timestamp(milliseconds: 1_763_719_200_000)

    /// The row of one device, with `content` from the beginning on; `nil` where it is not offered.
    private func row(
        _ view: JSON, on device: String, content: JSON? = ["title": "Ada"], more: JSON = [:],
        at span: Milliseconds = .zero,
        catalogueDevice: String? = nil
    ) throws -> JSON? {
        let words = try DeviceWords(device)
        let family =
            words.family
            ?? WidgetScene.standardFamily(
                at: words.place ?? WidgetScene.standardPlace(on: words.surface), on: words.surface)
        let patch: JSON = ["families": [.string(family.rawValue)], "views": .object(object(family.rawValue, view))]
        let source: JSON = [
            "kind": "glance", "type": "widget", "version": 1, "app": "com.example.coffee", "title": "Glance",
            "url": "https://example.com/{{id}}",
        ]
        let (kind, faults) = Kind.read(source.merging(patch).merging(more), file: "glance.json")
        guard let kind, case .widget(let definition) = kind.body else { throw BadWord(word: "\(faults)") }
        guard
            let scene = WidgetScene(
                definition, surface: words.surface, place: words.place, family: words.family, mode: words.mode,
                traits: words.traits, hasAccount: words.hasAccount)
        else { return nil }
        var widget = Widget(configuration: [:], at: Self.start)
        if let content {
            let timeline = WidgetTimeline(entries: [WidgetEntry(date: Self.start, content: content)])
            _ = widget.apply(.timeline(timeline), kind: definition, at: Self.start)
        }
        var writer = JSONWriter()
        WidgetRow.write(
            widget, key: try #require(Key("glance/main")), kind: kind, definition: definition, scene: scene,
            moments: widget.moments(at: Self.start + span, kind: definition),
            device: catalogueDevice.flatMap { Catalogue.device(named: $0) },
            control: { key, isInteractive, writer in
                writer.beginObject()
                writer.member("key", key)
                writer.member("interactive", isInteractive)
                writer.endObject()
                return true
            }, to: &writer)
        return try JSONParser().parse(writer.bytes.span)
    }

    private func object(_ name: String, _ value: JSON) -> JSONObject {
        var object = JSONObject()
        object[name] = value
        return object
    }

    private func view(_ view: JSON, on device: String, more: JSON = [:]) throws -> JSON? {
        try row(view, on: device, more: more)?["entries"]?.array?.first?["view"]
    }

    @Test(
        "W-V71: in the accented mode an image without an option, and with accented, is white; on the watch accented has the face's colour"
    )
    func accentedImages() throws {
        #expect(try treatment(nil, "phone tint=blue") == "white")
        #expect(try treatment("accented", "phone tint=blue") == "white")
        #expect(try treatment(nil, "watch tint=blue") == "white")
        #expect(try treatment("accented", "watch tint=blue") == "accent")
    }

    @Test("W-V72: desaturated and accentedDesaturated on a phone and a watch")
    func desaturatedImages() throws {
        #expect(try treatment("desaturated", "phone tint=blue") == "desaturated")
        #expect(try treatment("accentedDesaturated", "phone tint=blue") == "desaturated")
        #expect(try treatment("desaturated", "watch tint=blue") == "whiteDesaturated")
        #expect(try treatment("accentedDesaturated", "watch tint=blue") == "accentDesaturated")
    }

    @Test("W-V73: fullColor is the original on a phone, and white on a watch")
    func fullColorImages() throws {
        #expect(try treatment("fullColor", "phone tint=blue") == "original")
        #expect(try treatment("fullColor", "watch tint=blue") == "white")
        #expect(try treatment("fullColor", "phone") == nil)
    }

    private func treatment(_ option: String?, _ device: String) throws -> String? {
        var image: JSON = ["name": "cup"]
        if let option { image = image.merging(["accented": .string(option)]) }
        return try view(["title": "{{content.title}}", "image": image], on: device)?["image"]?["treatment"]?.string
    }

    @Test("W-V74: a vibrant view tells no tint")
    func vibrant() throws {
        let parts: JSON = ["title": "{{content.title}}", "tint": "red"]
        #expect(try view(parts, on: "desktop desktop=behind") == ["title": "Ada"])
        #expect(try view(parts, on: "desktop")?["tint"] == "red")
    }

    @Test("W-V76: of variants for accented, removed and dark the first that holds patches the view")
    func variants() throws {
        let parts: JSON = [
            "title": "{{content.title}}",
            "variants": [
                ["when": ["mode": "accented"], "set": ["title": "one"]],
                ["when": ["background": "removed"], "set": ["title": "two"]],
                ["when": ["appearance": "dark"], "set": ["subtitle": "three"]],
            ],
        ]
        #expect(try view(parts, on: "phone tint=clear") == ["title": "one"])
        #expect(try view(parts, on: "phone appearance=dark") == ["title": "Ada", "subtitle": "three"])
        #expect(try view(parts, on: "phone") == ["title": "Ada"])
    }

    @Test("W-V77: an animation is cut at 2 s, and none with reduced motion")
    func animation() throws {
        let parts: JSON = ["title": "{{content.title}}", "animation": 5]
        #expect(try view(parts, on: "phone")?["animation"] == 2)
        #expect(try view(parts, on: "phone motion=reduced")?["animation"] == nil)
        #expect(try view(parts, on: "phone luminance=reduced")?["animation"] == nil)
    }

    @Test("W-V78: the app's name on a phone's home screen, and the sizes of a pad")
    func sizes() throws {
        let parts: JSON = ["title": "{{content.title}}"]
        #expect(try row(parts, on: "phone")?["appName"] == "Coffee")
        #expect(try row(parts, on: "phone placement=today")?["appName"] == nil)
        let pad = try #require(try row(parts, on: "pad", catalogueDevice: "ipad-10.2"))
        #expect(pad["appName"] == nil)
        #expect(pad["size"] == ["width": 146, "height": 146] && pad["device"] == ["width": 124, "height": 124])
    }

    @Test("W-V81: a dim Lock Screen says so, its buttons are dead and nothing moves")
    func dim() throws {
        let parts: JSON = ["title": "{{content.title}}", "buttons": ["light/a"], "animation": 1]
        let row = try #require(try row(parts, on: "phone placement=lockScreen luminance=reduced"))
        #expect(row["luminance"] == "reduced" && row["interactive"] == false)
        let view = row["entries"]?.array?.first?["view"]
        #expect(view?["buttons"]?.array?.first?["interactive"] == false)
        #expect(view?["animation"] == nil)
    }

    @Test("W-V82: a locked device is sent no private part, in no entry, and is told which")
    func redaction() throws {
        let parts: JSON = ["title": "{{content.title}}", "subtitle": "{{content.more}}", "private": ["subtitle"]]
        let locked = try #require(try row(parts, on: "phone locked=yes"))
        let open = try #require(try row(parts, on: "phone"))
        #expect(locked["entries"]?.array?.allSatisfy { $0["view"]?["subtitle"] == nil } == true)
        #expect(locked["redacted"] == ["subtitle"] && locked["private"] == ["subtitle"])
        #expect(open["redacted"] == nil && open["private"] == ["subtitle"])
        #expect(open["entries"]?.array?.first?["view"]?["subtitle"] == "")
        let whole = try #require(try row(parts, on: "phone locked=yes", more: ["privacySensitive": true]))
        #expect(whole["entries"]?.array?.first?["view"] == [:])
    }

    @Test("W-V84: a protected widget on a locked device is its placeholder")
    func protection() throws {
        let entry = try row(["title": "{{content.title}}"], on: "phone locked=yes", more: ["protection": "complete"])?[
            "entries"]?.array?.first
        #expect(entry?["placeholder"] == true)
        #expect(entry?["view"] == ["title": ["block": 8]])
    }

    @Test("W77: the link of a placeholder tells nothing that it hides")
    func protectedLink() throws {
        func url(_ text: String, on device: String) throws -> JSON? {
            try row(
                ["title": "x"], on: device, more: ["protection": "complete", "url": .string(text)])?["url"]
        }
        #expect(try url("https://bank.example/{{content.title}}", on: "phone") == "https://bank.example/Ada")
        #expect(try url("https://bank.example/{{content.title}}", on: "phone locked=yes") == nil)
        #expect(try url("https://bank.example/", on: "phone locked=yes") == "https://bank.example/")
    }

    @Test("W-V86: without an account the variant for none is shown")
    func nobody() throws {
        let parts: JSON = [
            "title": "{{content.title}}",
            "variants": [["when": ["account": "none"], "set": ["title": "Sign in {{content.to}}"]]],
        ]
        #expect(try view(parts, on: "phone nobody") == ["title": "Sign in "])
        #expect(try view(parts, on: "phone") == ["title": "Ada"])
    }

    @Test("W-V94: a placeholder keeps literal texts, and has a block as long as the preview for what is filled in")
    func placeholder() throws {
        let parts: JSON = ["symbol": "cup", "title": "{{content.open}} waiting", "text": "{{content.x}}"]
        let more: JSON = ["preview": ["content": ["open": 7]]]
        let entry = try row(parts, on: "phone", content: nil, more: more)?["entries"]?.array?.first
        #expect(entry?["view"] == ["symbol": "cup", "title": ["block": 9], "text": ["block": 8]])
        #expect(entry?["placeholder"] == true)
    }

    @Test("W-V96: parts have links in systemSmall; an accessory and the Smart Stack have the url alone")
    func links() throws {
        let parts: JSON = ["title": "{{content.title}}", "links": ["title": "https://example.com/t"]]
        let small = try #require(try row(parts, on: "phone"))
        #expect(small["entries"]?.array?.first?["view"]?["links"] == ["title": "https://example.com/t"])
        #expect(small["url"] == "https://example.com/main")
        for device in ["phone placement=lockScreen family=accessoryInline", "watch"] {
            let row = try #require(try row(parts, on: device))
            #expect(row["entries"]?.array?.first?["view"]?["links"] == nil)
            #expect(row["url"] == "https://example.com/main")
        }
    }

    @Test("W-V101: a car opens no app of a kind without a car app")
    func carApp() throws {
        let parts: JSON = ["title": "{{content.title}}"]
        #expect(try row(parts, on: "carplay")?["url"] == nil)
        let car = try #require(try row(parts, on: "carplay", more: ["carApp": true]))
        #expect(car["url"] == "https://example.com/main" && car["style"] == "standby" && car["scale"] == 2)
    }

    @Test("W-V105: from afar a view is simplified, and its buttons go unless a variant names them")
    func far() throws {
        let parts: JSON = ["title": "{{content.title}}", "buttons": ["light/a"]]
        #expect(try view(parts, on: "vision distance=far") == ["title": "Ada"])
        #expect(try view(parts, on: "vision")?["buttons"] != nil)
        let kept = parts.merging(["variants": [["when": ["detail": "simplified"], "set": ["buttons": ["light/b"]]]]])
        #expect(try view(kept, on: "vision distance=far")?["buttons"]?.array?.first?["key"] == "light/b")
        #expect(try row(parts, on: "vision distance=far")?["detail"] == "simplified")
    }

    @Test func `StandBy and CarPlay drop images unless a variant names them`() throws {
        let parts: JSON = ["title": "{{content.title}}", "image": ["name": "cup"]]
        #expect(try view(parts, on: "standby") == ["title": "Ada"])
        let kept = parts.merging([
            "variants": [["when": ["background": "removed"], "set": ["image": ["name": "mug"]]]]
        ])
        #expect(try view(kept, on: "standby")?["image"] == ["name": "mug"])
    }

    @Test func `the accent group is reported in the accented mode alone, and the background goes where it is removed`()
        throws
    {
        let parts: JSON = ["title": "{{content.title}}", "accent": ["title"], "background": ["tint": "brown"]]
        let accented = try #require(try row(parts, on: "phone tint=blue"))
        #expect(accented["accent"] == ["title"] && accented["behind"] == "blue")
        #expect(accented["entries"]?.array?.first?["view"] == ["title": "Ada"])
        let plain = try #require(try row(parts, on: "phone"))
        #expect(plain["accent"] == nil)
        #expect(plain["entries"]?.array?.first?["view"]?["background"] == ["tint": "brown"])
    }

    @Test func `entries over 32768 bytes together are left to the next row`() throws {
        let long = String(repeating: "x", count: 2_000)
        let (kind, _) = Kind.read(
            [
                "kind": "glance", "type": "widget", "version": 1, "app": "a", "families": ["systemLarge"],
                "views": [
                    "systemLarge": ["title": "{{content.a}}", "text": "{{content.a}}", "subtitle": "{{content.a}}"]
                ],
            ], file: "")
        guard let kind, case .widget(let definition) = kind.body else { throw BadWord(word: "kind") }
        var widget = Widget(configuration: [:], at: Self.start)
        let entries = (0..<12).map {
            WidgetEntry(date: Self.start + .minutes($0), content: ["a": .string("\($0)" + long)])
        }
        _ = widget.apply(.timeline(WidgetTimeline(entries: entries)), kind: definition, at: Self.start)
        let scene = try #require(WidgetScene(definition, surface: .phone, family: .systemLarge))
        var writer = JSONWriter()
        let count = WidgetRow.write(
            widget, key: try #require(Key("glance/main")), kind: kind, definition: definition, scene: scene,
            moments: widget.moments(at: Self.start, kind: definition), to: &writer)
        let row = try JSONParser().parse(writer.bytes.span)
        #expect(count == 5 && row["more"] == true && row["entries"]?.array?.count == 5)
    }
}
