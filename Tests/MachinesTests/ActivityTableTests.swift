import Machines
import TestSupport
import Testing

/// Runs `Protocols/Machines/activity.table`.
struct ActivityTableTests {
    private static let states = Result { try TableFile("Machines/activity.table").states }

    @Test("Protocols/Machines/activity.table", arguments: try TableFile("Machines/activity.table").rows)
    func row(_ row: TableFile.Row) throws {
        var script = try ActivityScript()
        _ = try script.run(try #require(Self.states.get()[row[1]]))
        let outcome = try script.run(row[2])
        #expect(outcome == row[4], "\(row)")
        #expect(script.activity?.lifecycle.rawValue ?? "none" == row[3], "\(row)")
        for fact in row[5].split(separator: " ") { try script.expect(String(fact), row) }
    }

    @Test func `every row of table 2.1 and every vector about the life-cycle is there, or reported why not`() throws {
        let table = try TableFile("Machines/activity.table")
        let covered = Set(table.rows.map { $0[0] }).union(table.skipped.keys)
        var wanted = Set((1...37).map { "L\($0)" })
        for vector in Array(5...15) + Array(22...25) { wanted.insert("V\(vector)") }
        #expect(wanted.subtracting(covered).sorted() == [])
        for reason in table.skipped.values { #expect(!reason.isEmpty) }
    }
}
