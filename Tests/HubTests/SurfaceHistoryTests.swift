import Hub
import Machines
import TelltaleModel
import TestSupport
import Testing

/// Random lives of activities on the devices of three people, with breaks, restarts and slow readers.
struct SurfaceHistoryTests {
    @Test(
        "whatever happens, every device shows what it should, and no alert comes twice",
        arguments: 0..<5 as Range<UInt64>)
    func history(seed: UInt64) throws {
        var history = try SurfaceHistory(seed: seed)
        for step in 0..<120 {
            history.step = step
            try history.act()
            try history.check(device: Int(history.random.below(UInt64(history.screens.count))))
            if history.hasFailed { return }
        }
        for device in history.screens.indices { try history.check(device: device) }
        #expect(history.alertCount > 0, "seed \(seed)")
    }

    @Test(
        "where views leave activities out, every device shows those that a new one does",
        arguments: 100..<112 as Range<UInt64>)
    func crowded(seed: UInt64) throws {
        var history = try SurfaceHistory(seed: seed, limit: 1 + Int(seed % 3))
        for step in 0..<120 {
            history.step = step
            try history.act()
            try history.check(device: Int(history.random.below(UInt64(history.screens.count))))
            if history.hasFailed { return }
        }
        for device in history.screens.indices { try history.check(device: device) }
    }
}

private struct SurfaceHistory {
    var random: SeededGenerator
    var step = 0
    private(set) var screens: [TestScreen] = []
    private let harness: HubHarness
    private var shop: HubHarness.Client
    private let seed: UInt64
    /// Devices whose sockets take nothing now.
    private var blocked: Set<Int> = []
    /// The accounts that each key was started for and that have not dismissed it.
    private var people: [String: Set<String>] = [:]
    /// The last content of each key since it ended.
    private var frozen: [String: JSON] = [:]
    /// The full view, which sees every activity.
    private var everything: [String: JSON] = [:]
    private(set) var hasFailed = false
    private let limit: Int
    private let configuration: HubConfiguration

    var alertCount: Int { screens.reduce(0) { $0 + $1.alerts.count } }

    /// - Parameter limit: So many activities a view of an account shows.
    init(seed: UInt64, limit: Int = 64) throws {
        (self.seed, self.limit) = (seed, limit)
        random = SeededGenerator(seed: seed)
        var configuration = HubConfiguration()
        configuration.decisions.activityLimits.perApp = 3
        configuration.decisions.activityLimits.perAccount = 5
        configuration.limits.activitiesPerView = limit
        if limit < 64 { configuration.limits.keysFilledAtOnce = 5 }
        self.configuration = configuration
        harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces, configuration: configuration)
        shop = harness.connect()
        for account in ["alice", "bob"] {
            for surface in ["phone", "pad", "watch", "carplay", "desktop", "standby"] {
                screens.append(try TestScreen(surface, account: account, in: harness).connect())
            }
        }
        screens.append(try TestScreen("carplay", account: nil, in: harness).connect())
        screens.append(try TestScreen("watch", account: "carol", in: harness).connect())
    }

    // MARK: Steps

    mutating func act() throws {
        switch random.below(100) {
        case ..<55: try event()
        case ..<67: harness.time = harness.time + Milliseconds(Int64(random.below(40 * 60_000)))
        case ..<72: try sendWords { screen, key in "DISMISS \(key)" + (screen.account == nil ? " id=x" : "") }
        case ..<78: try sendWords { screen, key in "SEEN \(key) rev=\(screen.rows[key]?.rev ?? 1)" }
        case ..<85: try situation()
        case ..<91: try reconnect()
        case ..<98: try block()
        default: try restart()
        }
        harness.turn()
        for device in screens.indices where !blocked.contains(device) { try screens[device].view() }
    }

    private mutating func key() -> String {
        "\(["coffee-order", "errand", "taxi"][Int(random.below(3))])/\(random.below(3))"
    }

    private mutating func event() throws {
        let key = key()
        let type: String
        if everything[key] == nil || random.chance(10) {
            type = "start"
        } else {
            let types = [
                "update", "update", "end", "confirm", "brew", "ready", "near", "near", "arrive", "finish", "call",
            ]
            type = types[Int(random.below(UInt64(types.count)))]
        }
        let now = harness.time.milliseconds / 1000
        var tail: [(String, JSON)] = []
        if random.chance(50) { tail.append(("content-state", ["n": .integer(Int64(random.below(3)))])) }
        if random.chance(30) { tail.append(("relevance-score", .integer(Int64(random.below(4))))) }
        if random.chance(20) { tail.append(("stale-date", .integer(now + Int64(random.below(1800)) - 300))) }
        if random.chance(20) { tail.append(("dismissal-date", .integer(now + Int64(random.below(7200)) - 600))) }
        if random.chance(30) { tail.append(("alert", ["title": "Own", "body": "b"])) }
        if type == "start", random.chance(15) {
            tail.append(("start-date", .integer(now + Int64(random.below(3600)))))
        }
        var object = JSONObject()
        for (name, value) in tail { object[name] = value }
        let whom = [["alice"], ["bob"], ["alice", "bob"], []][Int(random.below(4))]
        let recipients = type == "start" && !whom.isEmpty ? " for=\(whom.joined(separator: ","))" : ""
        let before = everything[key]
        let reply = try harness.event(key, "type=\(type)\(recipients) \(JSON.object(object))", from: shop)
        if type == "start", reply.attributes["verdict"] == "applied" {
            fail(before != nil, "a start of \(key), which was there, took effect")
            people[key] = Set(whom)
        }
    }

    private mutating func sendWords(_ words: (TestScreen, String) -> String) throws {
        let device = Int(random.below(UInt64(screens.count)))
        guard !blocked.contains(device), let key = screens[device].rows.keys.sorted().first else { return }
        let line = words(screens[device], key)
        try screens[device].say(line)
        guard line.hasPrefix("DISMISS"), let account = screens[device].account else { return }
        fail(screens[device].rows[key] != nil, "\(key) was dismissed and is still there")
        people[key]?.remove(account)
    }

    private mutating func situation() throws {
        let device = Int(random.below(UInt64(screens.count)))
        guard !blocked.contains(device) else { return }
        let values = [
            ("dashboard", ["visible", "hidden"]), ("foreground", ["none", "com.example.coffee", "com.example.maps"]),
            ("locked", ["no", "yes"]), ("show", ["unlocked", "locked"]),
            ("appearance", ["light", "dark"]), ("wrist", ["up", "down"]),
            ("light", ["normal", "low"]),
            ("luminance", ["normal", "reduced"]), ("focus", ["off", "on"]), ("standby", ["off", "on", "tapped"]),
        ]
        let (name, choices) = values[Int(random.below(UInt64(values.count)))]
        try screens[device].set(name, to: choices[Int(random.below(UInt64(choices.count)))])
    }

    private mutating func reconnect() throws {
        let device = Int(random.below(UInt64(screens.count)))
        blocked.remove(device)
        screens[device].disconnect()
        for _ in 0..<random.below(3) { try event() }
        try screens[device].connect(fresh: random.chance(20))
    }

    private mutating func block() throws {
        let device = Int(random.below(UInt64(screens.count)))
        guard let client = screens[device].client else { return }
        if blocked.remove(device) != nil {
            harness.hub.becameWritable(client.id)
        } else {
            blocked.insert(device)
            harness.hub.becameBlocked(client.id, at: harness.now)
        }
    }

    private mutating func restart() throws {
        blocked = []
        try harness.restart(
            kinds: HubHarness.kindsOfSurfaces, fromSnapshot: random.chance(50), configuration: configuration)
        shop = harness.connect()
        for screen in screens {
            screen.lose()
            try screen.connect()
        }
    }

    // MARK: Checks

    mutating func check(device: Int) throws {
        cutStuck()
        let screen = screens[device]
        for screen in screens where !screen.faults.isEmpty { fail(true, "\(screen.surface): \(screen.faults)") }
        try checkTruth()
        guard !blocked.contains(device) else { return }
        try screen.view()
        // The same device, bought anew, shows the same.
        let twin = TestScreen(screen.surface, account: screen.account, in: harness)
        twin.traits = screen.traits
        try twin.connect()
        let (own, wanted) = (Set(screen.picture), Set(twin.picture))
        fail(
            own != wanted,
            "\(screen.surface): \(own.subtracting(wanted).sorted()) instead of \(wanted.subtracting(own).sorted())")
        twin.disconnect()
        let orders = screen.rows.values.compactMap { $0.body["order"]?.integer }.sorted()
        if screen.account != nil {
            fail(orders != orders.indices.map { Int64($0) + 1 }, "\(screen.surface): places \(orders)")
            fail(orders.count > limit, "\(screen.surface): \(orders.count) rows")
            let islands = screen.rows.values.filter { $0.body["island"] != nil }
            fail(islands.count > 2, "\(islands.count) on one island")
            let apps = screen.rows.values.compactMap { $0.body["app"]?.string }
            if screen.surface == "desktop" || screen.surface == "standby" {
                fail(Set(apps).count != apps.count, "\(screen.surface): two of one app")
            }
        }
        for (key, row) in screen.rows {
            fail(everything[key] == nil, "\(screen.surface) shows \(key), which has left")
            if let account = screen.account, let people = people[key], !people.isEmpty {
                fail(!people.contains(account), "\(screen.surface) of \(account) shows \(key)")
            }
            fail(
                row.body["lifecycle"] != everything[key]?["lifecycle"],
                "\(key) is not \(row.body["lifecycle"] ?? .null)")
        }
    }

    /// The hub ends sessions that accept nothing for long, and time leaps here.
    private mutating func cutStuck() {
        for device in blocked.sorted() {
            guard let client = screens[device].client, !client.isFinished else {
                blocked.remove(device)
                screens[device].lose()
                do { try screens[device].connect() } catch { fail(true, "\(error)") }
                continue
            }
        }
    }

    private mutating func checkTruth() throws {
        var now: [String: JSON] = [:]
        for line in harness.send("LIST * view=full", from: shop) where line.hasPrefix("SNAP") {
            let text = try ServerText(line)
            now[text.key] = text.body
        }
        let milliseconds = harness.time.milliseconds
        var occupied: [String: [String: Int]] = [:]
        for (key, row) in now {
            let lifecycle = row["lifecycle"]?.string ?? ""
            if let endedAt = row["endedAt"]?.integer, let removeAt = row["removeAt"]?.integer,
                let startedAt = row["startedAt"]?.integer
            {
                fail(removeAt > endedAt + 4 * 3_600_000, "\(key) lingers too long")
                fail(removeAt > startedAt + 12 * 3_600_000, "\(key) is there too long")
                fail(removeAt <= milliseconds, "\(key) should have left")
            }
            if lifecycle == "ended" {
                if let before = frozen[key] { fail(before != row, "\(key) changed after its end") }
                frozen[key] = row
            } else {
                frozen[key] = nil
                if lifecycle != "dismissed" {
                    let app = String(key.prefix { $0 != "/" })
                    for account in people[key] ?? [] { occupied[account, default: [:]][app, default: 0] += 1 }
                }
            }
            if let staleAt = row["staleAt"]?.integer {
                fail(lifecycle == "active" && staleAt <= milliseconds, "\(key) should be stale")
            }
        }
        for key in frozen.keys where now[key] == nil { frozen[key] = nil }
        for (account, apps) in occupied {
            fail(apps.values.reduce(0, +) > 5, "\(account) has \(apps)")
            fail(apps.values.contains { $0 > 3 }, "\(account) has \(apps)")
        }
        everything = now
    }

    private mutating func fail(_ isWrong: Bool, _ message: @autoclosure () -> String) {
        guard isWrong, !hasFailed else { return }
        hasFailed = true
        Issue.record("seed \(seed), step \(step): \(message())")
    }
}
