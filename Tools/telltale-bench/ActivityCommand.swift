internal import ArgumentParser
internal import Foundation
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel

/// `telltale-bench activity`: the cost of one event, and of one row after it, without a hub.
struct ActivityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "activity", abstract: "The cost of an event on one activity, of its hash, and of its rows.")

    @Option(help: "Events a measurement.") var rounds = 20_000
    @Flag(help: "Print one JSON object.") var json = false

    private static let kind = """
        {"kind":"coffee","type":"activity","version":1,"app":"com.example.coffee","title":"Coffee order","stale":"4m",
         "supplementalFamilies":["small"],
         "machine":{"initial":"placed","on":{"cancel":"cancelled"},"states":{
           "placed":{"progress":0.1,"on":{"brew":"brewing"},"after":{"5m":"late"}},
           "brewing":{"progress":0.6,"on":{"back":"placed"},"after":{"5m":"late"}},
           "late":{"on":{"brew":"brewing"}},
           "cancelled":{"type":"final"}}},
         "views":{"small":{"title":"{{state.title}}","subtitle":"{{attributes.item}}","timer":"{{content.eta}}","progress":true},
           "compact":{"leading":{"symbol":"cup"},"trailing":{"text":"{{state.title}}"}}}}
        """

    func validate() throws {
        guard rounds >= 20 else { throw ValidationError("rounds must be 20 at least") }
    }

    func run() throws {
        let (read, _) = KindSet.read(Array(Self.kind.utf8), file: "coffee.json")
        guard let kind = read, case .activity(let definition) = kind.body, let key = Key(kind: "coffee", id: "1042")
        else { throw ExitCode.failure }
        let settings = ActivitySettings()
        var now = Timestamp(milliseconds: 1_763_719_200_000)
        var start = ActivityEvent(type: "start")
        start.details.attributes = ["shop": "Hoegi", "item": "Flat white"]
        start.details.content = ["eta": 1_763_719_500_000, "shelf": "B"]
        guard
            var activity = try Activity.start(
                key: key, kind: definition, event: start, accounts: ["alice"], settings: settings, at: now
            ).activity
        else { throw ExitCode.failure }

        var events = ["brew", "back"].map { ActivityEvent(type: $0) }
        events[0].details.content = ["eta": 1_763_719_600_000]
        var sum: UInt64 = 0
        var results = JSONObject()
        func report(_ name: String, _ nanoseconds: Double) {
            results[name] = JSON(nanoseconds.rounded())
            if !json { print("\(name): \(Int(nanoseconds)) ns") }
        }
        report(
            "event",
            try quickest { round in
                now = now + Milliseconds(1)
                let outcome = try activity.apply(events[round & 1], settings: settings, at: now)
                sum &+= UInt64(outcome.effects.rawValue)
            })
        report("hash", try quickest { _ in sum &+= activity.stateHash })
        report(
            "fullRow",
            try quickest { _ in
                var writer = JSONWriter()
                activity.writeFullRow(to: &writer)
                sum &+= UInt64(writer.bytes.count)
            })
        let placement = Placement(.small, order: 1)
        report(
            "carplayRow",
            try quickest { _ in
                var writer = JSONWriter()
                SurfaceRow.write(activity, kind: kind, placement: placement, surface: .carplay, to: &writer)
                sum &+= UInt64(writer.bytes.count)
            })
        let byteCount = try Self.bytesOfOne(kind: definition)
        results["bytes"] = JSON(byteCount)
        if json {
            print(JSON.object(results))
        } else {
            print("memory: \(Int(byteCount)) bytes, its key included, beside its attributes and content (sum \(sum))")
        }
    }

    /// The memory of one activity without attributes and content: the growth of the process divided by the number of
    /// them.
    private static func bytesOfOne(kind: ActivityKind) throws -> Double {
        let count = 100_000
        var activities: [Activity] = []
        activities.reserveCapacity(count)
        let before = try residentBytes()
        for index in 0..<count {
            guard let key = Key(kind: "coffee", id: "order-\(index)") else { throw ExitCode.failure }
            let (activity, _) = try Activity.start(
                key: key, kind: kind, event: ActivityEvent(type: "start"), accounts: [], settings: ActivitySettings(),
                at: Timestamp(milliseconds: 1_763_719_200_000))
            if let activity { activities.append(activity) }
        }
        let after = try residentBytes()
        guard activities.count == count else { throw ExitCode.failure }
        return (Double(after - before) / Double(count)).rounded()
    }

    /// The memory that this process has, by Linux's own account.
    private static func residentBytes() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { throw ExitCode.failure }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    /// Nanoseconds a round, in the quickest of some slices, in which no other process used the processor.
    private func quickest(_ body: (Int) throws -> Void) throws -> Double {
        let slice = rounds / 20
        var quickest = Duration.seconds(3600)
        for _ in 0..<20 {
            let time = try ContinuousClock().measure {
                for round in 0..<slice { try body(round) }
            }
            quickest = min(quickest, time)
        }
        return quickest / .nanoseconds(1) / Double(slice)
    }
}
