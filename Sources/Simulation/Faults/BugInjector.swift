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

    /// Lines that a bug leaves out: of a verb, with a text in them, so many of a thousand; of tiles, or of anything else.
    private static let dropped: [SeededBug: (verb: String, text: String, share: Int, ofTiles: Bool)] = [
        .deletionDropped: ("DEL ", "", 100, false), .rowDropped: ("UPD ", "", 10, false),
        .snapshotRowDropped: ("SNAP ", "", 50, false), .askDropped: ("DO ", " action=timeline ", 100, false),
        .noticeDropped: ("CHANGED ", "", 100, false), .milestoneDropped: ("MILE ", "", 50, false),
        .replyDropped: ("OK ", "", 5, false), .alertConflated: ("ALERT ", "", 100, false),
        .heldRowDropped: ("UPD ", " why=budget ", 1_000, false), .liveDropped: ("LIVE ", "", 50, false),
        .tileLostInSnapshot: ("SNAP ", "", 200, true), .removedTileKept: ("DEL ", "", 300, true),
    ]

    /// Words of requests that a bug reads as other ones: of lines that begin so.
    private static let misread: [SeededBug: (beginning: String, old: String, new: String)] = [
        .accountForgotten: ("HELLO ", " account=alice", ""), .audienceForgotten: ("EVT ", " for=alice", " fur=alice"),
        .deliveryIgnored: ("SUB ", " deliver=notice", ""), .familyIgnored: ("SUB ", " family=accessoryCircular", ""),
        .screenUnread: ("TRAIT ", " screen=off", " screen=on"),
        .screenOnForgotten: ("TRAIT ", " screen=on", " focus=off"),
        .lockUnread: ("TRAIT ", " locked=yes", " locked=no"),
        .placeUnread: ("TRAIT ", " place=commute", " place=home"), .smartMisread: ("TILE ", " smart=no", " smart=yes"),
        .boardShownToOthers: ("HELLO client=board-", " account=bob", " account=alice"),
        .tileIDForgotten: ("TILE ", " eid=", " xid="),
    ]

    /// Changes bytes that the daemon sends to a client.
    ///
    /// - Parameters:
    ///   - toPerson: Whether the client has an account.
    ///   - client: The number of the client.
    mutating func change(_ bytes: inout [UInt8], toPerson: Bool, client: Int) {
        let whole = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        var lines = whole
        switch bug {
        case .walkSkipsKey, .walkRepeatsKey, .walkEndsWithBatch, .walkSkipsBoard, .visitToldToOthers, .visitKept,
            .deletionOfOthersTold:
            lines = changedRelevantTiles(lines, client)
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
            let gone = Set(lines.filter { $0.hasPrefix("DEL ") }.compactMap(Self.key))
            lines.removeAll { line in
                toPerson && (line.hasPrefix("MILE ") || line.hasPrefix("ALERT "))
                    && Self.key(line).map(gone.contains) == true
            }
        case .usedUpRowDropped, .rowWithoutEnd, .foreseenTold: changeByOlderRows(&lines, client)
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
            if let drop = Self.dropped[bug] {
                lines.removeAll { line in
                    line.hasPrefix(drop.verb) && line.contains(drop.text) && line.contains(" key=@") == drop.ofTiles
                        && random.chance(drop.share)
                }
            } else {
                lines = lines.compactMap { $0.contains(" key=@") ? changedTile($0, client) : changed($0) }
            }
        }
        if lines != whole { bytes = Array(lines.map { $0 + "\n" }.joined().utf8) }
    }

    private static func key(_ line: String) -> Substring? { line.split(separator: " ").first { $0.hasPrefix("key=") } }

    /// Bugs about rows that a client was sent before.
    private mutating func changeByOlderRows(_ lines: inout [String], _ client: Int) {
        switch bug {
        case .usedUpRowDropped:
            // A row of a widget with a rev that the client was sent before.
            lines.removeAll { line in
                guard line.hasPrefix("UPD "), line.contains("\"entries\":["), let rev = line.number(after: " rev="),
                    let key = Self.key(line)
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
        case _:
            let card = lines.last { $0.hasPrefix("UPD ") && $0.contains(" key=card/") }
            if let old = bodies["\(client)"], !lines.contains(where: { $0.contains(" key=card/") }), random.chance(300)
            {
                lines.append(old)
            }
            bodies["\(client)"] = card ?? bodies["\(client)"]
        }
    }

    private mutating func changed(_ line: String) -> String {
        switch bug {
        case .askMisdirected:
            if line.contains(" action=timeline ") { noteOperation(of: line) }
            return line
        case .cursorIsRev:
            guard line.hasPrefix("UPD "), let rev = line.number(after: " rev=") else { return line }
            return line.changingCursor { _ in rev }
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
        case .capabilityUnread:
            return rewritten(bytes) { $0.hasPrefix("HELLO ") ? $0.with(" caps=widgets", "") + " caps=widgets" : $0 }
        case .aheadIgnored:
            return rewritten(bytes) {
                $0.hasPrefix("SUB ") ? $0.changingNumber(after: " ahead=") { $0 + 8 } : $0
            }
        case .unitMisread:
            let number = random.below(1_000_000)
            return rewritten(bytes) { $0.with(" unit=unit-", " unit=c\(number)-") }
        case .versionUnread:
            return rewritten(bytes) { line in
                guard line.contains(" type=timeline"), let version = line.number(after: " ver=") else { return line }
                return line.with(" ver=\(version)", "")
            }
        case .tileConditionUnread:
            return rewritten(bytes) { line in
                guard line.hasPrefix("TILE "), let rev = line.number(after: " if=") else { return line }
                return line.with(" if=\(rev)", "")
            }
        case .walkSkipsKey, .walkRepeatsKey: return rewritten(bytes, changedScan)
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
        case _:
            guard let misread = Self.misread[bug] else { return bytes }
            return rewritten(bytes) { $0.hasPrefix(misread.beginning) ? $0.with(misread.old, misread.new) : $0 }
        }
    }

    /// Whole lines alone: a piece of one passes as it is.
    private func rewritten(_ bytes: [UInt8], _ body: (String) -> String) -> [UInt8] {
        guard bytes.last == UInt8(ascii: "\n") else { return bytes }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        return Array(lines.map { body(String($0)) }.joined(separator: "\n").utf8)
    }

    // MARK: Boards

    private static let suggested = "\"suggested\":true"

    /// Changes a line about a tile that the daemon sends to a client; `nil` = it is not sent.
    private mutating func changedTile(_ line: String, _ client: Int) -> String? {
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

    // MARK: Scans, and what comes by itself

    /// The `id=` of a request that the bug adds.
    private static let added = " id=added"
    private static let scan = (start: "RELOAD id=", end: " \(SimulatedRelevantWidgets.towns)")

    /// Changes what the daemon sends to a client.
    private mutating func changedRelevantTiles(_ lines: [String], _ client: Int) -> [String] {
        switch bug {
        case .walkSkipsKey:
            let count = SimulatedRelevantWidgets.townKeys.count
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
        case .visitKept: return lines.filter { !($0.hasPrefix("DEL ") && Self.isRelevantWidget($0)) }
        case _: return lines.flatMap { withForeign($0, client) }
        }
    }

    private static func isRelevantWidget(_ line: String) -> Bool {
        line.contains(" key=@nudges-") && line.contains("/~")
    }

    /// A line, and in its place or before it one about what is on another account's board.
    private mutating func withForeign(_ line: String, _ client: Int) -> [String] {
        if let key = line.split(separator: " ").first(where: { $0.hasPrefix("key=@nudges-") }) {
            let board = String(key.prefix { $0 != "/" })
            bodies["\(client)"] = board
            bodies[String(key)] = line
            guard Self.isRelevantWidget(line), line.hasPrefix("UPD ") || line.hasPrefix("SNAP ") else { return [line] }
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
    private func changedScan(_ line: String) -> String {
        guard line.hasPrefix(Self.scan.start), line.hasSuffix(Self.scan.end) else { return line }
        let id = line.dropFirst(Self.scan.start.count).dropLast(Self.scan.end.count)
        if bug == .walkRepeatsKey { return "RELOAD \(SimulatedRelevantWidgets.townKeys[0])\(Self.added)\n" + line }
        // The last key is left out.
        let keys = SimulatedRelevantWidgets.townKeys.dropLast()
        return keys.enumerated().map { "RELOAD \($1)" + ($0 == keys.count - 1 ? " id=\(id)" : Self.added) }
            .joined(separator: "\n")
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

    fileprivate func changingNumber(after mark: String, _ body: (Int64) -> Int64) -> String {
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
