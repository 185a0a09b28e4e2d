import Hub
import Surfaces
import TelltaleModel
import TestSupport
import Testing

/// Stacks of a board over the line: the tile on top, and the turns that a screen makes by itself. Vectors W-V are those of
/// Protocols/Widgets/rules.md.
struct StackTests: BoardSuite {
    private static let hint = """
        {"kind":"hint","type":"widget","version":1,"app":"com.example.coffee","title":"Hint",
         "families":["systemSmall"],"relevance":[{"place":"work"},{"date":{"from":"{{content.from}}","to":"{{content.to}}"}}],
         "views":{"systemSmall":{"title":"{{content.n}}"}}}
        """
    private static let kinds = [HubHarness.coffee, WidgetTests.sales, hint]

    let harness: HubHarness
    let phone: HubHarness.Client
    private let start: Timestamp

    init() throws {
        harness = try HubHarness(kinds: Self.kinds)
        phone = harness.connect(as: "alice")
        start = harness.time
    }

    /// Stacks the sales of these shops as tiles of their names.
    private func stack(_ shops: String, isSmart: Bool = true) {
        reply("TILE @car/left do=stack smart=\(isSmart ? "yes" : "no")")
        for shop in shops {
            let answer = reply(
                #"TILE @car/\#(shop) do=add widget=sales stack=left {"configuration":{"shop":"\#(shop)"}}"#)
            #expect(answer.hasPrefix("OK verdict=applied"), "\(answer)")
        }
    }

    /// Posts a timeline: seconds from the start, the score, and for how long.
    private func post(_ shop: Character, n: Int = 1, _ entries: [(Int64, Double?, Int64)]) {
        let texts = entries.map { second, score, span in
            let relevance = score.map { #","relevance":{"score":\#($0),"for":\#(span)}"# } ?? ""
            return #"{"date":\#(start.milliseconds / 1_000 + second),"content-state":{"n":"\#(n)"}\#(relevance)}"#
        }
        let answer = reply(#"EVT sales/\#(shop) type=timeline {"entries":[\#(texts.joined(separator: ","))]}"#)
        #expect(answer.hasPrefix("OK"), "\(answer)")
    }

    private func car() throws -> TestBoardDevice { try .car(harness) }

    @Test("W-V55: of scores 5 of 10 and 3 of 3 the second is on top, until the first has its 10")
    func normalised() throws {
        stack("AB")
        post("A", [(0, 5, 0), (600, 10, 0)])
        post("B", [(0, 3, 0)])
        let car = try car()
        #expect(car.rows["A"]?["top"] == false && car.rows["B"]?["top"] == true)
        #expect(car.turns("A", from: start) == "600:A" && car.turns("B", from: start) == "600:A")
        #expect(car.rows["A"]?["stack"] == "left")
    }

    @Test("W-V56, W-V57: of equal ones the first is on top; a score of 0 never is")
    func ties() throws {
        stack("ABC")
        post("B", [(0, 1, 0)])
        post("C", [(0, 1, 0)])
        #expect(try car().top(at: start) == "B")
        post("B", [(0, 0, 0)])
        post("C", [(0, -1, 0)])
        #expect(try car().top(at: start) == "A")
    }

    @Test("W-V58: a row tells the turns that are known, and no row comes at their dates")
    func turns() throws {
        stack("AB")
        let car = try car()
        post("B", [(0, nil, 0), (60, 1, 900)])
        #expect(try car.read() == ["A", "B"])
        #expect(car.turns("A", from: start) == "60:B 960:A")
        for second in [60, 61, 960, 4_000] as [Int64] {
            harness.time = start + .seconds(second)
            harness.turn()
            #expect(try car.read() == [])
            #expect(car.top(at: harness.time) == (second < 960 ? "B" : "A"))
        }
        // A row of now begins with now.
        #expect(try self.car().turns("A", from: start).isEmpty)
    }

    @Test("W-V59: a chosen tile is on top for 15 minutes; in a stack that is not smart for good")
    func shown() throws {
        stack("AB")
        post("B", [(0, 1, 0)])
        let car = try car()
        #expect(reply("TILE @car/A do=show").hasPrefix("OK verdict=applied"))
        #expect(try car.read() == ["A", "B"])
        #expect(car.top(at: start) == "A" && car.turns("A", from: start) == "900:B")
        reply("TILE @car/left do=stack smart=no")
        try car.read()
        #expect(car.top(at: start) == "A" && car.turns("A", from: start).isEmpty)
    }

    @Test("W41: --stack-hold says for how long")
    func hold() throws {
        var configuration = HubConfiguration()
        configuration.surfaces.stackHold = .seconds(60)
        let harness = try HubHarness(kinds: Self.kinds, configuration: configuration)
        let phone = harness.connect(as: "alice")
        harness.send("TILE @car/left do=stack smart=yes", from: phone)
        for shop in ["A", "B"] {
            harness.send(
                #"TILE @car/\#(shop) do=add widget=sales stack=left {"configuration":{"shop":"\#(shop)"}}"#, from: phone
            )
        }
        harness.send("TILE @car/B do=show", from: phone)
        let car = try TestBoardDevice.car(harness)
        #expect(car.turns("A", from: harness.time) == "60:A")
    }

    @Test("W39: a change that turns nothing brings the row of its own tile alone")
    func quiet() throws {
        stack("ABC")
        post("B", [(0, 1, 0)])
        let car = try car()
        post("B", n: 2, [(0, 1, 0)])
        #expect(try car.read() == ["B"])
        post("C", n: 2, [(0, nil, 0)])
        #expect(try car.read() == ["C"])
        post("B", n: 2, [(0, 1, 60)])
        #expect(try car.read() == ["A", "B", "C"])
        // Of a stack that is not smart nobody else hears.
        reply("TILE @car/left do=stack smart=no")
        try car.read()
        post("B", n: 2, [(0, 1, 90)])
        #expect(try car.read() == ["B"])
    }

    @Test("W39: a car that was away while its stack turned is told nothing; one that missed a change is told its turns")
    func resume() throws {
        stack("AB")
        post("B", [(0, nil, 0), (60, 1, 900)])
        let first = harness.connect(as: "alice")
        let cursor = try harness.cursor(of: "SUB @car/* view=carplay", from: first)
        harness.disconnect(first)
        harness.advance(by: .seconds(300))
        #expect(try TestBoardDevice.car(harness, "alice", "from=\(cursor)").told == [])
        post("B", [(0, nil, 0), (300, 1, 60)])
        let car = try TestBoardDevice.car(harness, "alice", "from=\(cursor)")
        #expect(car.told == ["A", "B"])
        #expect(car.turns("A", from: start) == "360:A")
    }

    @Test("W39: a device of everything that was away is told the turns of each tile of a stack that turned")
    func resumeOfEverything() throws {
        stack("AB")
        let (first, again) = (harness.connect(), harness.connect())
        for client in [first, again] { harness.send("HELLO account=alice caps=widgets", from: client) }
        let cursor = try harness.cursor(of: "SUB * view=carplay", from: first)
        harness.disconnect(first)
        post("B", [(0, 1, 0)])
        let rows = WidgetTests.reply(harness, "SUB * view=carplay from=\(cursor)", again).filter { $0.hasPrefix("UPD") }
        #expect(rows.count { $0.contains(" key=@car/A ") } == 1 && rows.count { $0.contains(" key=@car/B ") } == 1)
    }

    @Test("W39: after the sixteenth turn a row tells the next ones")
    func more() throws {
        stack("AB")
        post("B", (0..<20).map { (turn: Int64) in (turn * 60, turn.isMultiple(of: 2) ? 1 : 0, 0) })
        let car = try car()
        #expect(car.turns("A", from: start).split(separator: " ").count == 16)
        harness.advance(by: .seconds(16 * 60 - 1))
        #expect(try !car.read().contains("A"))
        harness.advance(by: .seconds(1))
        #expect(try car.read().contains("A"))
        #expect(car.turns("A", from: start) == "1020:A 1080:B 1140:A")
    }

    @Test("W56: in StandBy a tile that was not shown comes when its own widget brings it on top")
    func standBy() throws {
        stack("AB")
        let clock = harness.connect(as: "alice")
        #expect(!harness.send("SUB @car/* view=standby", from: clock).contains { $0.contains("@car/B") })
        post("B", [(0, 1, 0)])
        #expect(harness.lines(of: clock).contains { $0.hasPrefix("UPD sub=1 key=@car/B") })
    }

    @Test("W44: a situation of the device turns its stack, and no other's")
    func situation() throws {
        stack("A")
        #expect(reply("TILE @car/H do=add widget=hint stack=left").hasPrefix("OK verdict=applied"))
        let (car, other) = (try car(), try car())
        #expect(car.top(at: start) == "A")
        harness.send("TRAIT place=work", from: other.client)
        harness.post("TRAIT place=work", from: car.client)
        harness.turn()
        #expect(try car.read() == ["A", "H"])
        #expect(car.top(at: start) == "H" && other.top(at: start) == "A")
    }

    @Test("W-V3: the journal gives the same tops again, with and without a snapshot", arguments: [false, true])
    func replay(fromSnapshot: Bool) throws {
        stack("AB")
        post("B", [(0, nil, 0), (60, 1, 900)])
        reply("TILE @car/B do=show")
        let before = try car().rows
        try harness.restart(kinds: Self.kinds, fromSnapshot: fromSnapshot)
        let after = try car().rows
        #expect(after == before && after["B"]?["top"] == true)
    }

    @Test(
        "A car without a connection shows at each minute of a day what the server shows, while nothing else happens",
        arguments: Lane.some(0..<4, atEveryChange: 1))
    func everyMinute(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        stack("ABCD")
        for shop in "ABCD" {
            var (second, entries): (Int64, [(Int64, Double?, Int64)]) = (0, [])
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let score: Double? =
                    Bool.random(using: &generator) ? Double(Int.random(in: -1...4, using: &generator)) : nil
                entries.append((second, score, 60 * Int64.random(in: 0...240, using: &generator)))
                second += 60 * Int64.random(in: 1...300, using: &generator)
            }
            post(shop, entries)
        }
        if Bool.random(using: &generator) { reply("TILE @car/C do=show") }
        let car = try car()
        for minute in 0..<1_440 {
            harness.time = start + .minutes(Int64(minute))
            harness.turn()
            // The server is asked anew.
            let tops = try "ABCD".filter { name in
                let line = WidgetTests.reply(harness, "GET @car/\(name) view=carplay", phone).first
                return try ServerText(try #require(line)).body?["top"] == true
            }
            #expect(tops.count == 1 && car.top(at: harness.time, by: "D") == tops, "minute \(minute)")
        }
        #expect(try car.read().isEmpty)
    }
}
