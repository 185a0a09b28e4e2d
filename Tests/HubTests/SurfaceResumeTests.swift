import Hub
import Surfaces
import Testing

/// Cursors of surfaces: when a device resumes, and when it begins anew.
struct SurfaceResumeTests: SurfaceSuite {
    let harness: HubHarness
    private let shop: HubHarness.Client

    init() throws {
        harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        shop = harness.connect()
    }

    @Test func `a cursor of other settings of the surfaces does not resume`() throws {
        var configuration = HubConfiguration()
        configuration.surfaces.carPlayFallback = .lockScreen
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces, configuration: configuration)
        func resumes(_ view: String) throws -> Bool {
            let live = harness.send("SUB * view=\(view)", from: harness.connect()).last
            let cursor = try #require(live.flatMap { HubHarness.attribute("cur", of: $0) })
            // Read back with the default settings.
            try harness.restart(kinds: HubHarness.kindsOfSurfaces)
            return !harness.send("SUB * view=\(view) from=\(cursor)", from: harness.connect()).contains {
                $0.hasPrefix("RESET")
            }
        }
        #expect(try !resumes("carplay"))
        #expect(try resumes("carplay"))
    }

    @Test("A cursor resumes its own selection alone", arguments: ["view=watch", "placement=menuBar", "for=alice"])
    func selection(term: String) throws {
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let client = harness.connect()
        let (plain, other) = ("SUB errand/* view=full", "SUB errand/* \(term)")
        let cursor = try harness.cursor(of: plain, from: client)
        #expect(!harness.send("\(plain) from=\(cursor)", from: client).contains { $0.hasPrefix("RESET ") })
        for line in [other, "SUB errand/1 view=full", "SUB * view=full"] {
            let reported = harness.send("\(line) from=\(cursor)", from: client)
            #expect(reported.contains { $0.hasPrefix("RESET ") && $0.hasSuffix(" why=selection") }, "\(line)")
        }
    }

    @Test func `a cursor of one surface does not resume another`() throws {
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces)
        let client = harness.connect()
        let cursor = try harness.cursor(of: "SUB * view=watch", from: client)
        let reported = harness.send("SUB * view=carplay from=\(cursor)", from: client)
        #expect(reported.contains { $0.hasPrefix("RESET ") && $0.hasSuffix(" why=selection") })
    }

    @Test func `rows of another release do not stay on a screen`() throws {
        var configuration = HubConfiguration()
        configuration.serverVersion = "0.0.9"
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces, configuration: configuration)
        let cursors = try ["watch", "full"].map {
            try harness.cursor(of: "SUB * view=\($0)", from: harness.connect())
        }
        try harness.restart(kinds: HubHarness.kindsOfSurfaces)
        let resets = zip(["watch", "full"], cursors).map { view, cursor in
            harness.send("SUB * view=\(view) from=\(cursor)", from: harness.connect()).contains {
                $0.hasPrefix("RESET ")
            }
        }
        #expect(resets == [true, false])
    }

    @Test func `the full view resumes under any settings of the surfaces`() throws {
        var configuration = HubConfiguration()
        configuration.surfaces.carPlayFallback = .lockScreen
        let harness = try HubHarness(kinds: HubHarness.kindsOfSurfaces, configuration: configuration)
        let live = harness.send("SUB * view=full", from: harness.connect()).last
        let cursor = try #require(live.flatMap { HubHarness.attribute("cur", of: $0) })
        try harness.restart(kinds: HubHarness.kindsOfSurfaces)
        #expect(
            harness.send("SUB * view=full from=\(cursor)", from: harness.connect()).allSatisfy {
                !$0.hasPrefix("RESET")
            })
    }

    @Test("A device that comes back in another situation has the rows of that situation", arguments: ["alice", nil])
    func situatedResume(account: String?) throws {
        for number in 1...3 { try harness.event("coffee-order/\(number)", "type=start for=alice", from: shop) }
        let car = try screen("carplay", account)
        #expect(car.rows.count == 3)
        try car.set("dashboard", to: "hidden")
        #expect(car.rows.isEmpty)
        car.disconnect()
        car.traits = [:]
        try car.connect()
        #expect(car.rows.count == 3)
        // Gone and back without anything having happened, in the usual situation, costs nothing more.
        let other = try screen("carplay", nil)
        other.disconnect()
        let client = harness.connect()
        let cursor = try #require(other.cursor)
        harness.send("HELLO surface=carplay", from: client)
        #expect(harness.send("SUB * from=\(cursor)", from: client).map { $0.prefix { $0 != " " } } == ["OK", "LIVE"])
        // Back in another situation than before.
        other.traits = ["dashboard": "hidden"]
        try other.connect()
        #expect(other.rows.isEmpty)
    }
}
