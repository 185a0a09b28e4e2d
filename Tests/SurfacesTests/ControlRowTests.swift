import Kinds
import Machines
import Surfaces
import TelltaleModel
import TestSupport
import Testing

struct ControlRowTests {
    @Test("Protocols/Surfaces/controls.table", arguments: try TableFile("Surfaces/controls.table").rows)
    func row(_ row: TableFile.Row) throws {
        let placement = ControlPlacement(rawValue: row[3])
        #expect(placement != nil || row[3] == "full")
        let viewer = ControlViewer(placement: placement, isLocked: row[4] == "locked")
        let json = try drawn(row[1], settings: row[2], for: viewer)
        let drawn = ["symbol", "title", "text", "tint", "hint"].map { json[$0]?.string ?? "-" }
        #expect(drawn == row.cells.dropFirst(5).map { $0 })
    }

    @Test("A private control tells a locked device nothing but its off symbol", arguments: ControlPlacement.allCases)
    func redaction(placement: ControlPlacement) throws {
        let viewer = ControlViewer(placement: placement, connection: 7, isLocked: true)
        let on = try drawn("toggle on", settings: "private", for: viewer)
        let off = try drawn("toggle off", settings: "private", for: viewer)
        #expect(on == off)
        #expect(on["redacted"] == true)
        #expect(on["value"] == .null)
        #expect(on["shown"] == .null)
    }

    @Test func `the wanted value of a private control is not sent to a locked device`() throws {
        var toggle = try settled(false)
        let kind = ToggleKind.porchLight("private")
        _ = try toggle.apply(
            .tapped(true, operation: OperationID(5), connection: 7, isLocked: false), kind: kind, at: now)
        var viewer = ControlViewer(placement: .controlCenterMedium, connection: 7)
        #expect(try row(toggle, kind, viewer)["wanted"] == true)
        viewer.isLocked = true
        let locked = try row(toggle, kind, viewer)
        #expect(!names(locked).contains("wanted") && locked["phase"] == "pending")
    }

    @Test func `a kind without a symbol has none in its place`() throws {
        let viewer = ControlViewer(placement: .controlCenterMedium)
        #expect(try !names(row(settled(true), ToggleKind(), viewer)).contains("symbol"))
    }

    @Test func `a control that must be unlocked says so on a locked device`() throws {
        var viewer = ControlViewer(placement: .lockScreen, isLocked: true)
        #expect(try drawn("toggle on", settings: "auth", for: viewer)["unlock"] == true)
        viewer.isLocked = false
        #expect(try !names(drawn("toggle on", settings: "auth", for: viewer)).contains("unlock"))
    }

    @Test func `while pending, the wanted value is drawn where it was tapped alone`() throws {
        var toggle = try settled(false)
        let kind = ToggleKind.porchLight("")
        _ = try toggle.apply(
            .tapped(true, operation: OperationID(5), connection: 7, isLocked: false), kind: kind, at: now)
        let tapped = try row(toggle, kind, ControlViewer(placement: .controlCenterMedium, connection: 7))
        let other = try row(toggle, kind, ControlViewer(placement: .controlCenterMedium, connection: 8))
        #expect(
            tapped.description
                == #"{"assumed":false,"available":true,"control":"toggle","phase":"pending","#
                + #""placement":"controlCenterMedium","shown":true,"symbol":"lightbulb.fill","text":"On","#
                + #""tint":"blue","title":"Porch light","value":false,"wanted":true}"#)
        #expect(
            other.description
                == #"{"assumed":false,"available":true,"control":"toggle","phase":"pending","#
                + #""placement":"controlCenterMedium","shown":false,"symbol":"lightbulb","text":"Off","#
                + #""title":"Porch light","value":false,"wanted":true}"#)
    }

    @Test func `a failed operation reports its reason, and a status where there is room`() throws {
        var toggle = try settled(false)
        let kind = ToggleKind.porchLight("private")
        _ = try toggle.apply(
            .tapped(true, operation: OperationID(5), connection: 7, isLocked: false), kind: kind, at: now)
        _ = try toggle.apply(
            .failed(OperationID(5), ProviderFailure(code: "no_power", message: "The lamp is out"), by: 1), kind: kind,
            at: now)
        var viewer = ControlViewer(placement: .controlCenterLarge)
        let large = try row(toggle, kind, viewer)
        #expect(large["status"] == "The lamp is out")
        #expect(
            large["last"]
                == [
                    "op": "o5", "result": "reverted", "reason": "failed", "code": "no_power",
                    "message": "The lamp is out",
                ])
        viewer.isLocked = true
        #expect(try row(toggle, kind, viewer)["last"] == ["op": "o5", "result": "reverted", "reason": "failed"])
        #expect(try !names(row(toggle, kind, viewer)).contains("status"))
        #expect(try !names(row(toggle, kind, ControlViewer(placement: .lockScreen))).contains("status"))
        // Its moment is over with the next tap; how the last operation ended stays.
        _ = try toggle.apply(
            .tapped(true, operation: OperationID(6), connection: 7, isLocked: false), kind: kind, at: now)
        viewer.isLocked = false
        #expect(try !names(row(toggle, kind, viewer)).contains("status"))
        #expect(try row(toggle, kind, viewer)["last"]?["op"] == "o5")
    }

    @Test func `operations that ended one after the other are named, without the provider's words on a locked device`()
        throws
    {
        var toggle = try settled(false)
        let kind = ToggleKind.porchLight("private")
        for (number, value) in [(5, true), (6, false)] {
            _ = try toggle.apply(
                .tapped(value, operation: OperationID(Int64(number)), connection: 7, isLocked: false), kind: kind,
                at: now)
        }
        let failure = ProviderFailure(code: "no_power", message: "The lamp is out")
        _ = try toggle.apply(.failed(OperationID(5), failure, by: 1), kind: kind, at: now)
        _ = try toggle.apply(.done(OperationID(6), value: false, by: 1), kind: kind, at: now)
        var viewer = ControlViewer(placement: .controlCenterLarge)
        let reported = try row(toggle, kind, viewer)
        #expect(reported["last"] == ["op": "o6", "result": "confirmed"])
        #expect(
            reported["ended"]
                == [
                    [
                        "op": "o5", "result": "reverted", "reason": "failed", "code": "no_power",
                        "message": "The lamp is out",
                    ]
                ])
        viewer.isLocked = true
        #expect(try row(toggle, kind, viewer)["ended"] == [["op": "o5", "result": "reverted", "reason": "failed"]])
    }

    @Test func `a button that is pressed again no longer shows the earlier failure`() throws {
        var button = Button(provider: 1)
        let kind = ButtonKind.logCoffee("")
        let key = try #require(Key("log-coffee/1"))
        func status() throws -> JSON? {
            var writer = JSONWriter()
            ControlRow.write(
                button, kind: kind, name: "log-coffee", title: "Log coffee",
                for: ControlViewer(placement: .controlCenterMedium), to: &writer)
            return try JSONParser.parse(String(decoding: writer.bytes, as: UTF8.self))["status"]
        }
        _ = try button.apply(.tapped(operation: OperationID(5), isLocked: false), key: key, kind: kind, at: now)
        _ = try button.apply(.failed(OperationID(5), nil, by: 1), key: key, kind: kind, at: now)
        #expect(try status() == "Failed")
        _ = try button.apply(.tapped(operation: OperationID(6), isLocked: false), key: key, kind: kind, at: now)
        #expect(try status() == nil)
    }

    @Test func `inside an activity's view a control is drawn, and takes no taps where its place takes none, or locked`()
        throws
    {
        let toggle = try settled(true)
        let key = try #require(Key("porch-light/front"))
        func embedded(
            _ isInteractive: Bool = true, isLocked: Bool, isRedacted: Bool = false, _ settings: String = ""
        ) throws -> JSON {
            var writer = JSONWriter()
            var viewer = ControlViewer(placement: nil, isLocked: isLocked)
            viewer.isRedacted = isRedacted
            ControlRow.writeEmbedded(
                toggle, key: key, kind: .porchLight(settings), title: "Porch light", for: viewer,
                isInteractive: isInteractive, to: &writer)
            return try JSONParser.parse(String(decoding: writer.bytes, as: UTF8.self))
        }
        let phone = try embedded(isLocked: false)
        #expect(
            phone.description
                == #"{"available":true,"control":"toggle","interactive":true,"key":"porch-light/front","#
                + #""phase":"settled","shown":true,"symbol":"lightbulb.fill","text":"On","tint":"blue","#
                + #""title":"Porch light"}"#)
        #expect(try embedded(false, isLocked: false)["interactive"] == false)
        #expect(try embedded(isLocked: true)["interactive"] == false)
        // It is as private as the view around it, which hides nothing where the device shows what is private.
        for isLocked in [false, true] {
            #expect(try embedded(isLocked: isLocked, isRedacted: true, "private")["shown"] == .null)
            #expect(try embedded(isLocked: isLocked, "private")["shown"] == true)
            #expect(try embedded(isLocked: isLocked, isRedacted: true)["shown"] == true)
        }

        var writer = JSONWriter()
        ControlRow.writeEmbedded(
            Button(provider: 1), key: key, kind: .logCoffee(""), title: "Log coffee",
            for: ControlViewer(placement: nil), isInteractive: true, to: &writer)
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"{"key":"porch-light/front","control":"button","phase":"idle","available":true,"#
                + #""interactive":true,"symbol":"cup.fill","title":"Log coffee"}"#)
    }

    @Test func `every surface but vision has a standard placement, and a locked phone shows its Lock Screen`() {
        for surface in Surface.allCases {
            #expect((ControlPlacement.standard(on: surface, isLocked: false) == nil) == (surface == .vision))
        }
        #expect(ControlPlacement.standard(on: .phone, isLocked: false) == .controlCenterMedium)
        #expect(ControlPlacement.standard(on: .phone, isLocked: true) == .lockScreen)
    }

    // MARK: Helpers

    private let now = Timestamp(milliseconds: 1_000_000)

    private func names(_ json: JSON) -> [String] { json.object.map { $0.map(\.name) } ?? [] }

    private func settled(_ value: Bool?) throws -> Toggle {
        var toggle = Toggle(provider: 1)
        if let value { _ = try toggle.apply(.reported(value, observedAt: nil), kind: ToggleKind(), at: now) }
        return toggle
    }

    private func row(_ toggle: Toggle, _ kind: ToggleKind, _ viewer: ControlViewer) throws -> JSON {
        var writer = JSONWriter()
        ControlRow.write(toggle, kind: kind, name: "porch-light", title: "Porch light", for: viewer, to: &writer)
        return try JSONParser.parse(String(decoding: writer.bytes, as: UTF8.self))
    }

    private func drawn(_ control: String, settings: String, for viewer: ControlViewer) throws -> JSON {
        if control == "button" {
            var writer = JSONWriter()
            ControlRow.write(
                Button(provider: 1), kind: .logCoffee(settings), name: "log-coffee", title: "Log coffee", for: viewer,
                to: &writer)
            return try JSONParser.parse(String(decoding: writer.bytes, as: UTF8.self))
        }
        let value = control.hasSuffix("on") ? true : control.hasSuffix("off") ? false : nil
        return try row(settled(value), .porchLight(settings), viewer)
    }
}

extension ToggleKind {
    static func porchLight(_ settings: String) -> ToggleKind {
        var kind = ToggleKind()
        kind.symbolOn = "lightbulb.fill"
        kind.symbolOff = "lightbulb"
        for setting in settings.split(separator: " ") {
            switch setting {
            case "hints": (kind.hintOn, kind.hintOff) = ("turn off", "turn on")
            case "values": (kind.valueOn, kind.valueOff) = ("Lit", "Dark")
            case "private": kind.privacySensitive = true
            case "auth": kind.requiresAuthentication = true
            default: kind.tint = String(setting.dropFirst("tint=".count))
            }
        }
        return kind
    }
}

extension ButtonKind {
    static func logCoffee(_ settings: String) -> ButtonKind {
        var kind = ButtonKind()
        kind.symbol = "cup.fill"
        for setting in settings.split(separator: " ") {
            switch setting {
            case "hints": kind.actionHint = "log a coffee"
            case "private": kind.privacySensitive = true
            default: kind.tint = String(setting.dropFirst("tint=".count))
            }
        }
        return kind
    }
}
