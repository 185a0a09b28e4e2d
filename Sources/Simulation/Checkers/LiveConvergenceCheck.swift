import TelltaleModel

/// The checks of a crowd that has come to rest, against a daemon in another process and over its wire.
///
/// Each screen must show the rows that a new screen gets, every acknowledged event must still be known with its rev, and
/// the history of each order must follow the reference.
final class LiveConvergenceCheck {
    private unowned let crowd: Crowd
    private let onEnd: () -> Void
    private var waiting = 0
    /// The states of the keys that the scenario asks about, by the scenario's own names of them.
    private(set) var states: [String: String] = [:]

    private static let attemptLimit = 100

    init(_ crowd: Crowd, onEnd: @escaping () -> Void) {
        self.crowd = crowd
        self.onEnd = onEnd
    }

    func begin() {
        // Held until all checks have begun, so that one that ends at once does not end the whole.
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

    /// Asks, and judges the lines that came once `isDone` accepts them.
    private func ask(
        _ lines: [String], until isDone: @escaping ([ClientLine]) -> Bool, judge: @escaping ([ClientLine]) -> Void
    ) {
        waiting += 1
        crowd.ask(lines, until: isDone) { [unowned self] lines in
            judge(lines)
            done()
        }
    }

    private func askEach(_ lines: [String], judge: @escaping ([ClientLine]) -> Void) {
        ask(lines, until: { $0.count(where: \.isReply) >= lines.count }, judge: judge)
    }

    // MARK: Screens

    private func check(_ screen: Screen, attempt: Int) {
        ask(screen.introduction + ["SUB \(screen.pattern) view=\(screen.view) id=s"]) { lines in
            lines.last.map { $0.verb == "LIVE" || ($0.verb == "ERR" && $0["id"] == "s") } == true
                || lines.contains { $0.verb == "LIVE" }
        } judge: { [unowned self] lines in
            let fault = Verdicts.convergence(
                of: screen.table.filter { crowd.isOwn($0.key) },
                to: Verdicts.snapshot(in: lines, where: crowd.isOwn),
                client: "\(screen.name) (\(screen.pattern), \(screen.view))")
            guard let fault else { return }
            guard attempt < Self.attemptLimit else { return crowd.violated(fault) }
            // A row may still be on its way: a deadline may just have fired, or another run competes for the place.
            waiting += 1
            crowd.afterRealTime(milliseconds: 100) { [unowned self] in
                check(screen, attempt: attempt + 1)
                done()
            }
        }
    }

    // MARK: Acknowledged events

    private func check(_ poster: any Poster) {
        let posts = poster.acknowledged
        guard !posts.isEmpty else { return }
        askEach(["HELLO client=\(poster.source)"] + posts.map(\.line)) { [unowned self] lines in
            for fault in Verdicts.acknowledgement(of: posts, source: poster.source, in: lines) {
                crowd.violated(fault)
            }
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
        askEach(list.map { "HISTORY \($0)" }) { [unowned self] lines in
            var histories: [String: [ClientLine]] = [:]
            for line in lines where line.verb == "HIST" { histories[line["key"] ?? "", default: []].append(line) }
            for key in list {
                if let fault = Verdicts.history(histories[key] ?? [], of: key, sent: sent) { crowd.violated(fault) }
            }
        }
    }

    // MARK: States

    private func checkStates() {
        let expected = crowd.player?.expectedStates ?? []
        let asked = crowd.scenario.expectations.states.map(\.key)
        let keys = asked.map { crowd.setting.tagged($0) } + expected.map(\.key)
        guard !keys.isEmpty else { return }
        askEach(keys.map { "GET \($0)" }) { [unowned self] lines in
            let answers = lines.filter(\.isReply).map { $0.tail?["state"]?.string }
            for (key, state) in zip(asked, answers) { states[key] = state }
            for (each, state) in zip(expected, answers.dropFirst(asked.count)) where state != each.state {
                crowd.violated(
                    "reference", "the data says \(each.state) of \(each.key), the daemon \(state ?? "nothing")")
            }
        }
    }
}
