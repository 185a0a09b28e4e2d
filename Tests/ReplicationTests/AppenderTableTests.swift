import Replication
import TelltaleModel
import TestSupport
import Testing

/// Runs `Protocols/Machines/appender.table`.
struct AppenderTableTests {
    @Test("Protocols/Machines/appender.table", arguments: try TableFile("Machines/appender.table").rows)
    func row(_ row: TableFile.Row) throws {
        let table = try TableFile("Machines/appender.table")
        var script = AppenderScript()
        if !row[1].isEmpty { script.run(try #require(table.states[row[1]])) }
        script.run(row[2])
        #expect(script.state == row[3], "\(row)")
        #expect(script.outcome == row[4], "\(row)")
    }
}

/// An appender, driven by the words of the table.
struct AppenderScript {
    var appender = Appender()
    var now = MonotonicTime(milliseconds: 0)
    var outcome = ""
    /// Of the message as it was sent first.
    var token: Int64 = 1

    mutating func run(_ inputs: String) {
        for input in inputs.split(separator: ";") { perform(input.split(separator: " ").map(String.init)) }
    }

    private mutating func perform(_ words: [String]) {
        switch words.joined(separator: " ") {
        case "send": report([appender.send([1, 2, 3], after: 5, at: now)])
        case "ack": report(appender.acknowledged(token: token, at: 6))
        case "ack of another": report(appender.acknowledged(token: 0, at: 6))
        case "refused": report(appender.refused(token: token, at: now).map { [$0] } ?? [])
        case "refused of another": report(appender.refused(token: 0, at: now).map { [$0] } ?? [])
        case "full": report(appender.full(token: appender.token))
        case "too long": report(appender.tooLong(token: appender.token))
        case "read own": report(appender.foundOwn())
        case "read void": report([appender.foundVoid(at: now)])
        case "read other":
            appender.deposed()
            report([])
        default:
            if words.first == "after" {
                now = now + Milliseconds(Int64(words[1]) ?? 0)
                report(appender.tick(at: now))
            } else if words.prefix(2) == ["ack", "at"] {
                report(appender.acknowledged(token: appender.token, at: Int64(words[2]) ?? 0))
            } else {
                Issue.record("no input: \(words)")
            }
        }
    }

    private mutating func report(_ actions: [Appender.Action]) {
        let words = actions.map { action in
            switch action {
            case .append(_, let after, _): "append after \(after)"
            case .read(let from): "read from \(from)"
            }
        }
        outcome = words.isEmpty ? "nothing" : words.joined(separator: ", ")
    }

    private mutating func report(_ result: Appender.Outcome?) {
        switch result {
        case .stored(let position)?: outcome = "stored at \(position)"
        case .full?: outcome = "full"
        case .tooLong?: outcome = "too long"
        case nil: outcome = "nothing"
        }
    }

    var state: String {
        switch appender.phase {
        case .idle: "idle"
        case .sent: "sent \(appender.expected)"
        case .unknown: "unknown \(appender.expected)"
        }
    }
}
