import TelltaleClient
import TelltaleModel
import TelltaleWire
import Testing

/// Revs and bodies that break a promise of the server: the client reports them and keeps the rows it has.
struct RevisionTests {
    @Test(
        "A rev that goes back is told, not believed, and ends the connection",
        arguments: [
            #"UPD sub=1 key=a/b rev=4 cur=y {"n":4}"#, "DEL sub=1 key=a/b rev=4 why=hidden cur=y",
        ])
    func goesBack(line: String) throws {
        var script = Script()
        let subscription = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server("OK id=2 sub=1", "LIVE sub=1 cur=x", #"UPD sub=1 key=a/b rev=5 {"n":5}"#, line, line)
        #expect(script.received.last == "violation: a/b went back from rev 5 to 4")
        #expect(script.received.count { $0.hasPrefix("violation") } == 1)
        #expect(script.client.wantsClose && script.client.closeReason == "a/b went back from rev 5 to 4")
        #expect(script.client.rows(of: subscription).map(\.rev) == [5])
        // The line is none to resume behind.
        #expect(script.client.cursor(of: subscription) == "x")
    }

    @Test func `after a new epoch revs begin anew`() throws {
        var script = Script()
        let subscription = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server("OK id=2 sub=1", "SNAP sub=1 key=a/b rev=5 {}", "LIVE sub=1 cur=x")
        script.dropAndWait()
        script.introduce(greeting: Script.greeting.replacing("epoch=00000000000000aa", with: "epoch=00000000000000bb"))
        script.server("OK id=4 sub=1", "RESET sub=1 why=epoch", "SNAP sub=1 key=a/b rev=1 {}", "LIVE sub=1 cur=y")
        #expect(!script.received.contains { $0.hasPrefix("violation") })
        #expect(script.client.rows(of: subscription).map(\.rev) == [1])
    }

    @Test("The full view has one body for a rev, a surface's view may have several", arguments: [nil, Surface.watch])
    func twoBodies(surface: Surface?) throws {
        var script = Script { $0.surface = surface }
        _ = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server(
            "OK id=2 sub=1", "LIVE sub=1 cur=x", #"UPD sub=1 key=a/b rev=5 {"n":5}"#,
            #"UPD sub=1 key=a/b rev=5 {"n":6}"#)
        #expect(script.received.contains("violation: a/b has two bodies for rev 5") == (surface == nil))
    }

    @Test(
        "On another connection a control's row need not show a wish, and an activity's is the same",
        arguments: [(#""control":"toggle","#, false), ("", true)])
    func wishOfAnOldConnection(member: String, isViolation: Bool) throws {
        var script = Script()
        _ = script.client.subscribe(try subscribe("*"))
        script.introduce()
        script.server(
            "OK id=2 sub=1", "LIVE sub=1 cur=x", #"UPD sub=1 key=a/b rev=5 {\#(member)"shown":true}"#)
        script.dropAndWait()
        script.introduce()
        script.server("OK id=4 sub=1", #"UPD sub=1 key=a/b rev=5 {\#(member)"shown":false}"#, "LIVE sub=1 cur=y")
        #expect(script.received.contains("violation: a/b has two bodies for rev 5") == isViolation)
    }
}
