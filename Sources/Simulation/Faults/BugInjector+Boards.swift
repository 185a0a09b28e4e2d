// Bugs of boards, made on the lines of tiles and on the requests that arrange them.
extension BugInjector {
    static let ofTiles: Set<SeededBug> = [
        .turnLate, .turnForgotten, .topMisread, .neighbourUntold, .turnSkippedAtResume, .watchOrderForgotten,
        .tileLostInSnapshot, .removedTileKept, .positionKept, .pinLostAtRestart, .unavailableUntold,
        .tileRevBehindWidget, .suggestionUntold, .suggestionKept, .suggestionEndUntold, .suggestionRenamed,
        .keepForgotten,
    ]

    private static let suggested = "\"suggested\":true"

    /// Changes a line about a tile that the daemon sends to a client; `nil` = it is not sent.
    mutating func changedTile(_ line: String, _ client: Int) -> String? {
        let isRow = line.hasPrefix("UPD ") || line.hasPrefix("SNAP ")
        switch bug {
        case .turnLate:
            guard let turns = line.firstRange(of: "\"turns\":[") else { return line }
            let rest = String(line[turns.upperBound...])
            return String(line[..<turns.upperBound]) + rest.changingNumber(after: "\"date\":") { $0 + 5_000 }
        case .turnForgotten: return random.chance(300) ? line.withoutLast(in: "turns") : line
        case .topMisread: return random.chance(50) ? line.with("\"top\":false", "\"top\":true") : line
        case .watchOrderForgotten: return line.without("orders")
        case .turnSkippedAtResume: return line.contains(" why=resume ") && line.contains("\"stack\":") ? nil : line
        case .tileLostInSnapshot: return line.hasPrefix("SNAP ") && random.chance(200) ? nil : line
        case .removedTileKept: return line.hasPrefix("DEL ") && random.chance(300) ? nil : line
        case .pinLostAtRestart:
            guard startCount > 1, let pin = line.number(after: "\"pinned\":") else { return line }
            return line.with("\"pinned\":\(pin),", "")
        case .unavailableUntold: return line.with("\"unavailable\":true,", "")
        case .suggestionUntold: return isRow && line.contains(Self.suggested) && random.chance(100) ? nil : line
        case .suggestionKept:
            return line.hasPrefix("DEL ") && line.contains("/~") && line.contains(" why=hidden") ? nil : line
        case .suggestionEndUntold:
            let end = line.contains(Self.suggested) ? line.ranges(of: ",\"view\":null}]").last : nil
            guard let end, let start = line[..<end.lowerBound].ranges(of: ",{\"date\":").last else { return line }
            return String(line[..<start.lowerBound]) + String(line[line.index(before: end.upperBound)...])
        case .suggestionRenamed: return startCount > 1 ? line.replacing("/~", with: "/~0") : line
        case .keepForgotten:
            guard isRow, line.contains("/~"), !line.contains(Self.suggested),
                let widget = line.firstRange(of: "\"widget\":")
            else { return line }
            return String(line[..<widget.lowerBound]) + Self.suggested + "," + line[widget.lowerBound...]
        case .neighbourUntold, .positionKept, .tileRevBehindWidget:
            return isRow ? changedRow(line, client) : line
        case _: return line
        }
    }

    /// By the row of the same tile that the client was sent before.
    private mutating func changedRow(_ line: String, _ client: Int) -> String? {
        guard let key = line.split(separator: " ").first(where: { $0.hasPrefix("key=") }),
            let rev = line.number(after: " rev=")
        else { return line }
        let place = "\(client) \(key)"
        let former = bodies[place]
        bodies[place] = line
        switch bug {
        case .neighbourUntold:
            let isSame = former?.number(after: " rev=") == rev
            return line.hasPrefix("UPD ") && isSame && !line.contains(" why=resume ") ? nil : line
        case .positionKept:
            guard let old = former?.number(after: "\"position\":") else { return line }
            return line.changingNumber(after: "\"position\":") { _ in old }
        case _:
            guard let old = former?.number(after: " rev="), random.chance(100) else { return line }
            return line.changingNumber(after: " rev=") { _ in old }
        }
    }

    /// Changes a request that the daemon receives.
    func changedArrangement(_ line: String) -> String {
        switch bug {
        case .boardShownToOthers:
            return line.hasPrefix("HELLO client=board-") ? line.with(" account=bob", " account=alice") : line
        case .placeUnread: return line.with("TRAIT place=commute", "TRAIT place=home")
        case _ where !line.hasPrefix("TILE "): return line
        case .tileConditionUnread:
            guard let rev = line.number(after: " if=") else { return line }
            return line.with(" if=\(rev)", "")
        case .tileIDForgotten: return line.with(" eid=", " xid=")
        case .smartMisread: return line.with(" smart=no", " smart=yes")
        case _: return line
        }
    }
}

extension String {
    /// The text before and behind the beginning of an array of objects; `nil` = there is none of this name.
    private func parts(around name: String) -> (head: String, rest: String)? {
        guard let start = firstRange(of: "\"\(name)\":[") else { return nil }
        return (String(self[..<start.upperBound]), String(self[start.upperBound...]))
    }

    /// Without the last element of an array of objects, where it has several.
    fileprivate func withoutLast(in name: String) -> String {
        guard let (head, rest) = parts(around: name), let end = rest.firstRange(of: "}]"),
            let last = rest[..<end.lowerBound].ranges(of: ",{").last
        else { return self }
        return head + String(rest[..<last.lowerBound]) + String(rest[rest.index(after: end.lowerBound)...])
    }

    /// Without a member that is an array of objects.
    fileprivate func without(_ name: String) -> String {
        guard let (head, rest) = parts(around: name), let end = rest.firstRange(of: "}],") else { return self }
        return String(head.dropLast(name.utf8.count + 4)) + String(rest[end.upperBound...])
    }
}
