import Hub
import TelltaleModel
import TestSupport

/// A device that follows a board, and draws from the rows that reached it, without asking anybody.
final class TestBoardDevice {
    let harness: HubHarness
    let account: String?
    /// The words of its `TRAIT`.
    var traits: String
    private(set) var client: HubHarness.Client
    /// By the ids of the tiles.
    private(set) var rows: [String: JSON] = [:]
    /// The lines of all deletions.
    private(set) var deletions: [String] = []
    private(set) var cursor: String?
    /// The tiles of the rows that it took last, with `-` before those that went.
    private(set) var told: [String] = []
    private let view: String
    private let pattern: String

    /// - Parameter words: Of its `SUB`.
    init(
        _ harness: HubHarness, view: String, as account: String? = "alice", _ words: String = "", pattern: String,
        traits: String = ""
    ) throws {
        (self.harness, self.account, self.traits, self.view, self.pattern) = (harness, account, traits, view, pattern)
        client = account.map { harness.connect(as: $0) } ?? harness.connect()
        follow(words)
        try read()
    }

    static func car(
        _ harness: HubHarness, _ account: String = "alice", _ words: String = "", pattern: String = "@car/*"
    ) throws -> TestBoardDevice {
        try TestBoardDevice(harness, view: "carplay", as: account, words, pattern: pattern)
    }

    static func watch(
        _ harness: HubHarness, as account: String? = "alice", _ words: String = "", pattern: String = "@wrist/*"
    ) throws -> TestBoardDevice {
        try TestBoardDevice(harness, view: "watch", as: account, words, pattern: pattern)
    }

    private func follow(_ words: String) {
        if !traits.isEmpty { harness.send("TRAIT \(traits)", from: client) }
        harness.post("SUB \(pattern) view=\(view)" + (words.isEmpty ? "" : " \(words)"), from: client)
        harness.turn()
    }

    /// A new device of the same account, in the same situation.
    func another() throws -> TestBoardDevice {
        try TestBoardDevice(harness, view: view, as: account, pattern: pattern, traits: traits)
    }

    /// It reconnects, and resumes.
    func comeBack() {
        client = account.map { harness.connect(as: $0) } ?? harness.connect()
        if cursor == nil { rows = [:] }
        follow(cursor.map { "from=\($0)" } ?? "")
    }

    /// Takes what came.
    ///
    /// - Returns: ``told``.
    @discardableResult
    func read() throws -> [String] {
        told = []
        for line in harness.lines(of: client) {
            if let known = HubHarness.attribute("cur", of: line) { cursor = known }
            let text = try ServerText(line)
            if text.verb == "RESET" { rows = [:] }
            guard ["SNAP", "UPD", "DEL"].contains(text.verb) else { continue }
            let name = Self.name(text.key)
            rows[name] = text.verb == "DEL" ? nil : text.body
            if text.verb == "DEL" { deletions.append(line) }
            told.append((text.verb == "DEL" ? "-" : "") + name)
        }
        told.sort()
        return told
    }

    private static func name(_ key: String) -> String { String(key.drop { $0 != "/" }.dropFirst()) }

    /// The newest element of a list in a row that has come at a moment.
    static func newest(_ list: String, of row: JSON?, at now: Timestamp) -> JSON? {
        row?[list]?.array?.last { ($0["date"]?.integer ?? 0) <= now.milliseconds }
    }

    // MARK: A stack

    /// The title that a tile draws at a moment.
    func drawn(_ name: String, at now: Timestamp) -> String? {
        Self.newest("entries", of: rows[name], at: now)?["view"]?["title"]?.string
    }

    /// The tile of the stack that it draws at a moment.
    ///
    /// - Parameter name: The tile whose row says so; `nil` = any.
    func top(at now: Timestamp, by name: String? = nil) -> String? {
        let stack = rows.filter { $0.value["stack"] == "left" }
        for (other, row) in stack where name ?? other == other {
            if let key = Self.newest("turns", of: row, at: now)?["key"]?.string { return Self.name(key) }
        }
        // Before the first turn the one that has `top`.
        return stack.first { $0.value["top"] == true }?.key
    }

    /// The turns in a row: seconds from the start, and the tile.
    func turns(_ name: String, from start: Timestamp) -> String {
        (rows[name]?["turns"]?.array ?? []).map { turn in
            let date = Timestamp(milliseconds: turn["date"]?.integer ?? 0)
            return "\((date - start).count / 1_000):\(Self.name(turn["key"]?.string ?? "/?"))"
        }.joined(separator: " ")
    }

    var suggested: [String] { rows.filter { $0.value["suggested"] == true }.keys.sorted() }

    /// What each tile draws at a moment.
    func viewState(at now: Timestamp) -> [String: String] {
        var viewState: [String: String] = [:]
        for (name, row) in rows {
            let (entry, turn) = (Self.newest("entries", of: row, at: now), Self.newest("turns", of: row, at: now))
            let isTop = turn.map { Self.name($0["key"]?.string ?? "") == name } ?? (row["top"] == true)
            let title = entry?["placeholder"] == true ? "-" : entry?["view"]?["title"]?.string ?? "nothing"
            // StandBy draws nothing else, and is not notified that a tile will not come on top again.
            if view == "standby", !isTop { continue }
            // A suggestion that is to come may be known to one that came later.
            if row["suggested"] == true, title == "nothing" { continue }
            viewState[name] = "\(title) \(row["position"]?.integer ?? 0) \(isTop) \(row["suggested"] == true)"
        }
        return viewState
    }

    // MARK: A watch

    /// The widgets that it draws at a moment, from the top.
    func drawn(at now: Timestamp) -> [String] {
        var drawn: [(order: Int64, widget: String)] = []
        for row in rows.values {
            let moved = Self.newest("orders", of: row, at: now)
            let order = moved?["order"]?.integer ?? row["order"]?.integer ?? 0
            guard order > 0, let view = Self.newest("entries", of: row, at: now)?["view"], view != .null else {
                continue
            }
            drawn.append((order, row["widget"]?.string ?? "-"))
        }
        return drawn.sorted { $0.order < $1.order }.map(\.widget)
    }
}

/// Tests of boards over the line, which a phone arranges.
protocol BoardSuite {
    var harness: HubHarness { get }
    var phone: HubHarness.Client { get }
}

extension BoardSuite {
    /// The reply to a line of the phone.
    @discardableResult
    func reply(_ line: String) -> String { WidgetTests.reply(harness, line, phone).first ?? "-" }
}

/// Random things that happen to devices that follow a board: after each, they draw what a new device draws.
struct BoardStorm {
    let harness: HubHarness
    private(set) var phone: HubHarness.Client
    var devices: [TestBoardDevice] = []
    var kinds: [String]
    var generator: SeededGenerator
    private let seed: UInt64
    private var log: [String] = []

    init(_ kinds: [String], seed: UInt64) throws {
        (self.kinds, self.seed) = (kinds, seed)
        harness = try HubHarness(kinds: kinds)
        phone = harness.connect(as: "alice")
        generator = SeededGenerator(seed: seed)
    }

    mutating func any<Element>(_ all: [Element]) -> Element { all.randomElement(using: &generator) ?? all[0] }
    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    /// The situation of a device changes.
    mutating func situate(_ places: [String]) -> String {
        let device = any(devices)
        device.traits = "place=\(any(places))"
        harness.post("TRAIT \(device.traits)", from: device.client)
        return "PING id=trait"
    }

    /// A device is away while something happens.
    mutating func away(_ request: String) throws -> String {
        let device = any(devices)
        try device.read()
        harness.disconnect(device.client)
        harness.send(request, from: phone)
        harness.time = harness.time + .seconds(Int64(number(0...300)))
        harness.turn()
        device.comeBack()
        return "PING id=away"
    }

    mutating func adopt(_ kinds: [String]) throws -> String {
        self.kinds = kinds
        try harness.hub.adopt(try kinds.map { try HubHarness.kind($0) })
        return "PING id=kinds-\(kinds.count)"
    }

    mutating func restart() throws -> String {
        for device in devices { try device.read() }
        try harness.restart(kinds: kinds, fromSnapshot: number(0...1) == 0)
        phone = harness.connect(as: "alice")
        for device in devices { device.comeBack() }
        return "PING id=restart"
    }

    /// The disk refuses something.
    mutating func refuse(_ request: String) -> String {
        harness.isFull = true
        harness.send(request, from: phone)
        harness.isFull = false
        harness.time = harness.time + .seconds(Int64(number(1...100)))
        return "PING"
    }

    /// The phone sends a request, or nothing that has an effect.
    ///
    /// - Parameter viewState: What a device draws.
    /// - Returns: The device that draws something else than a new one, if there is one.
    mutating func fault<Sight: Equatable>(after request: String, _ viewState: (TestBoardDevice) -> Sight) throws
        -> String?
    {
        log.append(request)
        harness.post(request, from: phone)
        harness.turn()
        _ = harness.lines(of: phone)
        for (index, device) in devices.enumerated() {
            try device.read()
            let fresh = try device.another()
            harness.disconnect(fresh.client)
            let (held, given) = (viewState(device), viewState(fresh))
            if held != given {
                return "seed \(seed), device \(index) (\(device.traits)): \(held), and \(given), after \(log.suffix(6))"
            }
        }
        return nil
    }
}
