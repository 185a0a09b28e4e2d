import Kinds
import TelltaleModel
import TestSupport
import Testing

@testable import Machines

/// `Protocols/Machines/tile.table`.
struct TileTableTests {
    @Test("Protocols/Machines/tile.table", arguments: try TableFile("Machines/tile.table").rows)
    func row(_ row: TableFile.Row) throws {
        let table = try TableFile("Machines/tile.table")
        var script = TileScript()
        try script.run(try #require(table.states[row[1]], "\(row)"))
        try script.run(row[2])
        #expect(script.shown == row[3], "\(row)")
        #expect(script.outcome == row[4], "\(row)")
        // An item is read as it was written.
        for item in script.board.items.values {
            var writer = BinaryWriter()
            item.encode(to: &writer)
            var reader = BinaryReader(writer.bytes)
            #expect(try BoardItem(from: &reader) == item)
            #expect(reader.isAtEnd)
        }
    }

    @Test("W97: a board is the account's that placed its first tile, until nothing stands there")
    func accounts() throws {
        var script = TileScript()
        script.account = "alice"
        try script.run("add t1 Hoegi")
        script.account = "bob"
        try script.run("add t2 Hoegi stack=left")
        #expect(script.board.items.values.allSatisfy { $0.account == "alice" && $0.isVisible(to: "alice") })
        #expect(script.board.items.values.allSatisfy { !$0.isVisible(to: "bob") })
        try script.run("remove t1; remove t2; add t1 Hoegi")
        #expect(script.board.account == "bob")
    }
}

/// A board, driven by the words of `tile.table`.
private struct TileScript {
    private static let start = Timestamp(milliseconds: 1_763_719_200_000)

    private(set) var board = Board()
    var account: String?
    private var now = start
    private(set) var outcome = ""

    struct BadInput: Error { let text: String }

    mutating func run(_ inputs: String) throws {
        for part in inputs.split(separator: ";") {
            let words = part.split(separator: " ").map { String($0) }
            guard words.count > 1 else { continue }
            let (verb, id) = (words[0], words[1])
            switch verb {
            case "after": now = Self.start + .seconds(Int64(id) ?? 0)
            case "fill": for number in 1...(Int(words[2]) ?? 1) { try run("add \(id)\(number) A stack=\(id)") }
            default: try apply(try input(verb, Array(words.dropFirst(2)), String(part)), to: id)
            }
        }
    }

    private mutating func apply(_ input: TileInput, to id: String) throws {
        // A record holds it.
        var writer = BinaryWriter()
        input.encode(to: &writer)
        var reader = BinaryReader(writer.bytes)
        let read = try TileInput(from: &reader)
        #expect(read == input && reader.isAtEnd)
        do throws(TileRejection) {
            let result = try board.apply(read, to: id, for: account, at: now)
            let changed = result.changed.map { $0 + (result.removed.contains($0) ? "!" : "") }
            outcome = ([result.verdict.rawValue] + changed).joined(separator: " ")
        } catch {
            #expect(!error.message.isEmpty)
            outcome = error.code
        }
    }

    private func input(_ verb: String, _ words: [String], _ text: String) throws -> TileInput {
        func value(_ name: String) -> String? {
            words.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
        }
        let position = value("pos").flatMap { Int($0) }
        let place = value("at").flatMap { WidgetPlace(rawValue: $0) }
        let family: WidgetFamily? =
            words.contains("medium") ? .systemMedium : words.contains("small") ? .systemSmall : nil
        switch verb {
        case "add":
            let (widget, configuration) = try widget(words)
            var addition = TileInput.Addition(
                widget: widget, configuration: configuration, family: family ?? .systemSmall)
            (addition.stack, addition.position, addition.style.placement) = (value("stack"), position, place)
            return .add(addition)
        case "configure":
            var change = TileInput.Change()
            let (widget, configuration) = try widget(words)
            (change.widget, change.configuration) = (widget, configuration)
            return .configure(change)
        case "move":
            let destination: TileInput.Destination =
                switch value("stack") {
                case nil: .same
                case "none": .none
                case let stack?: .stack(stack)
                }
            return .move(to: destination, position: position)
        case "pin": return .pin(position: position)
        case "unpin": return .unpin
        case "show": return .show
        case "keep":
            guard let shop = words.first, value("stack") != nil else { return .keep(nil) }
            var addition = TileInput.Addition(
                widget: try widget([shop]).0, configuration: ["shop": .string(shop)], family: family ?? .systemSmall)
            (addition.stack, addition.position) = (value("stack"), position)
            return .keep(addition)
        case "remove": return .remove
        case "stack":
            var stacking = TileInput.Stacking()
            (stacking.family, stacking.placement, stacking.position) = (family, place, position)
            if words.contains("smart") { stacking.isSmart = true }
            if words.contains("suggest") { stacking.suggests = true }
            return .stack(stacking)
        default: throw BadInput(text: text)
        }
    }

    private func widget(_ words: [String]) throws -> (Key, JSON) {
        guard let shop = words.first, let key = Key(kind: "kitchen", id: shop) else { throw BadInput(text: "\(words)") }
        return (key, ["shop": .string(shop)])
    }

    var shown: String {
        let places = board.places.map { id in
            guard board.items[id]?.stack != nil else { return self.tile(id) }
            let top = board.top(ofStack: id, at: now, hold: .minutes(15))
            let tiles = board.tiles(ofStack: id).map { self.tile($0) + ($0 == top ? "*" : "") }
            return "\(id)(\(tiles.joined(separator: " ")))"
        }
        // Positions are what the order is reported by.
        #expect(board.places.enumerated().allSatisfy { board.place(of: $0.element) == $0.offset + 1 })
        return places.isEmpty ? "-" : places.joined(separator: " ")
    }

    private func tile(_ id: String) -> String {
        guard let tile = board.items[id]?.tile else { return "?" }
        return "\(id):\(tile.widget.id)" + (tile.pinned.map { "^\($0)" } ?? "")
    }
}
