import TelltaleModel
import TelltaleWire

/// Holds a crowd that has come to rest against the daemon, over its wire.
///
/// Each screen must show what one shows that comes only now; what was acknowledged is known, with its rev; each order
/// went the way of the reference; and nothing is past its deadline.
final class LiveConvergenceCheck {
    private unowned let crowd: Crowd
    private let onEnd: () -> Void
    private var waiting = 0
    /// Of the keys that the scenario asks about, by its own names.
    private(set) var states: [String: String] = [:]

    private static let attemptLimit = 100

    init(_ crowd: Crowd, onEnd: @escaping () -> Void) {
        self.crowd = crowd
        self.onEnd = onEnd
    }

    func begin() {
        // Whoever looks while it begins does not end it.
        waiting = 1
        for case let screen as Screen in crowd.clients { check(screen, attempt: 1) }
        for case let poster as any Poster in crowd.clients { check(poster) }
        checkHistories()
        checkStates()
        done()
    }

    private func done() {
        waiting -= 1
        if waiting == 0 { onEnd() }
    }

    // MARK: Screens

    private func check(_ screen: Screen, attempt: Int) {
        waiting += 1
        crowd.ask(screen.introduction + ["SUB \(screen.pattern) view=\(screen.view) id=s"]) { lines in
            lines.last.map { $0.verb == "LIVE" || ($0.verb == "ERR" && $0["id"] == "s") } == true
                || lines.contains { $0.verb == "LIVE" }
        } then: { [unowned self] lines in
            var fresh: [String: Screen.Shown] = [:]
            for line in lines where line.verb == "SNAP" {
                guard let key = line["key"], crowd.isOwn(key), let rev = line.integer("rev") else { continue }
                fresh[key] = Screen.Shown(rev: rev, text: line.text)
            }
            let shown = screen.table.filter { crowd.isOwn($0.key) }
            let wrong = Set(fresh.keys).union(shown.keys).sorted().first { key in
                guard let old = shown[key], let new = fresh[key] else { return true }
                return !old.isSame(as: new)
            }
            if let wrong {
                // It may be on its way: a deadline fired just now, or somebody else competes for the place.
                if attempt < Self.attemptLimit {
                    crowd.afterRealTime(milliseconds: 100) { [unowned self] in
                        check(screen, attempt: attempt + 1)
                        done()
                    }
                    return
                }
                let (here, there) = (shown[wrong], fresh[wrong])
                crowd.violated(
                    "P4/P5",
                    "\(screen.name) (\(screen.pattern), \(screen.view)) shows \(wrong) as \(text(here)), and it is \(text(there))"
                )
            }
            done()
        }
    }

    private func text(_ shown: Screen.Shown?) -> String {
        guard let shown else { return "nothing" }
        return "rev \(shown.rev) \(String(decoding: shown.text, as: UTF8.self))"
    }

    // MARK: What was acknowledged

    private func check(_ poster: any Poster) {
        let posts = poster.acknowledged
        guard !posts.isEmpty else { return }
        waiting += 1
        crowd.ask(["HELLO client=\(poster.source)"] + posts.map(\.line)) { lines in
            lines.count { $0.verb == "OK" || $0.verb == "ERR" } > posts.count
        } then: { [unowned self] lines in
            let answers = lines.filter { $0.verb == "OK" || $0.verb == "ERR" }.dropFirst()
            if answers.count != posts.count {
                crowd.violated("P1", "\(posts.count) retries of \(poster.source) have \(answers.count) answers")
            }
            for (post, answer) in zip(posts, answers) {
                if answer["verdict"] != "duplicate" {
                    crowd.violated(
                        "P1",
                        "\(poster.source) was acknowledged \(post.line), which is now \(answer["verdict"] ?? answer["code"] ?? "")"
                    )
                } else if answer.integer("rev") != post.rev {
                    crowd.violated("P6", "\(post.line) had rev \(post.rev), and now \(answer["rev"] ?? "")")
                }
            }
            done()
        }
    }

    // MARK: Histories

    private func checkHistories() {
        var sent: Set<String> = []
        var keys: Set<String> = []
        for case let poster as any Poster in crowd.clients {
            sent.formUnion(poster.sentIDs)
            for post in poster.acknowledged {
                let words = post.line.split(separator: " ", maxSplits: 2)
                if words.count > 1 { keys.insert(String(words[1])) }
            }
        }
        guard !keys.isEmpty else { return }
        let list = keys.sorted()
        waiting += 1
        crowd.ask(list.map { "HISTORY \($0)" }) { lines in
            lines.count { $0.verb == "OK" || $0.verb == "ERR" } >= list.count
        } then: { [unowned self] lines in
            var histories: [String: [ClientLine]] = [:]
            for line in lines where line.verb == "HIST" { histories[line["key"] ?? "", default: []].append(line) }
            for key in list { check(histories[key] ?? [], of: key, sent: sent) }
            done()
        }
    }

    private func check(_ lines: [ClientLine], of key: String, sent: Set<String>) {
        let records = lines.compactMap { HistoryRecord($0) }
        guard records.count == lines.count else { return crowd.violated("history", "\(key) has unreadable records") }
        var once: Set<String> = []
        for record in records {
            guard let id = record.id else { continue }
            if !sent.contains(id) { return crowd.violated("P1", "\(key) has \(id), which nobody sent") }
            if !once.insert(id).inserted { return crowd.violated("P6", "\(key) has \(id) twice") }
        }
        var reference = Reference(key: key, retention: nil)
        for record in records {
            if let fault = reference.take(record) {
                return crowd.violated("reference", "\(key) at record \(record.sequence): \(fault)")
            }
        }
    }

    // MARK: States

    private func checkStates() {
        let expected = crowd.player?.expectedStates ?? []
        let asked = crowd.scenario.expectations.states.map(\.key)
        let keys = asked.map { crowd.setting.tagged($0) } + expected.map(\.key)
        guard !keys.isEmpty else { return }
        waiting += 1
        crowd.ask(keys.map { "GET \($0)" }) { lines in
            lines.count { $0.verb == "OK" || $0.verb == "ERR" } >= keys.count
        } then: { [unowned self] lines in
            let answers = lines.filter { $0.verb == "OK" || $0.verb == "ERR" }.map { $0.tail?["state"]?.string }
            for (key, state) in zip(asked, answers) { states[key] = state }
            for (each, state) in zip(expected, answers.dropFirst(asked.count)) where state != each.state {
                crowd.violated(
                    "reference", "the data says \(each.state) of \(each.key), the daemon \(state ?? "nothing")")
            }
            done()
        }
    }
}
