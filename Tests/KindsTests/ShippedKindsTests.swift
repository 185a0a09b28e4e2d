import Foundation
import Kinds
import TelltaleModel
import TelltaleStatechart
import Testing

/// `Protocols/Kinds/examples`, as they are shipped.
enum Shipped {
    static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().appending(path: "../../Protocols/Kinds/").standardizedFileURL

    static let names = [
        "bistro-order", "cancel-order", "coffee-order", "coffee-tip", "flight", "leave-at-door", "log-coffee", "parcel",
        "porch-light", "store-open",
    ]

    static func files() throws -> [(name: String, bytes: [UInt8])] {
        let examples = folder.appending(path: "examples")
        return try FileManager.default.contentsOfDirectory(atPath: examples.path)
            .filter { $0.hasSuffix(".json") }
            .map { ($0, Array(try Data(contentsOf: examples.appending(path: $0)))) }
    }

    static func activity(_ name: String) throws -> ActivityKind {
        let kind = try #require(KindSet.load(files: files()).kinds?[name])
        guard case .activity(let activity) = kind.body else { throw NotAnActivity() }
        return activity
    }

    struct NotAnActivity: Error {}
}

struct ShippedKindsTests {
    @Test func `every shipped kind loads without an error or a warning`() throws {
        let (kinds, diagnostics) = KindSet.load(files: try Shipped.files())
        #expect(diagnostics == [])
        #expect(kinds?.kinds.map(\.name) == Shipped.names)
    }

    @Test("Every shipped kind names the schema, for editors", arguments: Shipped.names)
    func schema(name: String) throws {
        let kind = try #require(KindSet.load(files: Shipped.files()).kinds?[name])
        #expect(kind.source["$schema"] == "../kind.schema.json")
    }

    @Test(
        "Every shipped activity has the small family", arguments: ["bistro-order", "coffee-order", "flight", "parcel"])
    func small(name: String) throws {
        #expect(try Shipped.activity(name).hasSmallFamily)
    }

    @Test(
        "Cases end where the data says that they ended",
        arguments: [
            ("parcel", "purchased approved handed_to_carrier delivered", "delivered"),
            ("parcel", "purchased approved handed_to_carrier", "handed_to_carrier"),
            ("parcel", "purchased approved", "approved"),
            ("parcel", "purchased", "ordered"),
            ("parcel", "purchased approved canceled", "canceled"),
            ("parcel", "purchased canceled", "canceled"),
            ("parcel", "purchased approved handed_to_carrier canceled", "canceled"),
            ("parcel", "purchased approved unavailable", "unavailable"),
            ("parcel", "purchased handed_to_carrier delivered", "delivered"),
            // Steps out of order, twice, and after the end.
            ("parcel", "purchased delivered approved handed_to_carrier", "delivered"),
            ("parcel", "purchased handed_to_carrier approved", "handed_to_carrier"),
            ("parcel", "purchased approved purchased approved approved", "approved"),
            ("parcel", "purchased canceled delivered", "canceled"),
            ("flight", "scheduled_departure departed arrived_dest_local", "arrived"),
            ("flight", "scheduled_departure canceled", "canceled"),
            ("flight", "scheduled_departure departed diverted_or_unknown", "diverted"),
            ("flight", "scheduled_departure arrived_dest_local departed", "arrived"),
            ("flight", "scheduled_departure departed scheduled_departure", "departed"),
            ("coffee-order", "CONFIRMED IN_PROGRESS ready collect", "collected"),
            ("coffee-order", "confirm brew cancel", "cancelled"),
            ("coffee-order", "confirm confirm ready", "queued"),
            ("coffee-order", "confirm tip brew", "brewing"),
            ("bistro-order", "ordered main_ready starter_ready dessert_ready picked_up delivered", "delivered"),
            ("bistro-order", "ordered starter_ready main_ready picked_up", "done,done,cooking"),
            ("bistro-order", "ordered starter_ready cancel main_ready", "cancelled"),
            ("bistro-order", "ordered main_ready dessert_ready starter_ready cancel", "packed"),
        ])
    func ends(kind: String, events: String, state: String) throws {
        let activity = try Shipped.activity(kind)
        let finalState = try run(activity, events.split(separator: " ").map { String($0) })
        #expect(finalState == state)
    }

    @Test func `an unconfirmed order waits for the shop`() throws {
        let activity = try Shipped.activity("coffee-order")
        #expect(try run(activity, [], waiting: .minutes(5)) == "unattended")
    }

    @Test(
        "Replaying the real data ends every case as the data says",
        arguments: [("parcel", "olist_orders"), ("flight", "nycflights13")])
    func replay(kind: String, trace: String) throws {
        let activity = try Shipped.activity(kind)
        let cases = try Replay.cases(of: trace)
        #expect(cases.count >= 500)
        for (id, rows) in cases {
            var events = rows.map(\.event)
            let status = rows.last?.other["final_status"]?.string
            if let status, status == "canceled" || status == "unavailable" { events.append(status) }
            #expect(activity.startsOn.contains(events.first ?? ""))
            let expected = Replay.state(of: rows, status: status)
            #expect(try run(activity, events) == expected, "\(id): \(events)")
            // A source that retries: every row twice, then all but the first once more, in reverse.
            let noisy = events.flatMap { [$0, $0] } + events.dropFirst().reversed()
            #expect(try run(activity, noisy) == expected, "\(id): \(noisy)")
        }
    }

    /// The innermost state after these events.
    private func run(_ kind: ActivityKind, _ events: [String], waiting: Milliseconds = .zero) throws -> String {
        let chart = kind.statechart
        let start = Timestamp(milliseconds: 0)
        var values = MachineValues()
        var (instance, _) = try chart.start(at: start, values: &values, contentLimit: 4096)
        for event in events {
            _ = try chart.handle(
                event: kind.accept[event] ?? event, content: [:], at: start, instance: &instance, values: &values,
                contentLimit: 4096)
        }
        while try chart.fireDeadline(dueBy: start + waiting, instance: &instance, values: &values, contentLimit: 4096)
            != nil
        {
        }
        return instance.leaves(in: chart).map { chart.states[$0.rawValue].key }.joined(separator: ",")
    }
}

enum Replay {
    struct Row {
        var event: String
        var other: JSON
    }

    /// The slice that ships, or the whole trace in the folder that the environment variable `TRACES` names.
    static func file(of trace: String) -> URL {
        if let folder = ProcessInfo.processInfo.environment["TRACES"] {
            return URL(filePath: folder).appending(path: "\(trace).csv")
        }
        return Shipped.folder.appending(path: "../../Tools/telltale-sim/Scenarios/data/\(trace)_500.csv")
            .standardizedFileURL
    }

    /// `case_id,event,timestamp,other`, the last in quotes that are doubled inside.
    static func cases(of trace: String) throws -> [(id: String, rows: [Row])] {
        let text = try String(contentsOf: file(of: trace), encoding: .utf8)
        var cases: [(id: String, rows: [Row])] = []
        var indices: [String: Int] = [:]
        for line in text.split(whereSeparator: \.isNewline).dropFirst() {
            let fields = line.split(separator: ",", maxSplits: 3, omittingEmptySubsequences: false).map { String($0) }
            let other = fields[3].dropFirst().dropLast().replacing("\"\"", with: "\"")
            let row = Row(event: fields[1], other: try JSONParser.parse(String(other)))
            if let index = indices[fields[0]] {
                cases[index].rows.append(row)
            } else {
                indices[fields[0]] = cases.count
                cases.append((fields[0], [row]))
            }
        }
        return cases
    }

    /// The final state of a case, as the data gives it.
    static func state(of rows: [Row], status: String?) -> String? {
        guard let status else {
            let last = rows.last?.event
            return last == "arrived_dest_local" ? "arrived" : last == "diverted_or_unknown" ? "diverted" : last
        }
        let states = [
            "delivered": "delivered", "shipped": "handed_to_carrier", "invoiced": "approved", "processing": "approved",
            "canceled": "canceled", "unavailable": "unavailable",
        ]
        return states[status]
    }
}
