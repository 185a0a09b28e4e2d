import TelltaleModel
import TestSupport
import Testing

/// Asks, answers, failures, reloads, posts, disconnects, full disks, crashes and restarts in random order, seen from outside.
struct RefreshStormTests {
    @Test(
        "Widgets ask by their rules in any order of things",
        arguments: Lane.some([1, 2, 3, 4] as [UInt64], atEveryChange: 2))
    func storm(seed: UInt64) throws {
        var storm = try RefreshStorm(seed: seed)
        for _ in 0..<800 {
            try storm.step()
            guard storm.faults.isEmpty else { break }
        }
        try storm.finish()
        #expect(storm.faults == [])
        // The storm has exercised every outcome.
        for (name, count) in [
            "asks": storm.refreshCount, "answers": storm.answerCount, "late answers": storm.lateCount,
            "deferred": storm.deferredCount, "restarts": storm.restartCount,
        ] {
            #expect(count > 5, "\(name)")
        }
    }
}

/// Providers, a producer, a screen and faults in random order.
private struct RefreshStorm {
    private let harness: HubHarness
    private var random: SeededGenerator
    private(set) var faults: [String] = []
    private(set) var refreshCount = 0
    private(set) var answerCount = 0
    private(set) var lateCount = 0
    private(set) var deferredCount = 0
    private(set) var restartCount = 0

    private struct Refresh {
        var operation: Int64
        var date: Timestamp
        var provider: Int
        var hasEnded = false
    }

    private var providers: [(client: HubHarness.Client, number: Int, asked: [(key: String, operation: Int64)])] = []
    private var providerCount = 0
    private var screen: HubHarness.Client
    private var shown: [String: String] = [:]
    /// The newest refresh of each key that was reported to a provider.
    private var newest: [String: Refresh] = [:]
    /// Keys whose next refresh need not wait for the floor: the last one failed, or their own provider wants it.
    private var free: Set<String> = []
    /// The number that the content of each key carries, by what was taken.
    private var content: [String: Int] = [:]
    private var given = 0

    private static let keys = ["weather/a", "weather/b", "weather/c"]
    private static let floor = Milliseconds.minutes(5)
    private static let timeout = Milliseconds.seconds(30)

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        harness = try HubHarness(kinds: [
            """
            {"kind":"weather","type":"widget","version":1,"app":"com.example.weather","title":"Weather",
             "source":{"provider":true},"parameters":{"town":{"title":"Town"}},
             "recommended":[{"town":"a"},{"town":"b"},{"town":"c"}],"families":["systemSmall"],
             "views":{"systemSmall":{"title":"{{content.n}}"}}}
            """
        ])
        screen = harness.connect()
        connectScreen()
    }

    private mutating func connectScreen() {
        screen = harness.connect()
        read(harness.send("SUB weather/* view=phone ahead=0", from: screen))
    }

    mutating func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<40: answer()
        case 40..<50: serve()
        case 50..<55: leave()
        case 55..<63: reload()
        case 63..<68: post()
        case 68..<93: harness.advance(by: Milliseconds(Int64.random(in: 0..<200_000, using: &random)))
        case 93..<96:
            harness.isFull.toggle()
            harness.advance(by: .seconds(1))
        default: try restart()
        }
        settle()
    }

    /// With a provider that answers, each widget is asked for in time, and shows what it was given.
    mutating func finish() throws {
        harness.isFull = false
        harness.advance(by: .seconds(2))
        settle()
        while !providers.isEmpty { leave() }
        free.formUnion(Self.keys)
        serve()
        // A timeline may have said that it is the last.
        for key in Self.keys { handleLines(harness.send("RELOAD \(key)", from: providers[0].client), by: 0) }
        settle()
        for _ in 0..<8 {
            harness.advance(by: .minutes(2))
            settle()
            for (key, operation) in providers.first?.asked ?? [] { supply(operation, of: key, by: 0, fails: false) }
            providers[0].asked = []
        }
        settle()
        for key in Self.keys {
            guard let ask = newest[key], harness.time - ask.date < .minutes(20) else {
                fault("\(key) was not asked for")
                continue
            }
            if shown[key] != content[key].map({ "\($0)" }) { fault("\(key) shows \(shown[key] ?? "nothing")") }
        }
        _ = try harness.recovered()
    }

    // MARK: Providers

    private mutating func serve() {
        guard providers.count < 3 else { return }
        let client = harness.connect()
        let replies = harness.send("SERVE weather", from: client)
        // On a full disk it is notified that it does not serve.
        guard replies.contains(where: { $0.hasPrefix("OK") }) else { return harness.disconnect(client) }
        providerCount += 1
        providers.append((client, providerCount, []))
        handleLines(replies, by: providers.count - 1)
    }

    private mutating func leave() {
        guard !providers.isEmpty else { return }
        let gone = providers.remove(at: Int.random(in: 0..<providers.count, using: &random))
        for key in Self.keys where newest[key]?.provider == gone.number { endRefresh(of: key) }
        harness.disconnect(gone.client)
    }

    private mutating func endRefresh(of key: String) {
        guard newest[key]?.hasEnded == false else { return }
        newest[key]?.hasEnded = true
        free.insert(key)
    }

    private mutating func answer() {
        guard let index = providers.indices.filter({ !providers[$0].asked.isEmpty }).randomElement(using: &random)
        else { return }
        // The newest, or an old one: a late answer.
        let position =
            Int.random(in: 0..<4, using: &random) == 0
            ? Int.random(in: 0..<providers[index].asked.count, using: &random) : providers[index].asked.count - 1
        let (key, operation) = providers[index].asked[position]
        supply(operation, of: key, by: index, fails: Int.random(in: 0..<4, using: &random) == 0)
    }

    private mutating func supply(_ operation: Int64, of key: String, by index: Int, fails: Bool) {
        given += 1
        let isLate =
            newest[key]?.operation != operation || newest[key]?.hasEnded == true
            || newest[key].map { harness.time - $0.date >= Self.timeout } == true
        let line =
            fails
            ? "FAIL op=o\(operation)" : "DONE op=o\(operation) {\(timeline(given))}"
        let lines = harness.send(line, from: providers[index].client)
        // The next refresh may stand behind the reply.
        defer { handleLines(lines, by: index) }
        guard let reply = lines.first(where: { $0.hasPrefix("OK") || $0.hasPrefix("ERR") }) else {
            return fault("no reply to \(line)")
        }
        guard !reply.contains("storage_full") else { return }
        if isLate {
            lateCount += 1
            if !reply.contains("verdict=ignored") { fault("a late answer was taken: \(reply) to \(line)") }
        } else if fails {
            endRefresh(of: key)
        } else {
            answerCount += 1
            newest[key]?.hasEnded = true
            if reply.contains("verdict=applied") { content[key] = given }
        }
    }

    private mutating func timeline(_ number: Int) -> String {
        let seconds = harness.time.milliseconds / 1_000
        let policy = ["\"atEnd\"", "\"never\"", "{\"after\":\(seconds + 400)}"].randomElement(using: &random) ?? ""
        return #""entries":[{"date":\#(seconds - 1),"content-state":{"n":\#(number)}}],"policy":\#(policy)"#
    }

    // MARK: Others

    private mutating func reload() {
        guard let key = Self.keys.randomElement(using: &random) else { return }
        let index = providers.indices.randomElement(using: &random)
        let isOwn = index != nil && Bool.random(using: &random)
        let client = isOwn ? providers[index ?? 0].client : harness.connect()
        if isOwn { free.insert(key) }
        let lines = harness.send("RELOAD \(key)", from: client)
        if let index, isOwn { handleLines(lines, by: index) }
        if lines.contains(where: { $0.contains("verdict=deferred") }) { deferredCount += 1 }
        if !isOwn { harness.disconnect(client) }
    }

    private mutating func post() {
        guard let key = Self.keys.randomElement(using: &random) else { return }
        given += 1
        let client = harness.connect()
        let reply = harness.send("EVT \(key) type=timeline {\(timeline(given))}", from: client)
        if reply.contains(where: { $0.contains("verdict=applied") }) { content[key] = given }
        harness.disconnect(client)
    }

    private mutating func restart() throws {
        harness.isFull = false
        restartCount += 1
        if Bool.random(using: &random) { try harness.restart() } else { try harness.restartFromSnapshot() }
        providers = []
        for key in Self.keys { endRefresh(of: key) }
        connectScreen()
    }

    // MARK: Lines

    private mutating func settle() {
        for index in providers.indices { handleLines(harness.lines(of: providers[index].client), by: index) }
        read(harness.lines(of: screen))
        for key in Self.keys {
            guard let number = shown[key], let taken = content[key], number != "\(taken)", !harness.isFull else {
                continue
            }
            fault("\(key) shows \(number), and \(taken) was taken")
        }
    }

    private mutating func handleLines(_ lines: [String], by index: Int) {
        for line in lines where line.hasPrefix("DO ") {
            guard let key = HubHarness.attribute("key", of: line),
                let operation = HubHarness.attribute("op", of: line).flatMap({ Int64($0.dropFirst()) })
            else { continue }
            refreshCount += 1
            if let former = newest[key] {
                if operation <= former.operation { fault("\(line) after o\(former.operation)") }
                let isOver = former.hasEnded || harness.time - former.date >= Self.timeout
                if !isOver { fault("\(line) while o\(former.operation) was under way") }
                let mayComeEarly = free.contains(key) || !former.hasEnded
                if harness.time - former.date < Self.floor, !mayComeEarly { fault("\(line) too early") }
            }
            free.remove(key)
            newest[key] = Refresh(operation: operation, date: harness.time, provider: providers[index].number)
            providers[index].asked.append((key, operation))
        }
    }

    private mutating func read(_ lines: [String]) {
        for line in lines where line.hasPrefix("UPD") || line.hasPrefix("SNAP") {
            guard let key = HubHarness.attribute("key", of: line), let body = try? HubHarness.tail(line) else {
                continue
            }
            shown[key] = body["entries"]?.array?.first?["view"]?["title"]?.string
        }
    }

    private mutating func fault(_ text: String) { faults.append(text) }
}
