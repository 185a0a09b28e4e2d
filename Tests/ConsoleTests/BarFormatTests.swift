import Cards
import Console
import Foundation
import TelltaleModel
import Testing

/// Each bar's format, as its manual gives it, with texts that would break it.
struct BarFormatTests {
    private static let now = Timestamp(milliseconds: 1_795_264_107_000)
    private static let click = BarFormat.Click(
        program: "/usr/bin/telltale", view: "desktop", options: ["--account", "a'b:c"])

    private func items(_ title: String = "Brewing") throws -> [BarItem] {
        let text = JSON.string(title).description
        return BarItem.items(
            [
                Card(
                    key: "porch-light/front",
                    body: try object(
                        #"{"control":"toggle","shown":true,"available":true,"title":"Porch","symbol":"lightbulb"}"#),
                    rev: 12),
                Card(
                    key: "coffee-order/7",
                    body: try object(
                        #"""
                        {"presentation":"compact","order":1,"lifecycle":"active","title":"Coffee",
                         "url":"https://example.com/o/7?a=b&c=\"d e\"",
                         "view":{"leading":{"symbol":"cup.and.saucer.fill"},"trailing":{"text":\#(text)},"progress":0.6}}
                        """#)),
            ], titles: KindTitles(), at: Self.now)
    }

    private func object(_ text: String) throws -> JSONObject { try #require(try JSONParser.parse(text).object) }

    private func block(_ format: BarFormat, _ items: [BarItem], connected: Bool = true, once: Bool = false) -> String {
        format.block(items, isConnected: connected, once: once, click: Self.click)
    }

    @Test func `an item has the words of its row, and what a click does`() throws {
        let items = try items()
        #expect(items.map(\.key) == ["coffee-order/7", "porch-light/front"])
        #expect(items.map(\.text) == ["☕ Coffee · Brewing 60%", "💡 Porch on"])
        #expect(items.map(\.status) == ["active", "on"])
        #expect(items.map(\.action) == [.open, .set(false)])
        #expect(items.map(\.percentage) == [60, nil])
        let gone = BarItem(
            Card(key: "a/b", body: try object(#"{"control":"button","title":"B","available":false}"#)),
            titles: KindTitles(),
            at: Self.now)
        #expect(gone.status == "unavailable" && gone.action == nil && gone.isDim)
    }

    @Test(
        "Only links to pages, calls and messages are opened",
        arguments: [
            ("https://example.com/a", true), ("HTTP://example.com", true), ("tel:+491", true), ("sms:1", true),
            ("mailto:a@b.c", true), ("javascript:alert(1)", false), ("file:///etc/passwd", false),
            ("steam://run/1", false), ("data:text/html,x", false), ("/etc/passwd", false), ("https", false),
            ("", false), (" https://example.com", false), ("ht\ttps://example.com", false),
        ])
    func links(url: String, isOpened: Bool) throws {
        var body = JSONObject()
        body["url"] = .string(url)
        let item = BarItem(Card(key: "a/b", body: body), titles: KindTitles(), at: Self.now)
        #expect(item.url == (isOpened ? url : nil))
        #expect(item.action == (isOpened ? .open : nil))
    }

    @Test func `a control byte in a link is two digits`() throws {
        var items = try items()
        items[0].url = "https://example.com/\t\u{1}\"é"
        #expect(block(.swiftbar, items).contains(#"href="https://example.com/%09%01%22%C3%A9""#))
    }

    @Test func `a click on a toggle names the value and the row that were shown`() throws {
        let items = try items()
        let options = ["--account", "a'b:c"]
        #expect(
            Self.click.command(for: items[1])
                == ["/usr/bin/telltale", "set", "porch-light/front", "off", "--if", "12"] + options)
        #expect(
            Self.click.command(for: items[0])
                == ["/usr/bin/telltale", "bar", "click", "coffee-order/7", "--view", "desktop"] + options)
        var button = items[1]
        button.action = .press
        #expect(Self.click.command(for: button) == ["/usr/bin/telltale", "press", "porch-light/front"] + options)
        button.action = nil
        #expect(Self.click.command(for: button) == nil)
    }

    @Test func `a mark that combines with a sign does not keep it from being escaped`() throws {
        let items = try items("<\u{301}b|\u{301}%{\u{301}F")
        let waybar = block(.waybar, items)
        #expect(!waybar.contains("<\u{301}") && waybar.contains("&lt;\u{301}b"))
        #expect(block(.polybar, items).contains("% {\u{301}F"))
        #expect(block(.swiftbar, items).contains("¦\u{301}"))
    }

    @Test func `waybar: a line of JSON, its texts escaped for Pango`() throws {
        let block = block(.waybar, try items("<b>&\u{1B}[2J\n\"x'"))
        #expect(block.hasSuffix("\n") && block.dropLast().firstIndex(of: "\n") == nil)
        let json = try JSONParser.parse(block.trimmingCharacters(in: .newlines))
        #expect(json["text"] == "☕ Coffee · &lt;b&gt;&amp; [2J &quot;x&#39; 60%  💡 Porch on")
        #expect(json["class"] == "active" && json["alt"] == "active" && json["percentage"] == 60)
        #expect(json["tooltip"]?.string?.split(separator: "\n").count == 2)
        #expect(!block.contains("<"))
        let away = try JSONParser.parse(self.block(.waybar, [], connected: false).trimmingCharacters(in: .newlines))
        #expect(away["class"] == "disconnected" && away["text"] == "" && away["percentage"] == nil)
    }

    @Test func `i3blocks: a line of JSON without markup, or three lines`() throws {
        let json = try JSONParser.parse(block(.i3blocks, try items("<b>")).trimmingCharacters(in: .newlines))
        #expect(json["full_text"] == "☕ Coffee · <b> 60%  💡 Porch on" && json["short_text"] == "☕ Coffee · <b> 60%")
        #expect(json["markup"] == "none" && json["color"] == nil)
        #expect(
            block(.i3blocks, try items("a\nb"), once: true) == "☕ Coffee · a b 60%  💡 Porch on\n☕ Coffee · a b 60%\n")
        #expect(block(.i3blocks, try items(), connected: false, once: true).hasSuffix("\n#888888\n"))
    }

    @Test func `polybar: a text begins no tag, and a command has no bare colon`() throws {
        let block = block(.polybar, try items("%{F#f00}50%"))
        #expect(
            block
                == #"%{A1:/usr/bin/telltale bar click coffee-order/7 --view desktop --account 'a'\\''b\:c':}☕ Coffee · % {F#f00}50% 60%%{A}"#
                + #"  %{A1:/usr/bin/telltale set porch-light/front off --if 12 --account 'a'\\''b\:c':}💡 Porch on%{A}"#
                + "\n"
        )
        #expect(self.block(.polybar, [], connected: true) == "\n")
        #expect(self.block(.polybar, try items(), connected: false).contains("%{F#888888}☕ Coffee · Brewing 60%%{F-}"))
    }

    @Test func `SwiftBar: a header, a separator, items with parameters, and the end of the block`() throws {
        let lines = block(.swiftbar, try items("a | href=x\n--b")).split(separator: "\n").map(String.init)
        #expect(lines.count == 5 && lines[1] == "---" && lines[4] == "~~~")
        #expect(lines[0] == "☕ Coffee · a ¦ href=x --b 60%  💡 Porch on | emojize=false symbolize=false trim=false")
        #expect(lines[2].hasSuffix(#" href="https://example.com/o/7?a=b&c=%22d%20e%22""#))
        #expect(lines.allSatisfy { $0.count { $0 == "|" } <= 1 })
        #expect(
            lines[3].hasSuffix(
                #" bash="/usr/bin/telltale" param1="set" param2="porch-light/front" param3="off" param4="--if" param5="12""#
                    + #" param6="--account" param7="a'b:c" terminal=false refresh=true"#))
    }

    @Test func `xbar: the same once, by its own names; a word that cannot be written has no action`() throws {
        let text = block(.xbar, try items())
        #expect(text.contains(#" shell="/usr/bin/telltale" param1="set""#))
        #expect(!text.contains("~~~") && !text.contains("symbolize"))
        let odd = BarFormat.Click(program: "telltale", view: "desktop", options: ["--account", "a\"b"])
        #expect(!BarFormat.xbar.block(try items(), isConnected: true, click: odd).contains("shell="))
        #expect(block(.xbar, []).hasPrefix("· | emojize=false trim=false\n---\nNothing under way |"))
    }

    @Test func `a text that looks like a submenu is none`() throws {
        var items = try items()
        items[0].detail = "-- hidden"
        #expect(block(.xbar, items).contains("\n–- hidden | "))
    }
}
