import Testing

@testable import Simulation

/// The verdicts of the final checks, over lines that a daemon could have sent.
struct VerdictTests {
    private static func lines(_ text: String) -> [ClientLine] {
        var reader = ClientLines()
        return reader.readHeads(Array((text + "\n").utf8)).lines
    }

    private static func row(_ rev: Int64, _ text: String) -> ShownRow { ShownRow(rev: rev, text: Array(text.utf8)) }

    // MARK: Convergence

    @Test func `a snapshot is read from SNAP lines, and from own keys only`() {
        let lines = Self.lines(
            """
            SNAP sub=1 key=order/1~a rev=3 {"n":1}
            SNAP sub=1 key=order/2~b rev=4 {"n":2}
            LIVE sub=1 cur=0000000000000001-5
            """)
        let rows = Verdicts.snapshot(in: lines) { $0.hasSuffix("~a") }
        #expect(rows.mapValues(\.rev) == ["order/1~a": 3])
        #expect(Verdicts.snapshot(in: lines).count == 2)
    }

    @Test func `a screen converges when its rows are the fresh ones, members of one reader aside`() {
        let shown = ["order/1": Self.row(3, #"{"n":1,"missed":["ready"]}"#)]
        #expect(Verdicts.convergence(of: shown, to: ["order/1": Self.row(3, #"{"n":1}"#)], client: "s") == nil)
    }

    @Test(
        "A screen that has other rows than a new one has not converged",
        arguments: [
            ["order/1": (Int64(4), #"{"n":1}"#)], ["order/1": (Int64(3), #"{"n":2}"#)], [:],
            ["order/1": (Int64(3), #"{"n":1}"#), "order/2": (Int64(5), "{}")],
        ])
    func divergence(fresh: [String: (Int64, String)]) throws {
        let shown = ["order/1": Self.row(3, #"{"n":1}"#)]
        let fault = try #require(
            Verdicts.convergence(of: shown, to: fresh.mapValues { Self.row($0.0, $0.1) }, client: "screen-1"))
        #expect(fault.promise == "P4/P5" && fault.what.hasPrefix("screen-1 shows order/"))
    }

    // MARK: Acknowledgements

    private static let posts = [
        Acknowledgement(line: "EVT order/1 type=start eid=1", rev: 1),
        Acknowledgement(line: "EVT order/1 type=ready eid=2", rev: 2),
    ]

    private func promises(_ text: String) -> [String] {
        Verdicts.acknowledgement(of: Self.posts, source: "shop", in: Self.lines(text)).map(\.promise)
    }

    @Test func `a retry of an acknowledged event is a duplicate with its rev`() {
        #expect(promises("OK id=h\nOK verdict=duplicate rev=1\nOK verdict=duplicate rev=2") == [])
        #expect(promises("OK id=h\nOK verdict=applied rev=3\nOK verdict=duplicate rev=2") == ["P1"])
        #expect(promises("OK id=h\nOK verdict=duplicate rev=1\nOK verdict=duplicate rev=1") == ["P6"])
        #expect(promises("OK id=h\nOK verdict=duplicate rev=1\nERR code=unknown_key") == ["P1"])
        #expect(promises("OK id=h\nOK verdict=duplicate rev=1") == ["P1"])
    }

    // MARK: Histories

    private static func record(_ sequence: Int, type: String, eid: String, state: String) -> String {
        "HIST key=order/1 rev=\(sequence) type=\(type) verdict=applied at=1000 heard=1000 "
            + #"{"seq":\#(sequence),"state":"\#(state)","src":"shop","eid":"\#(eid)"}"#
    }

    @Test func `a history has only sent events, once each, and follows the reference`() {
        let start = Self.record(1, type: "start", eid: "1", state: "active placed")
        let again = Self.record(2, type: "confirm", eid: "1", state: "active confirmed")
        func promise(_ lines: [String], sent: Set<String>) -> String? {
            Verdicts.history(Self.lines(lines.joined(separator: "\n")), of: "order/1", sent: sent)?.promise
        }
        #expect(promise([start], sent: ["shop/1"]) == nil)
        #expect(promise([start], sent: []) == "P1")
        #expect(promise([start, again], sent: ["shop/1"]) == "P6")
        #expect(promise(["HIST key=order/1"], sent: []) == "history")
        let wrong = Self.record(1, type: "start", eid: "1", state: "active brewing")
        #expect(promise([wrong], sent: ["shop/1"]) == "reference")
    }
}
