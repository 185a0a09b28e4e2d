import Console
import TelltaleModel
import Testing

/// When `--wait` is over, row by row.
struct AwaitedOutcomeTests {
    struct Case: Sendable {
        let goal: String
        let operation: String?
        let row: String
        let verdict: AwaitedOutcome.Verdict
    }

    private static let cases: [Case] = [
        Case(goal: "done", operation: "o1", row: #"{"control":"toggle","phase":"pending"}"#, verdict: .waiting),
        Case(
            goal: "done", operation: "o1",
            row: #"{"control":"toggle","phase":"settled","last":{"op":"o0","result":"confirmed"}}"#, verdict: .waiting),
        Case(
            goal: "done", operation: "o1",
            row: #"{"control":"toggle","phase":"settled","last":{"op":"o1","result":"confirmed"}}"#, verdict: .reached),
        Case(
            goal: "done", operation: "o1",
            row:
                #"{"control":"button","last":{"op":"o2","result":"confirmed"},"ended":[{"op":"o1","result":"superseded"}]}"#,
            verdict: .failed("another tap took its place")),
        Case(
            goal: "on", operation: "o1",
            row:
                #"{"control":"toggle","value":false,"last":{"op":"o1","result":"reverted","reason":"failed","message":"no bulb"}}"#,
            verdict: .failed("failed: no bulb")),
        Case(goal: "on", operation: "o1", row: #"{"control":"toggle","value":true}"#, verdict: .reached),
        Case(
            goal: "performing", operation: "o1", row: #"{"control":"button","phase":"performing"}"#, verdict: .reached),
        Case(goal: "done", operation: nil, row: #"{"control":"toggle","value":true}"#, verdict: .reached),
        Case(
            goal: "ready", operation: nil,
            row: #"{"state":"a.ready,b.x","configuration":["a","ready"],"lifecycle":"active"}"#,
            verdict: .reached),
        Case(
            goal: "ready", operation: nil,
            row: #"{"state":"brewing","configuration":["brewing"],"lifecycle":"active"}"#,
            verdict: .waiting),
        Case(
            goal: "ready", operation: nil, row: #"{"state":"cancelled","lifecycle":"ended"}"#,
            verdict: .failed("it ended as cancelled")),
        Case(goal: "done", operation: nil, row: #"{"state":"ready","lifecycle":"stale"}"#, verdict: .waiting),
        Case(goal: "done", operation: nil, row: #"{"state":"collected","lifecycle":"ended"}"#, verdict: .reached),
    ]

    @Test(arguments: cases) func verdict(_ example: Case) throws {
        let row = try #require(try JSONParser.parse(example.row).object)
        let outcome = AwaitedOutcome(.init(example.goal), operation: example.operation)
        #expect(outcome.verdict(of: row) == example.verdict, "\(example)")
    }

    @Test func `a state that was left again has been reached, and what is gone comes no more`() {
        let ready = AwaitedOutcome(.state("ready"), operation: nil)
        #expect(ready.verdict(ofMilestone: "ready") == .reached)
        #expect(ready.verdict(ofMilestone: "brewing") == .waiting)
        #expect(ready.verdict(ofDeletion: "dismissed") == .failed("it is gone (dismissed)"))
        #expect(AwaitedOutcome(.done, operation: nil).verdict(ofDeletion: "dismissed") == .reached)
        #expect(
            AwaitedOutcome(.done, operation: "o1").verdict(ofDeletion: "removed") == .failed("it is gone (removed)"))
    }
}
