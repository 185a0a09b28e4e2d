import TelltaleModel

// TILE: arranges a tile of a board, or a stack.
extension Arguments {
    func tile(_ line: Span<UInt8>) throws(WireError) -> TileCommand {
        let key = try key(line)
        guard key.kind.utf8.first == UInt8(ascii: "@"), key.kind.utf8.count > 1 else {
            throw WireError(.badKey, "TILE: \(key) is on no board; write @BOARD/ID, as @alice-car/t1")
        }
        let range = try required(.action, words[.action])
        guard let action = TileCommand.Action(rawValue: line.text(range)) else {
            throw value(.action, range, line, TileCommand.Action.allCases.map(\.rawValue).joined(separator: "|"))
        }
        var tile = TileCommand(key: key, action: action)
        tile.widget = text(.widget, line)
        tile.family = text(.family, line)
        tile.stack = text(.stack, line)
        tile.placement = text(.placement, line)
        tile.mounting = text(.mounting, line)
        tile.theme = text(.theme, line)
        if let stack = tile.stack, !Key.isSegment(stack.utf8) {
            throw value(.stack, words[.stack] ?? 0..<0, line, "an id, 1 to 64 of [A-Za-z0-9._~:@-], or none")
        }
        tile.scale = try number(.scale, in: TileCommand.scales, "percent", line)
        tile.position = try number(.pos, in: 1...TileCommand.positionLimit, "from the first place on", line)
        tile.isSmart = try yesNo(.smart, line)
        tile.suggests = try yesNo(.suggest, line)
        tile.seenRev = try integer(.seenRev, line)
        tile.eid = text(.eid, line)
        if let json = tail?["configuration"] {
            guard let object = json.object else { throw .wrongType(at: "configuration", expected: "an object") }
            tile.configuration = object
        }
        return tile
    }

    private func number(
        _ name: AttributeName, in range: ClosedRange<Int64>, _ unit: String, _ line: Span<UInt8>
    ) throws(WireError) -> Int? {
        guard let number = try integer(name, line) else { return nil }
        guard range.contains(number) else {
            throw value(
                name, words[name] ?? 0..<0, line, "\(range.lowerBound) to \(range.upperBound), \(unit)")
        }
        return Int(number)
    }

    private func yesNo(_ name: AttributeName, _ line: Span<UInt8>) throws(WireError) -> Bool? {
        guard let range = words[name] else { return nil }
        switch line.text(range) {
        case "yes": return true
        case "no": return false
        case _: throw value(name, range, line, "yes|no")
        }
    }
}
