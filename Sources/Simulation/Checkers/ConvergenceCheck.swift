import Hub
import Journal
import TelltaleModel
import TelltaleWire

/// The checks of a simulated world after faults and writes have stopped and every byte has arrived.
struct ConvergenceCheck {
    let world: World
    /// Whether the run ends with it. The checks that take long run only then.
    let isLast: Bool

    func run() {
        let checks: [() -> Void] = [
            checkScreens, checkLeftOut, checkWidgets, checkBoards, checkVisits, checkNotices, checkAsks,
            checkAnnouncements,
            checkAcknowledged,
            checkFullView, checkDeadlines, checkHistories, checkRecovery, checkPushes,
        ]
        for check in checks where world.ledger.violations.isEmpty { check() }
    }

    func ask(_ lines: [String]) -> [ClientLine] { read(world.daemon.answers(to: lines)) }

    private func read(_ bytes: [UInt8]) -> [ClientLine] {
        var reader = ClientLines()
        return reader.readHeads(bytes).lines
    }

    // MARK: P4, P5

    /// Every subscription has the rows that a new one gets.
    private func checkScreens() {
        for client in world.clients where world.ledger.violations.isEmpty {
            if let screen = client as? Screen, screen.isBoard {
                checkBoard(of: screen)
            } else if let screen = client as? Screen {
                check(
                    screen.table, of: screen.name, screen.pattern, screen.view, introduction: screen.introduction)
            } else if let churner = client as? ChurnClient {
                for (_, following) in churner.followings.sorted(by: { $0.key < $1.key }) {
                    check(following.table, of: churner.name, following.pattern, following.view, introduction: [])
                }
            }
        }
    }

    private func check(
        _ table: [String: ShownRow], of name: String, _ pattern: String, _ view: String, introduction: [String]
    ) {
        let lines = ask(introduction + ["SUB \(pattern) view=\(view) id=s"])
        guard lines.contains(where: { $0.verb == "LIVE" }) else {
            return world.violated("P4", "\(name) would not get a snapshot: \(lines.last?.verb ?? "")")
        }
        let fault = Verdicts.convergence(
            of: table, to: Verdicts.snapshot(in: lines), client: "\(name) (\(pattern), \(view))")
        if let fault { world.violated(fault) }
    }

    /// A watch and a dashboard of an account show the activities that the reference gives a place, in its order.
    private func checkLeftOut() {
        for case let screen as Screen in world.clients where screen.account != nil && !screen.isBoard {
            guard screen.view == "watch" || screen.view == "carplay" else { continue }
            // LIST shows each as if it were alone.
            let alone = ask(screen.introduction + ["LIST \(screen.pattern) view=\(screen.view)"])
            let full = ask(screen.introduction + ["LIST \(screen.pattern) view=full"])
            let candidates = Set(Verdicts.snapshot(in: alone).keys)
            let rows = Verdicts.snapshot(in: full).filter { candidates.contains($0.key) }
            let wanted = ReferenceCompetition.order(of: rows, limit: world.activitiesPerView)
            let shown = ReferenceCompetition.shown(in: screen.table)
            guard shown != wanted else { continue }
            return world.violated("C10", "\(screen.name) (\(screen.view)) shows \(shown), and not \(wanted)")
        }
    }

    /// A screen that was live all the time was sent every milestone, and every alert that its surface draws.
    private func checkAnnouncements() {
        for case let screen as Screen in world.clients {
            guard let since = screen.feed.liveSince else { continue }
            func told(_ all: [HistoryChecker.Announcement]) -> [HistoryChecker.Announcement] {
                all.filter { announcement in
                    announcement.place.rev > since && screen.feed.follows(announcement.place.key)
                        && announcement.isFor(screen.account)
                }
            }
            func isDue(_ announcement: HistoryChecker.Announcement) -> Bool {
                world.records.isDue(announcement, to: screen.account)
            }
            if screen.view == "full" {
                // A milestone of a handled activity waits for the reader too.
                let told = told(world.records.milestones)
                for (index, announcement) in told.enumerated() where isDue(announcement) {
                    let place = announcement.place
                    if screen.feed.milestones.contains(place) || screen.feed.missedKeys.contains(place.key) { continue }
                    // At most 64 milestones wait for a reader, and a deleted row does not name the dropped ones. A device of an
                    // account is not sent the deletion of a key that it never had.
                    let hasGone =
                        screen.feed.foldedDeletions.contains(place.key)
                        || screen.account != nil && screen.table[place.key] == nil
                    if hasGone, told.count - index > 64 { continue }
                    return world.violated(
                        "milestones", "\(screen.name) was not told the milestone of \(place.key) at \(place.rev)")
                }
            }
            // An activity that a view leaves out does not alert there.
            let leavesOut = screen.account != nil && world.activitiesPerView < Limits().activitiesPerView
            if screen.drawsEveryAlert, !leavesOut {
                let due = told(world.records.alerts).filter(isDue).map(\.place)
                // At most 64 alerts wait for a blocked reader; the oldest are dropped.
                let kept = screen.link?.wasBlocked == true ? Array(due.suffix(64)) : due
                for place in kept where !screen.feed.alerts.contains(place) {
                    return world.violated(
                        "alerts", "\(screen.name) was not told the alert of \(place.key) at \(place.rev)")
                }
            }
        }
    }

    // MARK: P1, P6

    private func checkAcknowledged() {
        for case let poster as any Poster in world.clients {
            let posts = isLast ? poster.acknowledged[...] : poster.acknowledged.suffix(50)
            guard !posts.isEmpty else { continue }
            let lines = ask(["HELLO client=\(poster.source)"] + posts.map(\.line))
            if let fault = Verdicts.acknowledgement(of: posts, source: poster.source, in: lines).first {
                return world.violated(fault)
            }
        }
    }

    // MARK: The reference

    /// The full view has the keys that the reference lists, each in the reference's state.
    private func checkFullView() {
        var keys: Set<String> = []
        for line in ask(["SUB *"]) where line.verb == "SNAP" {
            guard let key = line["key"], let rev = line.integer("rev"), let body = line.tail else { continue }
            keys.insert(key)
            if let fault = world.ledger.saw(line.text, of: key, rev: rev).fault { return world.violated("P3", fault) }
            if let fault = faultOfRow(body, key: key) { return world.violated("reference", "\(key) \(fault)") }
        }
        for (key, story) in world.records.stories.sorted(by: { $0.key < $1.key }) {
            guard let isListed = story.reference.isListed, isListed != keys.contains(key) else { continue }
            let other = keys.contains(key) ? "is there" : "is gone"
            return world.violated("reference", "\(key) \(other), and it is \(story.reference.stateText ?? "no more")")
        }
    }

    private func faultOfRow(_ body: JSONObject, key: String) -> String? {
        guard let reference = world.records.stories[key]?.reference else { return "was never written" }
        if let state = ScreenFeed.state(in: body), let known = reference.stateText, state != known {
            return "is \(state), and not \(known)"
        }
        if let phase = body["phase"]?.string, phase == "pending" || phase == "performing" {
            return "is \(phase) though every time is up"
        }
        if body["available"]?.bool == false, world.climate.providers > 0 {
            return "is not available though its provider is there"
        }
        guard let order = reference as? ReferenceOrder else { return nil }
        if let due = order.staleAt, body["staleAt"]?.integer != due { return "is not stale at \(due)" }
        if let due = order.removeAt, body["removeAt"]?.integer != due { return "is not removed at \(due)" }
        return nil
    }

    private func checkDeadlines() {
        world.records.checkDeadlines(at: world.daemonTime)
    }

    /// `HISTORY` returns the records that were written, and pruning removed no others than it may.
    private func checkHistories() {
        guard isLast else { return }
        let now = world.wall.milliseconds
        let keys = world.records.stories.keys.sorted()
        var histories: [[[UInt8]]] = [[]]
        for line in world.daemon.answers(to: keys.map { "HISTORY \($0)" }).split(separator: UInt8(ascii: "\n")) {
            if line.starts(with: "HIST ".utf8) {
                histories[histories.count - 1].append(Array(line) + [UInt8(ascii: "\n")])
            } else if line.starts(with: "OK ".utf8) || line.starts(with: "ERR ".utf8) {
                histories.append([])
            }
        }
        guard histories.count == keys.count + 1 else {
            return world.violated("history", "\(keys.count) questions have \(histories.count - 1) answers")
        }
        for (key, history) in zip(keys, histories) {
            if let fault = world.records.fault(inHistory: history, of: key, at: now) {
                return world.violated("history", fault)
            }
        }
    }

    // MARK: P9, P10

    /// A daemon that recovers from the journal has the same state, with and without the snapshot, and every time.
    private func checkRecovery() {
        let contents = world.daemon.disk.contents
        do {
            let question = ["HELLO caps=widgets", "SUB *"]
            let first = try world.daemon.answers(to: question, after: contents)
            let here = rows(world.daemon.answers(to: question))
            guard compare(here, with: rows(first.bytes), "a recovery"), isLast else { return }
            let second = try world.daemon.answers(to: question, after: contents)
            if first.bytes != second.bytes || first.stateHash != second.stateHash {
                return world.violated("P10", "two recoveries of one journal differ")
            }
            guard contents.prunedThrough == 0, contents.snapshotSequence != nil else { return }
            var whole = contents
            whole.snapshotSequence = nil
            whole.snapshotChunks = []
            let third = try world.daemon.answers(to: question, after: whole)
            guard compare(here, with: rows(third.bytes), "a recovery without the snapshot") else { return }
            if third.stateHash != first.stateHash {
                world.violated("P9", "a recovery without the snapshot computes another state")
            }
        } catch {
            world.violated("P9", "it would not recover: \(error)")
        }
    }

    /// The rows of a snapshot, sorted, because their order on the wire has no meaning.
    private func rows(_ bytes: [UInt8]) -> [String] {
        bytes.split(separator: UInt8(ascii: "\n")).filter { $0.starts(with: "SNAP ".utf8) }
            .map { String(decoding: $0, as: UTF8.self) }.sorted()
    }

    private func compare(_ here: [String], with there: [String], _ what: String) -> Bool {
        guard here != there else { return true }
        let (lost, new) = (Set(here).subtracting(there).min(), Set(there).subtracting(here).min())
        world.violated("P9", "\(lost ?? "nothing") is after \(what) \(new ?? "nothing")")
        return false
    }
}
