import Machines
import TelltaleModel
import Testing

/// Tiles that a stack suggests, over the line: W42 of Protocols/Widgets/rules.md, and its vectors.
struct SuggestionTests: BoardSuite {
    static func kind(_ name: String, _ more: String = "", families: String = #"["systemSmall"]"#) -> String {
        """
        {"kind":"\(name)","type":"widget","version":1,"app":"com.example.coffee","title":"Tip","families":\(families),
         "suggest":true,\(more)"views":{"systemSmall":{"title":"{{content.n}}"},"systemMedium":{"title":"{{content.n}}"}}}
        """
    }
    static let tip = kind("tip", families: #"["systemSmall","systemMedium"]"#)
    static let walk = kind("walk", #""relevance":[{"place":"commute"}],"#)
        .replacing(#","systemMedium":{"title":"{{content.n}}"}"#, with: "")
    static let kinds = [
        HubHarness.coffee, WidgetTests.sales, tip.replacing("{{content.n}}", with: "tip {{content.n}}"), walk,
    ]

    let harness: HubHarness
    let phone: HubHarness.Client
    let start: Timestamp

    init() throws {
        harness = try HubHarness(kinds: Self.kinds)
        phone = harness.connect(as: "alice")
        start = harness.time
    }

    func stack(_ count: Int, _ words: String = "smart=yes suggest=yes") {
        reply("TILE @car/left do=stack \(words)")
        for number in 0..<count {
            let answer = reply(
                #"TILE @car/t\#(number) do=add widget=sales stack=left {"configuration":{"shop":"s\#(number)"}}"#)
            #expect(answer.hasPrefix("OK verdict=applied"), "\(answer)")
        }
    }

    /// Posts a timeline: seconds from the start, and the score.
    func post(_ key: String, _ entries: [(Int64, Double?)]) {
        let texts = entries.map { second, score in
            let relevance = score.map { #","relevance":{"score":\#($0)}"# } ?? ""
            return #"{"date":\#(start.milliseconds / 1_000 + second),"content-state":{"n":"\#(second)"}\#(relevance)}"#
        }
        let answer = reply(#"EVT \#(key) type=timeline {"entries":[\#(texts.joined(separator: ","))]}"#)
        #expect(answer.hasPrefix("OK"), "\(answer)")
    }

    /// The id of a suggestion in the stack.
    func id(_ widget: String, stack: String = "left") throws -> String {
        Board.suggestionID(of: try #require(Key(widget)), inStack: stack)
    }

    static func id(_ widget: String) -> String {
        Key(widget).map { Board.suggestionID(of: $0, inStack: "left") } ?? widget
    }

    @Test("W-V60: a suggestion in a stack of 9 that is kept stays; in a stack of 10 it was never shown")
    func kept() throws {
        stack(9)
        let car = try TestBoardDevice.car(harness)
        #expect(car.rows.count == 9)
        post("tip/main", [(0, 1), (600, 0)])
        let tip = try id("tip/main")
        #expect(try car.read().contains(tip))
        #expect(car.rows[tip]?["suggested"] == true && car.rows[tip]?["top"] == true)
        #expect(car.rows[tip]?["position"] == 10 && car.rows[tip]?["widget"] == "tip/main")
        #expect(car.rows["t0"]?["top"] == false)
        #expect(reply("TILE @car/\(tip) do=keep").hasSuffix("state=placed"))
        try car.read()
        #expect(car.rows[tip] != nil && car.rows[tip]?["suggested"] == nil && car.rows[tip]?["position"] == 10)
        #expect(reply("TILE @car/\(tip) do=keep").hasPrefix("OK verdict=noop"))
        harness.advance(by: .seconds(600))
        #expect(car.rows.count == 10 && car.deletions.isEmpty)
        let history = harness.send("HISTORY @car/\(tip)", from: phone)
        #expect(history.contains { $0.contains(#""do":"keep""#) && $0.contains(#""widget":"tip/main""#) })
        // The stack is full.
        post("walk/main", [(0, 1)])
        #expect(try car.read() == [] && car.suggested.isEmpty)
        let walk = try id("walk/main")
        #expect(reply("TILE @car/\(walk) do=keep").contains("limit_tiles"))
        try harness.restart(kinds: Self.kinds)
        #expect(try TestBoardDevice.car(harness).rows[tip]?["position"] == 10)
    }

    @Test("W-V61: a suggestion that is not kept goes when its context ends")
    func notKept() throws {
        stack(9)
        post("tip/main", [(0, 1), (600, 0)])
        let (car, tip) = (try TestBoardDevice.car(harness), try id("tip/main"))
        #expect(car.suggested == [tip])
        harness.advance(by: .seconds(599))
        #expect(try car.read() == [])
        harness.advance(by: .seconds(1))
        #expect(try car.read() == ["-\(tip)"])
        #expect(car.deletions.first?.contains("why=hidden") == true)
        #expect(reply("TILE @car/\(tip) do=keep").contains("unknown_key"))
        #expect(car.top(at: harness.time) == "t0")
        // The row of a new subscriber is not there at all.
        #expect(try TestBoardDevice.car(harness).suggested.isEmpty)
    }

    @Test("W42: what matters later is told ahead, with nothing drawn until then, and no row comes at its date")
    func ahead() throws {
        stack(2)
        let car = try TestBoardDevice.car(harness)
        post("tip/main", [(0, nil), (60, 1), (120, nil)])
        let tip = try id("tip/main")
        #expect(try car.read() == ["t0", "t1", tip].sorted())
        #expect(car.drawn(tip, at: start + .seconds(59)) == nil && car.rows[tip]?["top"] == false)
        #expect(car.top(at: start) == "t0" && car.top(at: start + .seconds(60)) == tip)
        #expect(car.drawn(tip, at: start + .seconds(60)) == "tip 60")
        harness.advance(by: .seconds(60))
        #expect(try car.read() == [])
        harness.advance(by: .seconds(60))
        #expect(try car.read() == ["-\(tip)"])
    }

    @Test("W42: other content that matters as before brings the row of the suggestion alone")
    func quiet() throws {
        stack(2)
        let (car, tip) = (try TestBoardDevice.car(harness), Self.id("tip/main"))
        post("tip/main", [(0, 1), (600, 0)])
        #expect(try car.read() == ["t0", "t1", tip].sorted())
        post("tip/main", [(0, 1), (300, 1), (600, 0)])
        #expect(try car.read() == [tip])
        post("tip/main", [(0, 2), (600, nil)])
        #expect(try car.read() == [tip])
        post("tip/main", [(0, 2), (700, nil)])
        #expect(try car.read() == ["t0", "t1", tip].sorted())
        post("walk/main", [(0, nil)])
        #expect(try car.read() == [])
    }

    @Test("W42: further ahead than a day it is told when it is known")
    func farAhead() throws {
        stack(0)
        let car = try TestBoardDevice.car(harness)
        post("tip/main", [(0, nil), (90_000, 1), (90_060, nil)])
        #expect(try car.read() == [])
        harness.advance(by: .seconds(3_599))
        #expect(try car.read() == [])
        harness.advance(by: .seconds(1))
        let tip = try id("tip/main")
        #expect(try car.read() == [tip])
        harness.advance(by: .seconds(86_460))
        try car.read()
        #expect(car.suggested.isEmpty)
    }

    @Test("W42: a situation brings a suggestion to one device, and its end takes it away")
    func situation() throws {
        stack(1)
        post("walk/main", [(0, nil)])
        let (car, other, walk) = (
            try TestBoardDevice.car(harness), try TestBoardDevice.car(harness), try id("walk/main")
        )
        #expect(car.suggested.isEmpty)
        harness.post("TRAIT place=commute", from: car.client)
        harness.turn()
        #expect(try car.read().contains(walk))
        #expect(try other.read() == [])
        // Any device may keep it: this one cannot know in which situation the car is.
        harness.post("TRAIT place=none", from: car.client)
        harness.turn()
        #expect(try car.read().contains("-\(walk)"))
    }

    @Test("W42: of several the most relevant is shown, of equal ones the first by its key")
    func best() throws {
        stack(1)
        let (tip, walk) = (try id("tip/main"), try id("walk/main"))
        post("tip/main", [(0, 1), (60, 2), (120, 0)])
        post("walk/main", [(0, 1), (120, 1), (180, 0)])
        let car = try TestBoardDevice.car(harness)
        #expect(car.suggested == [tip, walk].sorted())
        for (second, name) in [(0, walk), (60, tip), (119, tip), (120, walk), (179, walk)] as [(Int64, String)] {
            let now = start + .seconds(second)
            #expect(car.top(at: now) == name, "\(second)")
            #expect((car.drawn(tip, at: now) != nil) == (name == tip), "\(second)")
            #expect((car.drawn(walk, at: now) != nil) == (name == walk), "\(second)")
        }
        #expect(car.top(at: start + .seconds(180)) == "t0")
        post("walk/main", [(0, nil)])
        post("tip/main", [(0, 1)])
        post("walk/main", [(0, 1)])
        try car.read()
        #expect(car.suggested == [tip])
    }

    @Test("W42: a stack suggests what has its family and stands nowhere on the board")
    func fitting() throws {
        reply("TILE @car/big do=stack family=systemMedium suggest=yes")
        stack(1)
        post("tip/main", [(0, 1)])
        post("walk/main", [(0, 1)])
        let (small, big) = (try id("tip/main"), try id("tip/main", stack: "big"))
        let phones = harness.connect(as: "alice")
        harness.post("SUB @car/* view=phone", from: phones)
        harness.turn()
        let rows = harness.lines(of: phones).filter { $0.contains("suggested") }
        let keys = rows.compactMap { HubHarness.attribute("key", of: $0) }
        // CarPlay has no medium family.
        #expect(Set(keys) == ["@car/\(small)", "@car/\(big)"])
        #expect(try TestBoardDevice.car(harness).suggested == [small])
        reply("TILE @car/t9 do=add widget=tip")
        let car = try TestBoardDevice.car(harness)
        let walk = try id("walk/main")
        #expect(car.suggested == [walk])
        reply("TILE @car/t9 do=remove")
        try car.read()
        #expect(car.suggested == [small])
        reply("TILE @car/left do=stack suggest=no")
        #expect(try car.read().contains("-\(small)"))
        // A watch has no stacks.
        let watch = harness.send("SUB @car/* view=watch", from: harness.connect(as: "alice"))
        #expect(!watch.contains { $0.contains("suggested") })
    }

    @Test("W42: a device that was away is told that a suggestion has gone, or came", arguments: 0..<3)
    func resume(_ number: Int) throws {
        stack(1)
        let first = harness.connect(as: "alice")
        if number < 2 { post("tip/main", [(0, 1), (600, 0)]) }
        let cursor = try harness.cursor(of: "SUB @car/* view=carplay", from: first)
        harness.disconnect(first)
        let tip = try id("tip/main")
        switch number {
        case 0: harness.advance(by: .seconds(600))
        case 1: reply("TILE @car/left do=stack suggest=no")
        default: post("tip/main", [(0, 1), (600, 0)])
        }
        let car = try TestBoardDevice.car(harness, "alice", "from=\(cursor)")
        #expect(car.deletions.contains { $0.contains(tip) && $0.contains("why=hidden") } == (number < 2))
        #expect(car.suggested == (number < 2 ? [] : [tip]))
    }
}
