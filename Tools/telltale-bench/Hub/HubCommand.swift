import ArgumentParser
import CAllocations
import Foundation
import TelltaleEventLoop
import TelltaleModel

/// `telltale-bench hub`: what a delivery costs without sockets, clock and journal; and the guard against its growing.
struct HubCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub", abstract: "What a delivery allocates and costs in the hub alone.",
        discussion: """
            Publishes --events through a hub in this process, and renders what its sessions are due: the whole way \
            from an event's line to the rows' bytes, without sockets, clock and journal. Allocations are counted, and are \
            the same on every machine.

            `one key`: everybody follows one key, one event a turn. `bursts`: the same, 16 events of other keys a turn. \
            `many keys`: each key has one follower. `ids`: events of 300 bytes of 1,000 keys, each with an id of its source. With \
            --aggregates N there are N widgets that tell all keys together; each event changes every fourth of them.

            With --limits FILE, a JSON object of {"LOAD": {"per_delivery": N, "per_event": N}}, it fails when a load \
            allocates more. Tools/ci/guard-deliveries runs that, and counts instructions too where there is valgrind.
            """)

    @Option(help: "Events of each load, after a tenth to warm up.") var events = 2_000
    @Option(help: "Sessions that follow.") var sessions = 100
    @Option(help: "One of the loads alone.") var load: String?
    @Option(help: "Keys of the load ids.") var keys = 1_000
    @Option(help: "Kinds of widgets that count all keys, and add them up.") var aggregates = 0
    @Option(help: "A file of limits.") var limits: String?
    @Flag(help: "Print one JSON object.") var json = false

    private struct Load {
        var name: String
        var keys: Int
        var each: Int
        var eventsPerTurn: Int
        var hasEventIDs = false
    }

    private var loads: [Load] {
        [
            Load(name: "one key", keys: 1, each: 1, eventsPerTurn: 1),
            Load(name: "bursts", keys: 16, each: 16, eventsPerTurn: 16),
            Load(name: "many keys", keys: 10 * sessions, each: 10, eventsPerTurn: 16),
            Load(name: "ids", keys: keys, each: 1, eventsPerTurn: 16, hasEventIDs: true),
        ].filter { load == nil || $0.name == load }
    }

    func validate() throws {
        guard events >= 160, (1...100_000).contains(sessions), (1...1_000_000).contains(keys),
            (0...16).contains(aggregates), !loads.isEmpty
        else {
            throw ValidationError(
                """
                events: 160 at least; sessions: 1 to 100000; keys: 1 to 1000000; aggregates: 0 to 16; \
                load: one key, bursts, many keys or ids
                """)
        }
    }

    private struct Result {
        var deliveries: Int
        var allocations: Int
        var nanoseconds: Double
        var bytes: Int
    }

    func run() throws {
        let limits = try limits.map { try Limits(file: $0) }
        var report = JSONObject()
        var faults: [String] = []
        for load in loads {
            // The cost of a turn without followers is the events' part.
            let alone = try measure(load, isFollowed: false)
            let followed = try measure(load, isFollowed: true)
            let rows = Double(max(1, followed.deliveries))
            let perEvent = Double(alone.allocations) / Double(events)
            let perDelivery = Double(followed.allocations - alone.allocations) / rows
            // The difference of two times, which noise can make anything.
            let nanoseconds = max(0, followed.nanoseconds - alone.nanoseconds) / rows
            var entry = JSONObject()
            entry["deliveries"] = .integer(Int64(followed.deliveries))
            entry["allocations_per_delivery"] = Sample.json(perDelivery)
            entry["allocations_per_event"] = Sample.json(perEvent)
            entry["ns_per_delivery"] = JSON(nanoseconds.rounded())
            entry["ns_per_event"] = JSON((alone.nanoseconds / Double(events)).rounded())
            report[load.name] = .object(entry)
            if !json {
                print(
                    """
                    \(load.name): \(Sample.text(perDelivery, 3)) allocations and \
                    \(Int(nanoseconds)) ns a delivery of \
                    \(followed.bytes / max(1, followed.deliveries)) bytes; \(Sample.text(perEvent, 2)) allocations and \
                    \(Int(alone.nanoseconds / Double(events))) ns an event
                    """)
            }
            faults += limits?.faults(load.name, perDelivery: perDelivery, perEvent: perEvent) ?? []
        }
        if json { print(JSON.object(report)) }
        for fault in faults { StandardStream.error.write("telltale-bench: \(fault)\n") }
        if !faults.isEmpty { throw ExitCode.failure }
    }

    private func measure(_ load: Load, isFollowed: Bool) throws -> Result {
        var hub = try HubLoad(
            sessions: isFollowed ? sessions : 0, keys: load.keys, each: load.each, hasEventIDs: load.hasEventIDs,
            aggregates: aggregates)
        func post(_ count: Int) {
            for number in 1...count {
                hub.post()
                if number % load.eventsPerTurn == 0 { hub.turn() }
            }
        }
        post(events / 10)
        let deliveries = hub.deliveries
        let bytes = hub.byteCount
        let allocations = allocations_of_this_thread()
        let took = ContinuousClock().measure { post(events) }
        return Result(
            deliveries: hub.deliveries - deliveries,
            allocations: Int(allocations_of_this_thread() - allocations),
            nanoseconds: took / .nanoseconds(1), bytes: hub.byteCount - bytes)
    }

    /// The most that each load may allocate.
    private struct Limits {
        private let content: JSON
        private let file: String

        init(file: String) throws {
            guard let data = FileManager.default.contents(atPath: file) else {
                throw ValidationError("--limits \(file): the file cannot be read")
            }
            content = try JSONParser().parse([UInt8](data).span)
            self.file = file
        }

        func faults(_ load: String, perDelivery: Double, perEvent: Double) -> [String] {
            [("per_delivery", perDelivery), ("per_event", perEvent)].compactMap { name, value in
                let place = "\(file): \(load): \(name)"
                guard let limit = content[load]?[name]?.double else { return "\(place): there is no such number" }
                guard value > limit else { return nil }
                return
                    "\(place): \(Sample.text(value, 3)) allocations, and \(limit) are allowed. Take the new ones out, "
                    + "or raise the limit and say why in the commit."
            }
        }
    }
}
