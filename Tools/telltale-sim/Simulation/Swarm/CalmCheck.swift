import Hub
import Journal
import Model
import Wire

/// What must hold when faults have stopped, writes have stopped and everything has arrived.
struct CalmCheck {
    let world: World

    func run() {
        checkScreens()
        checkAcknowledged()
        let keys = checkFullView()
        checkHistories(of: keys)
        checkRecovery()
    }

    private func ask(_ lines: [String]) -> [ServerLine] { read(world.daemon.answers(to: lines)) }

    private func read(_ bytes: [UInt8]) -> [ServerLine] {
        var reader = ClientLines()
        return reader.read(bytes).lines
    }

    // MARK: P4, P5

    /// Every screen shows what one shows that comes only now.
    private func checkScreens() {
        for case let screen as Screen in world.clients {
            let lines = ask(screen.introduction + ["SUB \(screen.pattern) view=\(screen.view) id=s"])
            var fresh: [String: Screen.Shown] = [:]
            for line in lines where line.verb == "SNAP" {
                guard let key = line["key"], let rev = line.integer("rev"), var body = line.tail else { continue }
                body["missed"] = nil
                fresh[key] = Screen.Shown(rev: rev, body: body)
            }
            guard lines.contains(where: { $0.verb == "LIVE" }) else {
                return world.violated("P4", "\(screen.name) would not get a snapshot: \(lines.last?.verb ?? "")")
            }
            for key in Set(fresh.keys).union(screen.table.keys).sorted() {
                if let shown = screen.table[key], let new = fresh[key], shown.isSame(as: new) { continue }
                return world.violated(
                    "P4/P5",
                    "\(screen.name) (\(screen.pattern), \(screen.view)) shows \(key) as \(text(screen.table[key])), and it is \(text(fresh[key]))"
                )
            }
        }
    }

    private func text(_ shown: Screen.Shown?) -> String {
        guard let shown else { return "nothing" }
        return "rev \(shown.rev) " + (shown.body.map { "\(JSON.object($0))" } ?? "")
    }

    // MARK: P1, P6

    /// Everything that was acknowledged is known, with the rev that was told.
    private func checkAcknowledged() {
        for case let system as any Poster in world.clients {
            let posts = system.acknowledged
            guard let source = posts.first?.source else { continue }
            let lines = ask(["HELLO client=\(source)"] + posts.map(\.line)).filter {
                $0.verb == "OK" || $0.verb == "ERR"
            }
            guard lines.count == posts.count + 1 else {
                return world.violated("P1", "\(posts.count) retries of \(source) have \(lines.count - 1) answers")
            }
            for (post, line) in zip(posts, lines.dropFirst()) {
                if line["verdict"] != "duplicate" {
                    return world.violated(
                        "P1",
                        "\(source) was acknowledged \(post.line), which is now \(line["verdict"] ?? line["code"] ?? "")"
                    )
                }
                if line.integer("rev") != post.rev {
                    return world.violated("P6", "\(post.line) had rev \(post.rev), and now \(line["rev"] ?? "")")
                }
            }
        }
    }

    // MARK: No state past its deadline

    /// - Returns: The orders that there are.
    private func checkFullView() -> [String] {
        var keys: [String] = []
        for line in ask(["SUB *"]) where line.verb == "SNAP" {
            guard let key = line["key"], let rev = line.integer("rev"), let body = line.tail else { continue }
            if let fault = world.ledger.saw(body, of: key, rev: rev) { world.violated("P3", fault) }
            if let phase = body["phase"]?.string, phase == "pending" || phase == "performing" {
                world.violated("deadline", "\(key) is \(phase) though every time is up: \(JSON.object(body))")
            }
            if let isAvailable = body["available"]?.bool, !isAvailable, world.climate.providers > 0 {
                world.violated("P4", "\(key) is not available though its provider is there")
            }
            let now = world.hubTime.time.milliseconds
            for name in ["removeAt"] {
                // The hub's clock does not go back with the wall's, so a deadline ahead may have fired; none behind waits.
                if let due = body[name]?.integer, due < now - 2_000 {
                    world.violated("deadline", "\(key) has \(name) \(now - due) ms ago")
                }
            }
            if body["lifecycle"] != nil { keys.append(key) }
        }
        return keys
    }

    /// The reference model goes the way of each order again.
    private func checkHistories(of keys: [String]) {
        var sent: Set<String> = []
        for case let system as any Poster in world.clients { sent.formUnion(system.sentIDs) }
        var milestones: [(key: String, rev: Int64)] = []
        let isWhole = world.daemon.disk.contents.prunedThrough == 0
        var histories: [String: [ServerLine]] = [:]
        for line in ask(keys.map { "HISTORY \($0)" }) where line.verb == "HIST" {
            histories[line["key"] ?? "", default: []].append(line)
        }
        for key in keys {
            let lines = histories[key] ?? []
            let records = lines.compactMap { ReferenceOrder.Record($0) }
            guard records.count == lines.count else {
                return world.violated("history", "\(key) has unreadable records")
            }
            var once: Set<String> = []
            for record in records {
                guard let id = record.id else { continue }
                if !sent.contains(id) { return world.violated("P1", "\(key) has \(id), which nobody sent") }
                if !once.insert(id).inserted { return world.violated("P6", "\(key) has \(id) twice") }
            }
            guard let rules = ReferenceRules.of(key), records.first?.isFirst(ofWholeHistory: isWhole, by: rules) == true
            else { continue }
            var order = ReferenceOrder(rules)
            for record in records {
                if let fault = order.take(record) {
                    return world.violated("reference", "\(key) at record \(record.sequence): \(fault)")
                }
            }
            milestones += order.milestones.map { (key, $0) }
        }
        checkMilestones(milestones)
    }

    /// Who was there all the time has been told of every milestone.
    private func checkMilestones(_ milestones: [(key: String, rev: Int64)]) {
        for case let screen as Screen in world.clients where screen.view == "full" && screen.account == nil {
            guard let since = screen.liveSince else { continue }
            for (key, rev) in milestones where rev > since {
                guard
                    screen.pattern == "*" || screen.pattern == key
                        || (screen.pattern.hasSuffix("/*") && key.hasPrefix(screen.pattern.dropLast()))
                else { continue }
                if screen.missedKeys.contains(key) { continue }
                if !screen.milestones.contains(Ledger.KeyRev(key: key, rev: rev)) {
                    return world.violated("milestones", "\(screen.name) was not told the milestone of \(key) at \(rev)")
                }
            }
        }
    }

    // MARK: P9, P10

    /// A daemon that reads this journal knows what this one knows, with and without the snapshot, twice alike.
    private func checkRecovery() {
        let contents = world.daemon.disk.contents
        do {
            let first = try world.daemon.answers(to: ["SUB *"], after: contents)
            if first != (try world.daemon.answers(to: ["SUB *"], after: contents)) {
                return world.violated("P10", "two recoveries of one journal differ")
            }
            compare(with: read(first), "a recovery")
            guard contents.prunedThrough == 0, contents.snapshotSequence != nil else { return }
            var whole = contents
            whole.snapshotSequence = nil
            whole.snapshotChunks = []
            compare(
                with: read(try world.daemon.answers(to: ["SUB *"], after: whole)), "a recovery without the snapshot")
        } catch {
            world.violated("P9", "it would not recover: \(error)")
        }
    }

    private func compare(with other: [ServerLine], _ what: String) {
        func rows(_ lines: [ServerLine]) -> [String: Screen.Shown] {
            var rows: [String: Screen.Shown] = [:]
            for line in lines where line.verb == "SNAP" {
                guard let key = line["key"], let rev = line.integer("rev"), let body = line.tail else { continue }
                rows[key] = Screen.Shown(rev: rev, body: body)
            }
            return rows
        }
        let (here, there) = (rows(ask(["SUB *"])), rows(other))
        for key in Set(here.keys).union(there.keys).sorted() where here[key] != there[key] {
            return world.violated("P9", "\(key) is \(text(here[key])), and after \(what) \(text(there[key]))")
        }
    }
}
