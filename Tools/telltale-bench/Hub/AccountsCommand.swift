import ArgumentParser
import Hub
import Server
import TelltaleModel

/// `telltale-bench accounts`: what screens of accounts cost others, among many activities that are everybody's.
struct AccountsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts", abstract: "What screens of accounts cost the events of everybody's activities.",
        discussion: """
            One server in this process, without sockets and journal, holds --activities that are everybody's; one client reads all of them. \
            Events are timed without and with --screens of accounts, in turns, and the quickest of --rounds counts.

            `behind`: an event of an activity behind the 64 that a view shows. `first`: one of the first that leaves it where it is. \
            `moved`: one that takes the first place and gives it back.
            """)

    @Option(help: "Activities that are everybody's.") var activities = 300_000
    @Option(help: "Screens, each of an account of its own.") var screens = 50
    @Option(help: "Their view.") var view = "watch"
    @Option(help: "Events of each round.") var events = 2_000
    @Option(help: "Rounds.") var rounds = 5
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        guard activities > 128, (1...256).contains(screens), events > 0, rounds > 0 else {
            throw ValidationError("activities: 129 at least; screens: 1 to 256; events and rounds: above 0")
        }
    }

    private enum Load: String, CaseIterable {
        case behind, first, moved
    }

    func run() throws {
        var load = try AccountsLoad(activities: activities)
        var quickest: [Load: (without: Double, with: Double)] = [:]
        var (subscribing, memory) = (Double.infinity, 0)
        for _ in 0..<rounds {
            for name in Load.allCases {
                measure(name, &load) {
                    quickest[name, default: (.infinity, .infinity)].without = min(
                        quickest[name]?.without ?? .infinity, $0)
                }
            }
            let before = load.sessionByteCount()
            let took = load.connect(screens, view: view)
            subscribing = min(subscribing, took)
            memory = max(memory, (load.sessionByteCount() - before) / screens)
            for name in Load.allCases {
                measure(name, &load) {
                    quickest[name, default: (.infinity, .infinity)].with = min(quickest[name]?.with ?? .infinity, $0)
                }
            }
            load.disconnect()
        }
        var report = JSONObject()
        for name in Load.allCases {
            guard let times = quickest[name] else { continue }
            var entry = JSONObject()
            entry["ns_without"] = JSON(times.without.rounded())
            entry["ns_with"] = JSON(times.with.rounded())
            entry["ratio"] = Sample.json(times.with / times.without)
            report[name.rawValue] = .object(entry)
            if !json {
                print(
                    "\(name.rawValue): \(Int(times.without)) ns an event, \(Int(times.with)) with \(screens) screens (\(Sample.text(times.with / times.without, 2)) x)"
                )
            }
        }
        report["ns_subscribe"] = JSON(subscribing.rounded())
        report["bytes_subscribe"] = .integer(Int64(memory))
        if json {
            print(JSON.object(report))
        } else {
            print("subscribe: \(Int(subscribing)) ns and \(memory) bytes each")
        }
    }

    private func measure(_ name: Load, _ load: inout AccountsLoad, _ note: (Double) -> Void) {
        let last = activities - 1
        for number in 0..<64 { load.post(name == .behind ? number : last, score: name == .behind ? number : last) }
        load.turn()
        let took = ContinuousClock().measure {
            for number in 0..<events {
                switch name {
                case .behind: load.post(number % (activities - 128), score: number % (activities - 128))
                case .first: load.post(last, score: last)
                // The second one takes the first place, and gives it back.
                case .moved: load.post(last - 1, score: number % 2 == 0 ? last + 1 : last - 1)
                }
                load.turn()
            }
        }
        note(took / .nanoseconds(1) / Double(events))
    }
}

/// A server with everybody's activities, a reader of all of them, and screens of accounts that come and go.
private struct AccountsLoad: ~Copyable {
    private var server: Server
    private let publisher: SessionID
    private var screens: [SessionID] = []
    private var time = Timestamp(milliseconds: 1_763_719_200_000)

    init(activities: Int) throws {
        server = try HubLoad.server(of: [TelltaleScreens.kind])
        let now = HubLoad.clocks(time)
        publisher = server.connected(at: now)
        let reader = server.connected(at: now)
        turn()
        for number in 0..<activities {
            post(number, score: number)
            if number % 256 == 0 { turn() }
        }
        turn()
        send("SUB * view=full", from: reader)
        for _ in 0..<activities / 512 + 8 { turn() }
    }

    private var now: HubTime { HubLoad.clocks(time) }

    private mutating func send(_ line: String, from session: SessionID) {
        _ = server.received(Array((line + "\n").utf8).span, from: session, at: now)
    }

    /// One event, that is not decided yet.
    mutating func post(_ number: Int, score: Int) {
        send(
            "EVT tally/\(number) type=tick {\"content-state\":{\"n\":\"\(number)\"},\"relevance-score\":\(score)}",
            from: publisher)
    }

    /// - Returns: The nanoseconds that each took, in the slowest turn of one.
    mutating func connect(_ count: Int, view: String) -> Double {
        var slowest = 0.0
        for number in 0..<count {
            let session = server.connected(at: now)
            screens.append(session)
            turn()
            send("SUB * view=\(view) for=account-\(number)", from: session)
            slowest = max(slowest, ContinuousClock().measure { turn() } / .nanoseconds(1))
        }
        for _ in 0..<8 { turn() }
        return slowest
    }

    mutating func disconnect() {
        for session in screens { server.disconnected(session) }
        screens = []
        turn()
    }

    mutating func sessionByteCount() -> Int {
        time = time + Milliseconds.seconds(2)
        let asker = server.connected(at: now)
        send("STATS", from: asker)
        let answer = String(decoding: turn(keeping: asker), as: UTF8.self)
        server.disconnected(asker)
        guard let range = answer.firstRange(of: "\"sessionBytes\":") else { return 0 }
        return Int(answer[range.upperBound...].prefix { $0.isNumber }) ?? 0
    }

    mutating func turn() { _ = turn(keeping: nil) }

    private mutating func turn(keeping kept: SessionID?) -> [UInt8] {
        time = time + Milliseconds(1)
        let now = now
        var reported: [UInt8] = []
        server.turnWithoutDisk(at: now) { id, bytes, _ in if id == kept { reported += bytes } }
        return reported
    }
}
