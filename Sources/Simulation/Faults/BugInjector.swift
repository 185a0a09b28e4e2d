/// Changes lines on their way, so that they look as if a daemon with a bug had written or read them.
struct BugInjector {
    let bug: SeededBug
    var random: SimulationRandom
    private var oldRow: String?
    var bodies: [String: String] = [:]
    /// How often the daemon has started.
    var startCount = 0
    private var newestOperation: String?

    init(_ bug: SeededBug, random: SimulationRandom) {
        self.bug = bug
        self.random = random
    }

    private static let outgoing: Set<SeededBug> = [
        .deletionDropped, .rowDropped, .rowRepeated, .milestoneDropped, .replyDropped, .repliesSwapped, .liveDropped,
        .bodyChanged, .revTooHigh, .cursorAhead, .cursorBehind, .duplicateAppliedAgain, .snapshotRowDropped,
        .verdictWrong, .oldAnswerAccepted, .alertConflated, .alertRepeated, .cursorIsRev, .rowsQueued, .farewellUntold,
        .usedUpRowDropped, .rowWithoutEnd, .entryDropped, .entryTooSoon, .stalenessUntold, .placeholderKept,
        .foresightLost, .foreseenTold, .heldRowDropped, .noticeDropped, .noticeRepeated, .askDropped, .askRepeated,
        .askMisdirected,
    ]

    /// Changes bytes that the daemon sends to a client.
    ///
    /// - Parameters:
    ///   - toPerson: Whether the client has an account.
    ///   - client: The number of the client.
    mutating func change(_ bytes: inout [UInt8], toPerson: Bool, client: Int) {
        let isOfVisits = Self.ofVisits.contains(bug)
        guard isOfVisits || Self.outgoing.contains(bug) || Self.ofTiles.contains(bug) else { return }
        var lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        func key(_ line: String) -> Substring? { line.split(separator: " ").first { $0.hasPrefix("key=") } }
        switch bug {
        case _ where isOfVisits: lines = changedVisits(lines, client)
        case .repliesSwapped:
            if lines.count > 1, random.chance(50), lines[0].hasPrefix("OK "), lines[1].hasPrefix("OK ") {
                lines.swapAt(0, 1)
            }
        case .alertRepeated:
            let alert = lines.first { $0.hasPrefix("ALERT ") }
            if alert != nil, let oldRow, random.chance(200) { lines.insert(oldRow, at: 0) }
            oldRow = alert ?? oldRow
        case .rowsQueued:
            // A row of the same key that has not left yet leaves too.
            if let row = lines.last(where: { $0.hasPrefix("UPD ") }), random.chance(20) { lines.append(row) }
        case .farewellUntold:
            let gone = Set(lines.filter { $0.hasPrefix("DEL ") }.compactMap(key))
            lines.removeAll { line in
                toPerson && (line.hasPrefix("MILE ") || line.hasPrefix("ALERT "))
                    && key(line).map(gone.contains) == true
            }
        case .usedUpRowDropped:
            // A row of a widget with a rev that the client was sent before.
            lines.removeAll { line in
                guard line.hasPrefix("UPD "), line.contains("\"entries\":["), let rev = line.number(after: " rev="),
                    let key = key(line)
                else { return false }
                defer { bodies["\(client) \(key)"] = "\(rev)" }
                return bodies["\(client) \(key)"] == "\(rev)"
            }
        case .rowWithoutEnd:
            // Of a schedule, beside the next row of another key and with its cursor.
            let row = lines.last { $0.hasPrefix("UPD ") && $0.contains(" key=hours/") }
            if row == nil, let old = bodies["\(client)"], let other = lines.last(where: { $0.hasPrefix("UPD ") }) {
                var newest: Int64 = 0
                _ = other.changingCursor { cursor in
                    newest = cursor
                    return cursor
                }
                lines.append(old.changingCursor { _ in newest })
            }
            bodies["\(client)"] = row ?? bodies["\(client)"]
        case .foreseenTold:
            let card = lines.last { $0.hasPrefix("UPD ") && $0.contains(" key=card/") }
            if let old = bodies["\(client)"], !lines.contains(where: { $0.contains(" key=card/") }), random.chance(300)
            {
                lines.append(old)
            }
            bodies["\(client)"] = card ?? bodies["\(client)"]
        case .askRepeated:
            let ask = lines.last { $0.contains(" action=timeline ") }
            if let ask, random.chance(200) { lines.append(ask) }
        case .noticeRepeated:
            let notice = lines.last { $0.hasPrefix("CHANGED ") }
            if let notice, random.chance(200) { lines.append(notice) }
        case .rowRepeated:
            let row = lines.first { $0.hasPrefix("UPD ") }
            if row != nil, let oldRow, random.chance(50) { lines.append(oldRow) }
            oldRow = row ?? oldRow
        case _:
            var kept: [String] = []
            for line in lines {
                if let line = line.contains(" key=@") ? changedTile(line, client) : changed(line) { kept.append(line) }
            }
            lines = kept
        }
        bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
    }

    private mutating func changed(_ line: String) -> String? {
        switch bug {
        case .deletionDropped: return line.hasPrefix("DEL ") && random.chance(100) ? nil : line
        case .rowDropped: return line.hasPrefix("UPD ") && random.chance(10) ? nil : line
        case .snapshotRowDropped: return line.hasPrefix("SNAP ") && random.chance(50) ? nil : line
        case .askDropped: return line.contains(" action=timeline ") && random.chance(100) ? nil : line
        case .askMisdirected:
            if line.contains(" action=timeline ") { noteOperation(of: line) }
            return line
        case .noticeDropped: return line.hasPrefix("CHANGED ") && random.chance(100) ? nil : line
        case .milestoneDropped: return line.hasPrefix("MILE ") && random.chance(50) ? nil : line
        case .replyDropped: return line.hasPrefix("OK ") && random.chance(5) ? nil : line
        case .alertConflated: return line.hasPrefix("ALERT ") && random.chance(100) ? nil : line
        case .cursorIsRev:
            guard line.hasPrefix("UPD "), let rev = line.number(after: " rev=") else { return line }
            return line.changingCursor { _ in rev }
        case .heldRowDropped: return line.hasPrefix("UPD ") && line.contains(" why=budget ") ? nil : line
        case .liveDropped: return line.hasPrefix("LIVE ") && random.chance(50) ? nil : line
        case .bodyChanged:
            return line.hasPrefix("UPD ") && random.chance(20)
                ? line.with("\"lifecycle\":\"active\"", "\"lifecycle\":\"stale\"") : line
        case .revTooHigh:
            return line.hasPrefix("UPD ") && random.chance(10)
                ? line.changingNumber(after: " rev=") { $0 + 100_000 } : line
        case .foresightLost:
            guard line.contains(" key=card/") else { return line }
            return (0..<16).reduce(line) { line, _ in line.withoutLastEntry }
        case .entryDropped: return random.chance(300) ? line.withoutLastEntry : line
        case .entryTooSoon:
            return line.contains("\"entries\":[") ? line.changingNumber(after: "\"date\":") { $0 - 30_000 } : line
        case .stalenessUntold: return line.with("\"stale\":true,\"view\"", "\"view\"")
        case .placeholderKept:
            guard line.contains("\"entries\":["), random.chance(50) else { return line }
            return line.with(",\"view\":", ",\"placeholder\":true,\"view\":")
        case .cursorAhead: return line.changingCursor { $0 + 3 }
        case .cursorBehind: return random.chance(50) ? line.changingCursor { max(0, $0 - 50) } : line
        case .duplicateAppliedAgain: return line.with("verdict=duplicate", "verdict=applied")
        case .verdictWrong:
            return line.hasPrefix("OK ") && random.chance(20)
                ? line.with("verdict=applied", "verdict=duplicate").changingNumber(after: " rev=") { max(1, $0 - 1) }
                : line
        case .oldAnswerAccepted:
            if line.hasPrefix("DO "), !line.contains(" action=timeline ") { noteOperation(of: line) }
            return line
        case _: return line
        }
    }

    private mutating func noteOperation(of line: String) {
        newestOperation = line.split(separator: " ").first { $0.hasPrefix("op=") }.map(String.init)
    }

    /// Changes bytes that the daemon receives.
    mutating func changeRequests(_ bytes: [UInt8], durable: Int64) -> [UInt8] {
        switch bug {
        case .byteLost:
            guard bytes.count > 1, random.chance(5) else { return bytes }
            var bytes = bytes
            bytes.remove(at: random.below(bytes.count))
            return bytes
        case .accountForgotten:
            return rewritten(bytes) { $0.hasPrefix("HELLO ") ? $0.with(" account=alice", "") : $0 }
        case .audienceForgotten:
            return rewritten(bytes) { $0.hasPrefix("EVT ") ? $0.with(" for=alice", " fur=alice") : $0 }
        case .capabilityUnread:
            return rewritten(bytes) { $0.hasPrefix("HELLO ") ? $0.with(" caps=widgets", "") + " caps=widgets" : $0 }
        case .aheadIgnored:
            return rewritten(bytes) {
                $0.hasPrefix("SUB ") ? $0.changingNumber(after: " ahead=") { $0 + 8 } : $0
            }
        case .deliveryIgnored:
            return rewritten(bytes) { $0.hasPrefix("SUB ") ? $0.with(" deliver=notice", "") : $0 }
        case .familyIgnored:
            return rewritten(bytes) { $0.hasPrefix("SUB ") ? $0.with(" family=accessoryCircular", "") : $0 }
        case .screenUnread: return rewritten(bytes) { $0.with("TRAIT screen=off", "TRAIT screen=on") }
        case .screenOnForgotten: return rewritten(bytes) { $0.with("TRAIT screen=on", "TRAIT focus=off") }
        case .unitMisread:
            let number = random.below(1_000_000)
            return rewritten(bytes) { $0.with(" unit=unit-", " unit=c\(number)-") }
        case .lockUnread: return rewritten(bytes) { $0.with("TRAIT locked=yes", "TRAIT locked=no") }
        case .versionUnread:
            return rewritten(bytes) { line in
                guard line.contains(" type=timeline"), let version = line.number(after: " ver=") else { return line }
                return line.with(" ver=\(version)", "")
            }
        case .tileConditionUnread, .tileIDForgotten, .boardShownToOthers, .smartMisread, .placeUnread:
            return rewritten(bytes, changedArrangement)
        case .walkSkipsKey, .walkRepeatsKey: return rewritten(bytes, changedWalk)
        case .eventIDForgotten:
            return random.chance(100)
                ? rewritten(bytes) { $0.hasPrefix("EVT ") ? $0.with(" eid=", " xid=") : $0 } : bytes
        case .resumeFromNewest:
            return rewritten(bytes) { $0.hasPrefix("SUB ") ? $0.changingCursor(named: " from=") { _ in durable } : $0 }
        case .oldAnswerAccepted, .askMisdirected:
            guard let newest = newestOperation else { return bytes }
            return rewritten(bytes) { line in
                guard line.hasPrefix("DONE "), line.contains("\"entries\"") == (bug == .askMisdirected),
                    let old = line.split(separator: " ").first(where: { $0.hasPrefix("op=") })
                else { return line }
                return line.with(String(old), newest)
            }
        case _: return bytes
        }
    }

    /// Whole lines alone: a piece of one passes as it is.
    private func rewritten(_ bytes: [UInt8], _ body: (String) -> String) -> [UInt8] {
        guard bytes.last == UInt8(ascii: "\n") else { return bytes }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        return Array(lines.map { body(String($0)) }.joined(separator: "\n").utf8)
    }
}

extension String {
    /// With the first `old` replaced.
    func with(_ old: String, _ new: String) -> String {
        guard let place = firstRange(of: old) else { return self }
        return String(self[..<place.lowerBound]) + new + self[place.upperBound...]
    }

    func firstRange(of text: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }

    /// The row of a widget with its last entry left out, where it has several.
    fileprivate var withoutLastEntry: String {
        guard contains("\"entries\":["), let start = ranges(of: ",{\"date\":").last?.lowerBound,
            let end = self[start...].ranges(of: "}]").first?.lowerBound
        else { return self }
        return String(self[..<start]) + self[index(after: end)...]
    }

    func number(after mark: String) -> Int64? {
        firstRange(of: mark).flatMap { Int64(self[$0.upperBound...].prefix { $0.isNumber }) }
    }

    func changingNumber(after mark: String, _ body: (Int64) -> Int64) -> String {
        guard let place = firstRange(of: mark) else { return self }
        let digits = self[place.upperBound...].prefix { $0.isNumber }
        guard let number = Int64(digits) else { return self }
        return String(self[..<place.upperBound]) + "\(body(number))" + self[digits.endIndex...]
    }

    fileprivate func changingCursor(named name: String = " cur=", _ body: (Int64) -> Int64) -> String {
        guard let place = firstRange(of: name) else { return self }
        let epoch = self[place.upperBound...].prefix { $0 != ":" && $0 != " " }
        guard epoch.endIndex < endIndex, self[epoch.endIndex] == ":" else { return self }
        let start = index(after: epoch.endIndex)
        let digits = self[start...].prefix { $0.isNumber }
        guard let number = Int64(digits) else { return self }
        return String(self[..<start]) + "\(body(number))" + self[digits.endIndex...]
    }
}
