import Hub
import TelltaleModel
import TestSupport
import Testing

/// Taps, results, reports, deadlines, disconnects, full disks, crashes and restarts in random order, seen from outside.
struct ControlStormTests {
    @Test(
        "Controls keep their promises in any order of things",
        arguments: Lane.some([1, 2, 3, 4] as [UInt64], atEveryChange: 2))
    func storm(seed: UInt64) throws {
        var storm = try ControlStorm(seed: seed)
        for _ in 0..<800 {
            try storm.step()
            guard storm.faults.isEmpty else { break }
        }
        try storm.finish()
        #expect(storm.faults == [])
        // The storm has exercised every outcome.
        for (name, count) in [
            "taps": storm.tapCount, "confirmed": storm.confirmedCount, "restarts": storm.restartCount,
        ] {
            #expect(count > 5, "\(name)")
        }
    }
}

/// Clients, providers and faults in random order, with an account of everything that the clients were sent.
private struct ControlStorm {
    private let harness: HubHarness
    private var random: SeededGenerator
    private(set) var faults: [String] = []
    private(set) var tapCount = 0
    private(set) var confirmedCount = 0
    private(set) var restartCount = 0

    private struct Asked {
        var operation: Int64
        var key: String
        var value: Bool?
    }

    private var screens: [HubHarness.Client] = []
    private var providers: [(client: HubHarness.Client, kind: String, asked: [Asked])] = []
    private var watcher: HubHarness.Client
    private var rows: [String: (rev: Int64, body: JSON)] = [:]
    /// The first reply to each account's tap of an id.
    private var answers: [String: String] = [:]
    private var nextID = 0
    private var newestAsked: [String: Int64] = [:]
    private var sent: [String: Set<Bool>] = [:]
    /// Operations that were begun, and whose end no row has reported.
    private var untold: Set<String> = []
    private var sentEnds: Set<String> = []
    /// When an operation of a control began or ended last.
    private var progress: [String: Timestamp] = [:]

    private static let accounts = ["alice", "bob", "carol"]
    private static let toggles = ["porch-light/a", "porch-light/b", "store-open/main"]
    private static let button = "log-coffee/desk"
    private static let timeout = Milliseconds.seconds(5)

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        harness = try HubHarness(kinds: [
            HubHarness.coffee,
            HubHarness.porchLight(#""timeout":"5s","instances":["a","b"]"#),
            HubHarness.porchLight(#""timeout":"5s","restore":"reissue","instances":["main"]"#)
                .replacing("porch-light", with: "store-open"),
            HubHarness.logCoffee(
                #""timeout":"5s","instances":["desk"],"raises":{"kind":"coffee-order","event":"start"}"#),
        ])
        watcher = harness.connect()
        connectAll()
    }

    private mutating func connectAll() {
        watcher = harness.connect()
        rows = [:]
        read(harness.send("SUB *", from: watcher))
        providers = []
        screens = Self.accounts.map { account in
            let screen = harness.connect()
            harness.send("HELLO account=\(account) surface=carplay", from: screen)
            harness.send("SUB *", from: screen)
            return screen
        }
    }

    mutating func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<30: tap()
        case 30..<38: press()
        case 38..<66: answer()
        case 66..<72: serve()
        case 72..<75: leave()
        case 75..<83: report()
        case 83..<94: harness.advance(by: Milliseconds(Int64.random(in: 0..<3_000, using: &random)))
        case 94..<96:
            harness.isFull.toggle()
            harness.advance(by: .seconds(1))
        case 96..<98: reconnectScreen()
        default: try restart()
        }
        settle()
    }

    /// Lets everything end, and compares the rows of the watcher with the state.
    mutating func finish() throws {
        harness.isFull = false
        harness.advance(by: .seconds(2))
        for _ in 0..<6 { harness.advance(by: .seconds(5)) }
        settle()
        for key in Self.toggles + [Self.button] {
            let line = harness.send("GET \(key)", from: harness.connect()).last ?? ""
            let row = try HubHarness.tail(line)
            if row["phase"] == "pending" || row["phase"] == "performing" { fault("\(key) never ended: \(line)") }
            if rows[key]?.body != row { fault("the watcher was not told of \(line)") }
        }
        for operation in untold.sorted() { fault("nobody was told how \(operation) ended") }
        _ = try harness.recovered()
    }

    // MARK: People

    private mutating func tap() {
        guard let key = Self.toggles.randomElement(using: &random) else { return }
        let value = Bool.random(using: &random)
        let rev = rows[key]?.rev ?? 0
        let seen = Int.random(in: 0..<4, using: &random)
        let condition = seen == 0 ? " if=\(rev)" : seen == 1 ? " if=\(max(0, rev - 1))" : ""
        let reply = send("SET \(key) value=\(value ? "on" : "off")\(condition)", key: key)
        guard let reply, reply.hasPrefix("OK"), seen == 1 else { return }
        if !reply.contains("verdict=duplicate") { fault("acted on an old screen: \(reply)") }
    }

    private mutating func press() { _ = send("PRESS \(Self.button)", key: Self.button) }

    /// Sends a tap with an id, which is a repetition now and then, and checks that an id acts once.
    private mutating func send(_ command: String, key: String) -> String? {
        let number = Int.random(in: 0..<Self.accounts.count, using: &random)
        let isRepeated = nextID > 0 && Int.random(in: 0..<5, using: &random) == 0
        if !isRepeated { nextID += 1 }
        let eid = isRepeated ? Int.random(in: max(1, nextID - 8)...nextID, using: &random) : nextID
        let identity = "\(Self.accounts[number]) \(eid)"
        let wasPending = isPending(key)
        let reply = harness.send("\(command) eid=\(eid)", from: screens[number]).last {
            $0.hasPrefix("OK") || $0.hasPrefix("ERR")
        }
        guard let reply else {
            fault("no reply to \(command)")
            return nil
        }
        tapCount += 1
        guard reply.hasPrefix("OK") else {
            if answers[identity] != nil, !reply.contains("dup_mismatch"), !reply.contains("storage_full") {
                fault("\(identity) acted, and then \(reply)")
            }
            return reply
        }
        let answer = HubHarness.attribute("op", of: reply) ?? "nothing"
        if let first = answers[identity] {
            if first != answer || !reply.contains("verdict=duplicate") {
                fault("\(identity) was \(first), then \(reply)")
            }
        } else {
            if reply.contains("verdict=duplicate") { fault("\(identity) never acted: \(reply)") }
            answers[identity] = answer
            if answer != "nothing", !sentEnds.contains(answer) { untold.insert(answer) }
            if !wasPending { progress[key] = harness.time }
        }
        return reply
    }

    private mutating func reconnectScreen() {
        let number = Int.random(in: 0..<screens.count, using: &random)
        harness.disconnect(screens[number])
        screens[number] = harness.connect()
        harness.send("HELLO account=\(Self.accounts[number]) surface=carplay", from: screens[number])
        harness.send("SUB *", from: screens[number])
    }

    // MARK: Providers

    private mutating func serve() {
        guard providers.count < 6,
            let kind = ["porch-light", "store-open", "log-coffee"].randomElement(using: &random)
        else { return }
        let client = harness.connect()
        let replies = harness.send("SERVE \(kind)", from: client)
        // On a full disk it is notified that it does not serve.
        guard replies.contains(where: { $0.hasPrefix("OK") }) else { return harness.disconnect(client) }
        providers.append((client, kind, []))
        handleLines(replies, by: providers.count - 1)
    }

    private mutating func leave() {
        guard !providers.isEmpty else { return }
        let gone = providers.remove(at: Int.random(in: 0..<providers.count, using: &random))
        harness.disconnect(gone.client)
    }

    private mutating func report() {
        guard let index = providers.indices.randomElement(using: &random) else { return }
        guard let key = Self.toggles.filter({ $0.hasPrefix(providers[index].kind) }).randomElement(using: &random)
        else { return }
        let value = Bool.random(using: &random)
        let late = Bool.random(using: &random) ? " at=\(harness.time.milliseconds - 1_000)" : ""
        sent[key, default: []].insert(value)
        handleLines(
            harness.send("REPORT \(key) value=\(value ? "on" : "off")\(late)", from: providers[index].client), by: index
        )
    }

    private mutating func answer() {
        guard let index = providers.indices.filter({ !providers[$0].asked.isEmpty }).randomElement(using: &random)
        else {
            return
        }
        // The newest, or an old one: a late answer.
        let position =
            Int.random(in: 0..<4, using: &random) == 0
            ? Int.random(in: 0..<providers[index].asked.count, using: &random) : providers[index].asked.count - 1
        let asked = providers[index].asked[position]
        let isOld = asked.operation < newestAsked[asked.key] ?? 0
        let before = rows[asked.key]?.body
        let line: String
        switch Int.random(in: 0..<5, using: &random) {
        case 0: line = "FAIL op=o\(asked.operation) code=jammed"
        case 1: line = "DONE op=o\(asked.operation)"
        default:
            let lies = Int.random(in: 0..<8, using: &random) == 0
            let value = asked.value.map { $0 != lies }
            if let value { sent[asked.key, default: []].insert(value) }
            line = "DONE op=o\(asked.operation)\(value.map { $0 ? " value=on" : " value=off" } ?? "")"
        }
        if let value = asked.value { sent[asked.key, default: []].insert(value) }
        handleLines(harness.send(line, from: providers[index].client), by: index)
        read(harness.lines(of: watcher))
        guard isOld, rows[asked.key]?.body != before else { return }
        fault("the old \(line) changed \(asked.key)")
    }

    // MARK: Faults of the daemon

    private mutating func restart() throws {
        harness.isFull = false
        restartCount += 1
        // Sometimes it crashes with a batch on its way to the disk, which no client has heard of.
        if Bool.random(using: &random), let screen = screens.randomElement(using: &random) {
            harness.post("SET porch-light/a value=on eid=lost-\(restartCount)", from: screen)
            _ = harness.hub.decide(at: harness.now)
            try harness.restart()
        } else if Bool.random(using: &random) {
            try harness.restart()
        } else {
            try harness.restartFromSnapshot()
        }
        for key in Self.toggles + [Self.button] { progress[key] = harness.time }
        connectAll()
    }

    // MARK: Lines

    private mutating func settle() {
        for index in providers.indices { handleLines(harness.lines(of: providers[index].client), by: index) }
        for screen in screens { for line in harness.lines(of: screen) { check(line) } }
        read(harness.lines(of: watcher))
        guard !harness.isFull else { return }
        for key in Self.toggles {
            let isServed = providers.contains { key.hasPrefix($0.kind) }
            guard let available = rows[key]?.body["available"]?.bool, available != isServed else { continue }
            fault("\(key) is available: \(available), with \(providers.map(\.kind)) there")
        }
        for key in Self.toggles + [Self.button] where isPending(key) {
            guard let since = progress[key], harness.time - since > Self.timeout else { continue }
            fault("\(key) has been pending for \(harness.time - since): \(rows[key]?.body ?? .null)")
        }
    }

    private mutating func handleLines(_ lines: [String], by index: Int) {
        for line in lines where line.hasPrefix("DO ") {
            guard let key = HubHarness.attribute("key", of: line),
                let operation = HubHarness.attribute("op", of: line).flatMap({ Int64($0.dropFirst()) })
            else { continue }
            if operation < newestAsked[key] ?? 0 { fault("\(line) after o\(newestAsked[key] ?? 0)") }
            newestAsked[key] = operation
            let value = HubHarness.attribute("value", of: line).map { $0 == "on" }
            providers[index].asked.append(Asked(operation: operation, key: key, value: value))
        }
    }

    private mutating func read(_ lines: [String]) {
        for line in lines where line.hasPrefix("UPD") || line.hasPrefix("SNAP") {
            check(line)
            guard let key = HubHarness.attribute("key", of: line), !key.hasPrefix("coffee-order"),
                let rev = HubHarness.attribute("rev", of: line).flatMap({ Int64($0) }),
                let body = try? HubHarness.tail(line)
            else { continue }
            if rev < rows[key]?.rev ?? 0 { fault("\(key) went back to \(rev)") }
            if rev == rows[key]?.rev, body != rows[key]?.body { fault("two bodies for one rev: \(line)") }
            for end in [body["last"]].compactMap(\.self) + (body["ended"]?.array ?? []) {
                guard let operation = end["op"]?.string else { continue }
                sentEnds.insert(operation)
                untold.remove(operation)
            }
            if let last = body["last"], last != rows[key]?.body["last"] {
                progress[key] = harness.time
                if last["result"] == "confirmed" { confirmedCount += 1 }
            }
            if let value = body["value"]?.bool, sent[key]?.contains(value) != true { fault("nobody said so: \(line)") }
            rows[key] = (rev, body)
        }
    }

    /// Checks the row of a control on any screen.
    private mutating func check(_ line: String) {
        guard line.contains(#""control":"toggle""#), let body = try? HubHarness.tail(line) else { return }
        if body["phase"] != "pending", body["shown"] != body["value"] || body["wanted"] != nil {
            fault("settled, and shown otherwise: \(line)")
        }
        if body["phase"] == "pending", body["wanted"] == nil { fault("pending for nothing: \(line)") }
    }

    private func isPending(_ key: String) -> Bool {
        let phase = rows[key]?.body["phase"]
        return phase == "pending" || phase == "performing"
    }

    private mutating func fault(_ text: String) { faults.append(text) }
}
