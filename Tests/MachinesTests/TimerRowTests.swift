import Kinds
import Machines
import TelltaleModel
import Testing

/// The timers that a whole row reports.
struct TimerRowTests {
    private static let source = """
        {"kind":"order","type":"activity","version":1,"app":"com.example","title":"Order",
         "machine":{"initial":"open","states":{
           "open":{"after":{"1h":"late","5m":{"actions":[]}},"entry":[{"send":"nudge","delay":"10m"}],
                   "on":{"go":"busy","nudge":{"actions":[]}}},
           "busy":{"on":{"stop":"done"}},"late":{"on":{"stop":"done"}},"done":{"type":"final"}}}}
        """
    private let moment = Timestamp(milliseconds: 1_763_719_200_000)
    private let settings = ActivitySettings()

    private func timers(of activity: Activity) throws -> JSON? {
        var writer = JSONWriter()
        activity.writeFullRow(to: &writer)
        return try JSONParser().parse(writer.bytes.span)["timers"]
    }

    private func start(_ details: EventDetails = EventDetails()) throws -> Activity {
        let (kind, diagnostics) = Kind.read(try JSONParser.parse(Self.source), file: "order.json")
        #expect(diagnostics.filter { $0.severity == .error } == [])
        guard case .activity(let definition)? = kind?.body, let key = Key("order/1") else { throw NoActivity() }
        let event = ActivityEvent(.started, details: details)
        return try #require(
            try Activity.start(
                key: key, kind: definition, event: event, accounts: [], settings: settings, at: moment
            ).activity)
    }

    private struct NoActivity: Error {}

    @Test func `they stand in the order in which they fall due, and go with their state`() throws {
        var activity = try start()
        let at = moment.milliseconds
        let late: JSON = ["state": "open", "after": 3_600_000, "at": .integer(at + 3_600_000)]
        #expect(
            try timers(of: activity) == [
                ["state": "open", "after": 300_000, "at": .integer(at + 300_000)],
                ["event": "nudge", "at": .integer(at + 600_000)], late,
            ])
        while activity.deadlineReached(by: moment + .minutes(11), settings: settings) != nil {}
        #expect(try timers(of: activity) == [late])
        _ = try activity.apply(ActivityEvent(.happened("go")), settings: settings, at: moment + .minutes(12))
        #expect(try timers(of: activity) == nil)
    }

    @Test func `those of a scheduled activity are reported once it has started`() throws {
        var details = EventDetails()
        details.startDate = moment + .minutes(30)
        details.alert = ActivityAlert(title: "a", body: "b")
        var activity = try start(details)
        #expect(try timers(of: activity) == nil)
        _ = activity.deadlineReached(by: moment + .minutes(30), settings: settings)
        let first = try #require(try timers(of: activity)?.array?.first)
        #expect(first["at"] == .integer((moment + .minutes(35)).milliseconds))
    }
}
