// Bugs of walks over many keys and of what comes by itself on boards, made on the lines of widgets and of requests.
extension BugInjector {
    static let ofVisits: Set<SeededBug> = [
        .walkSkipsKey, .walkRepeatsKey, .walkEndsWithBatch, .walkSkipsBoard, .visitToldToOthers, .visitKept,
        .deletionOfOthersTold,
    ]

    /// The `id=` of a request that the bug adds.
    private static let added = " id=added"
    private static let walk = "RELOAD \(SimulatedVisits.towns) id="

    /// Changes what the daemon sends to a client.
    mutating func changedVisits(_ lines: [String], _ client: Int) -> [String] {
        switch bug {
        case .walkSkipsKey:
            let count = SimulatedVisits.townKeys.count
            return lines.compactMap { line in
                if line.contains(Self.added) { return nil }
                guard line.hasPrefix("OK id=w"), !line.contains(" count="), line.contains(" verdict=") else {
                    return line
                }
                return line.prefix { $0 != "v" } + "count=\(count) applied=0 deferred=\(count) noop=0"
            }
        case .walkRepeatsKey: return lines.filter { !$0.contains(Self.added) }
        case .walkEndsWithBatch:
            var isFirst = true
            return lines.filter { line in
                guard line.contains(" action=timeline ") else { return true }
                defer { isFirst = false }
                return isFirst
            }
        case .walkSkipsBoard:
            return lines.filter { line in
                !line.hasPrefix("UPD ") || !line.contains(" key=@nudges-hall/~") || line.contains(" why=resume ")
            }
        case .visitKept: return lines.filter { !($0.hasPrefix("DEL ") && Self.isVisit($0)) }
        case _: return lines.flatMap { withForeign($0, client) }
        }
    }

    private static func isVisit(_ line: String) -> Bool { line.contains(" key=@nudges-") && line.contains("/~") }

    /// A line, and in its place or before it one about what is on another account's board.
    private mutating func withForeign(_ line: String, _ client: Int) -> [String] {
        if let key = line.split(separator: " ").first(where: { $0.hasPrefix("key=@nudges-") }) {
            let board = String(key.prefix { $0 != "/" })
            bodies["\(client)"] = board
            bodies[String(key)] = line
            guard Self.isVisit(line), line.hasPrefix("UPD ") || line.hasPrefix("SNAP ") else { return [line] }
            bodies[board] = line
            guard bug == .visitToldToOthers, random.chance(200), let foreign = foreign(to: board) else { return [line] }
            return [foreign]
        }
        guard bug == .deletionOfOthersTold, line.hasPrefix("LIVE "), let board = bodies["\(client)"],
            let foreign = foreign(to: board), let rev = foreign.number(after: " rev="),
            let key = foreign.split(separator: " ").first(where: { $0.hasPrefix("key=") })
        else { return [line] }
        return ["DEL sub=1 \(key) rev=\(rev) why=hidden", line]
    }

    /// The newest row of another person's board, with the name of `board`, where that never had it.
    private func foreign(to board: String) -> String? {
        let other = board.hasSuffix("alice") ? "key=@nudges-bob" : "key=@nudges-alice"
        guard let row = bodies[other], let cursor = row.firstRange(of: " cur=") else { return nil }
        let rest = row[cursor.upperBound...].drop { $0 != " " }
        let foreign = (String(row[..<cursor.lowerBound]) + rest).with(other + "/", board + "/")
        let key = foreign.split(separator: " ").first { $0.hasPrefix("key=") }
        return key.flatMap { bodies[String($0)] } == nil ? foreign : nil
    }

    /// Changes a request that the daemon receives.
    func changedWalk(_ line: String) -> String {
        guard line.hasPrefix(Self.walk) else { return line }
        let id = line.dropFirst(Self.walk.count)
        if bug == .walkRepeatsKey { return "RELOAD \(SimulatedVisits.townKeys[0])\(Self.added)\n" + line }
        // The last key is left out.
        let keys = SimulatedVisits.townKeys.dropLast()
        return keys.enumerated().map { "RELOAD \($1)" + ($0 == keys.count - 1 ? " id=\(id)" : Self.added) }
            .joined(separator: "\n")
    }
}
