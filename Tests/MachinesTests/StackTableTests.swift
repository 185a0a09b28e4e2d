import Kinds
import Machines
import TelltaleModel
import TestSupport
import Testing

/// `Protocols/Machines/stack.table`.
struct StackTableTests {
    @Test("W-V55 to W-V61: Protocols/Machines/stack.table", arguments: try TableFile("Machines/stack.table").rows)
    func row(_ row: TableFile.Row) throws {
        let stack = try StackWords.stack(row[1])
        let now = try StackWords.date(row[2])
        let future = stack.future(at: now)
        #expect(StackWords.text(future.look) == row[3], "\(row)")
        #expect(stack.viewState(at: now) == future.look, "\(row)")
        var turns = future.turns.map { "\(StackWords.seconds($0.date)):\(StackWords.text($0.look))" }
        if let date = future.continuesAt { turns.append("more \(StackWords.seconds(date))") }
        #expect(turns.joined(separator: " ") == row[4], "\(row)")
    }
}

/// `Protocols/Machines/smart-stack.table`.
struct SmartStackTableTests {
    @Test(
        "W-V62, W-V64: Protocols/Machines/smart-stack.table",
        arguments: try TableFile("Machines/smart-stack.table").rows)
    func row(_ row: TableFile.Row) throws {
        let stack = try StackWords.smartStack(row[1])
        let now = try StackWords.date(row[2])
        let future = stack.future(at: now)
        #expect(StackWords.text(future.look) == row[3], "\(row)")
        #expect(stack.keys(at: now) == future.look, "\(row)")
        let turns = future.turns.map { "\(StackWords.seconds($0.date)):\(StackWords.text($0.look))" }
        #expect(turns.joined(separator: " ") == row[4], "\(row)")
    }
}

/// The words of both tables.
enum StackWords {
    struct BadInput: Error { let text: String }

    private static let start = Timestamp(milliseconds: 1_763_719_200_000)

    static func date(_ text: some StringProtocol) throws -> Timestamp {
        guard let seconds = Int64(text) else { throw BadInput(text: String(text)) }
        return start + .seconds(seconds)
    }

    static func seconds(_ date: Timestamp) -> Int64 { (date - start).count / 1_000 }

    static func text(_ viewState: Stack.ViewState) -> String {
        (viewState.top.map { String($0.id) } ?? "-") + (viewState.suggestion.map { "+\($0.id)" } ?? "")
    }

    static func text(_ keys: [Key]) -> String { keys.map { String($0.id) }.joined(separator: " ") }

    static func stack(_ text: String) throws -> Stack {
        var words = text.split(separator: " ")
        guard let first = words.first, first == "smart" || first == "plain" else { throw BadInput(text: text) }
        var stack = Stack([], isSmart: first == "smart")
        words.removeFirst()
        if words.dropLast().last == "show" {
            let parts = words.removeLast().split(separator: "@")
            words.removeLast()
            stack.choice = Stack.Choice(try key(parts[0]), until: try date(parts[1]) + .minutes(15))
        }
        for word in words {
            if word.hasSuffix(".."), let count = Int(word.dropLast(2)) {
                for number in 1...count { stack.tiles.append(Stack.Tile(try key("\(number)"), Relevance())) }
            } else if word.hasPrefix("?") {
                stack.candidates.append(try tile(word.dropFirst()))
            } else {
                stack.tiles.append(try tile(word))
            }
        }
        return stack
    }

    static func smartStack(_ text: String) throws -> SmartStack {
        SmartStack(
            try text.split(separator: " ").map { word in
                let isPlaced = !word.hasPrefix("?")
                let parts = word.drop { $0 == "?" }.split(separator: "#")
                let tile = try tile(parts[0])
                let pin = parts.count > 1 ? Int(parts[1]) : nil
                return SmartStack.Member(tile.key, tile.relevance, pin: pin, isPlaced: isPlaced)
            })
    }

    private static func key(_ id: some StringProtocol) throws -> Key {
        guard let key = Key(kind: "@car", id: id) else { throw BadInput(text: String(id)) }
        return key
    }

    private static func tile(_ word: some StringProtocol) throws -> Stack.Tile {
        let parts = word.split(separator: ":", maxSplits: 1)
        return Stack.Tile(try key(parts[0]), parts.count > 1 ? try relevance(parts[1]) : Relevance())
    }

    private static func relevance(_ text: some StringProtocol) throws -> Relevance {
        let parts = text.split(separator: ",")
        guard text.hasSuffix("]") else { return Relevance(try parts.map { try entry($0) }) }
        return Relevance(
            try parts.map { part in
                let urgency: Relevance.Urgency =
                    part.hasPrefix("s") ? .scheduled : part.hasPrefix("i") ? .informational : .usual
                let dates = part.drop { $0 != "[" }.dropFirst().dropLast().split(separator: "-")
                return WidgetRelevance.Dates(try date(dates[0])..<date(dates[1]), urgency: urgency)
            })
    }

    private static func entry(_ text: some StringProtocol) throws -> WidgetEntry {
        let parts = text.split(separator: "@")
        let dates = parts[1].split(separator: "+")
        var entry = WidgetEntry(date: try date(dates[0]), content: [:])
        if let score = Double(parts[0]) {
            var relevance = JSONObject()
            relevance["score"] = .number(score)
            if dates.count > 1 { relevance["for"] = .number(Double(dates[1]) ?? 0) }
            entry.relevance = .object(relevance)
        }
        return entry
    }
}
