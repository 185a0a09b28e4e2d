import Foundation
import TelltaleModel
import TestSupport
import Testing

/// `telltale kinds run` of a kind of widget.
struct WidgetPreviewTests {
    private func run(_ kind: String, _ arguments: [String], input: String) throws -> (
        lines: [String], error: String, status: Int32?
    ) {
        let file = repository.appending(path: "Protocols/Kinds/widgets/\(kind).json").path
        let program = try RunningProgram(program("telltale"), ["kinds", "run", file] + arguments, input: input)
        let lines = program.readToEnd()
        return (lines, program.standardError, program.waitForExit())
    }

    @Test func `a schedule reports each family that the surface shows`() async throws {
        try await onOwnThread {
            let hours = try run("shop-hours", ["--view", "watch", "--json"], input: "")
            let first = try JSONParser.parse(try #require(hours.lines.first))
            #expect(first["phase"] == "fresh" && hours.status == 0)
            let families = first["rows"]?.array?.map { $0["presentation"]?.string }
            #expect(families == ["accessoryRectangular", "accessoryInline"])
        }
    }

    @Test func `a posted timeline is drawn as time passes, and a faulty one is reported with its line`() async throws {
        try await onOwnThread {
            let input = """
                timeline {"entries":[{"date":1,"content-state":{"sold":"4"}}]}
                after 30m
                timeline {"entries":[]}
                end
                """
            let sales = try run("sales", [], input: input)
            #expect(sales.lines.first == "start applied placeholder")
            #expect(sales.lines.contains("timeline applied exhausted"))
            #expect(sales.lines.contains { $0.hasPrefix("    +30m (stale)") })
            #expect(sales.lines.contains { $0.hasPrefix("    now (stale)") })
            #expect(sales.error.contains("line 3: entries in the JSON tail is to be an array of 1 to 64 entries"))
            #expect(sales.lines.last == "end applied gone" && sales.status == 1)
        }
    }

    private static let examples = repository.appending(path: "Protocols/Kinds/examples").path

    @Test func `a widget that comes with a situation is drawn in it`() async throws {
        try await onOwnThread {
            let input = #"coffee-order/1 CONFIRMED {"attributes":{"item":"Latte"}}"#
            let hint = try run("pickup-hint", ["--with", Self.examples, "--view", "watch"], input: input)
            #expect(hint.lines.contains { $0.contains(#""title":"Latte""#) }, "\(hint)")
            #expect(hint.status == 0)
        }
    }

    @Test func `widgets of many activities follow the events of these, and report how they turn by themselves`()
        async throws
    {
        try await onOwnThread {
            let input = """
                # Two shops.
                coffee-order/1 CONFIRMED {"attributes":{"shop":"Hoegi","price":4.5}}
                coffee-order/2 CONFIRMED for=alice {"attributes":{"shop":"Central","price":3}}
                after 1m
                coffee-order/1 brew
                coffee-order/1 ready
                coffee-order/1 collect
                after 24h
                """
            let run = try run("kitchen", ["--with", Self.examples, "--json"], input: input)
            #expect(run.status == 0 && run.error == "")
            let steps = try run.lines.map { try JSONParser.parse($0) }
            func titles(_ step: Int, _ member: String = "rows") -> [String] {
                (steps[step][member]?.array ?? []).filter { $0["row"]?["presentation"] == "systemMedium" }.map { row in
                    let views = (row["row"]?["entries"]?.array ?? []).compactMap { $0["view"]?["subtitle"]?.string }
                    return "\(row["key"]?.string ?? "") \(views.joined(separator: ", "))"
                }
            }
            #expect(titles(0) == ["kitchen/Hoegi 0 cups today for 0"])
            #expect(titles(1) == ["kitchen/Hoegi 0 cups today for 0"])
            #expect(titles(2) == ["kitchen/Central 0 cups today for 0"])
            // A minute, and an event that moves no value.
            #expect(titles(3) == [] && titles(4) == [] && steps[4]["state"] == "brewing")
            #expect(titles(6) == ["kitchen/Hoegi 1 cups today for 4.5, 0 cups today for 0"])
            #expect(titles(7, "turned").first?.hasPrefix("kitchen/Hoegi") == true)
        }
    }

    @Test func `the future of an activity is drawn, and nothing is reported when it comes`() async throws {
        try await onOwnThread {
            let input = """
                coffee-order/1 start {"attributes":{"item":"Flat white"}}
                after 5m
                coffee-order/1 cancel
                """
            let card = try run("order-card", ["--with", Self.examples, "--view", "watch"], input: input)
            #expect(card.status == 0)
            #expect(card.lines.first == "start" && card.lines.contains("coffee-order/1 start applied placed"))
            #expect(card.lines.contains { $0.hasPrefix("    +5m") && $0.contains("Waiting for the shop") })
            #expect(card.lines.contains("  by itself: order-card/1  accessoryInline  accented, background removed"))
            #expect(card.lines.last == "  order-card/1  gone (removed)")
        }
    }

    @Test func `what is missing or faulty is reported, with its line`() async throws {
        try await onOwnThread {
            let alone = try run("kitchen", [], input: "")
            #expect(alone.status == 1 && alone.error.contains("name one with --with"))
            let hidden = try run("kitchen", ["--with", Self.examples, "--view", "vision"], input: "")
            #expect(hidden.status == 0)
            for (line, fault) in [
                ("confirm", "line 1: a line is KEY EVENT"), ("coffee-order/9 nonsense", "line 1: coffee-order/9"),
                ("after soon", "line 1: \"soon\" is not a duration"),
            ] {
                let faulty = try run("order-card", ["--with", Self.examples], input: line)
                #expect(faulty.status == 1 && faulty.error.contains(fault), "\(faulty.error)")
            }
        }
    }

    @Test func `a widget is drawn in its families, with the sample`() async throws {
        try await onOwnThread {
            let file = repository.appending(path: "Protocols/Kinds/widgets/order-card.json").path
            let drawn = try RunningProgram(program("telltale"), ["kinds", "draw", file])
            let lines = drawn.readToEnd()
            #expect(drawn.waitForExit() == 0)
            #expect(lines.contains { $0.contains("accessoryRectangular") && $0.contains("accessoryInline") })
            #expect(lines.contains { $0.contains("Flat white") || $0.contains("Ready B") })
            let picture = try RunningProgram(program("telltale"), ["kinds", "draw", file, "--format", "svg"])
            _ = picture.readToEnd()
            #expect(picture.waitForExit() == 1)
        }
    }
}
