import ApplePush
import TelltaleModel
import TestSupport
import Testing

/// Executes Protocols/Machines/push-target.table.
struct PushTargetTableTests {
    static let start = Timestamp(milliseconds: 1_763_719_200_000)

    @Test func `every phase does for every input what its table says`() throws {
        let table = try TableFile("Machines/push-target.table")
        var cases: Set<String> = []
        for row in table.rows {
            cases.insert(row[0])
            var run = Run()
            let before = try #require(table.states[row[1]], "\(row)")
            for input in (before + "; " + row[2]).split(separator: ";") { run.give(String(input)) }
            #expect(run.phase == row[3], "\(row)")
            #expect(run.outcome == row[4], "\(row)")
        }
        for wanted in ["L4", "L27", "L28", "L30", "V25", "A2", "F4", "K2", "S1", "S2"] + (1...12).map({ "T\($0)" }) {
            #expect(cases.contains(wanted), "no row of \(wanted)")
        }
    }

    /// A target that takes the inputs of a row.
    private struct Run {
        var now = PushTargetTableTests.start
        var target = PushTarget(at: PushTargetTableTests.start)
        var actions: [PushTarget.Action] = []

        mutating func give(_ text: String) {
            let words = text.split(separator: " ").map(String.init)
            guard let verb = words.first else { return }
            switch verb {
            case "token": give(.registered(words[1]))
            case "change":
                let alert = words.firstIndex(of: "alert").flatMap { Int64(words[$0 + 1]) } ?? 0
                give(.changed(PushedState(rev: Int64(words[1]) ?? 0, isEnd: words.contains("end"), alert: alert)))
            case "start": target = PushTarget(.start, at: now)
            case "gone": give(.gone)
            case "history": give(.newHistory)
            case "alerts":
                for rev in 0..<(Int64(words[1]) ?? 0) {
                    now = now + .seconds(1)
                    give(.changed(PushedState(rev: 6 + rev, alert: 6 + rev)))
                    give(.answered(target.underWay?.number ?? 0, .accepted))
                }
                now = now + .seconds(1)
            case "dismiss": give(.dismissed)
            case "switch": give(.permissionChanged)
            case "restart": give(.restarted)
            case "until":
                now = Self.time(words[1])
                give(.woke)
            default: give(.answered(target.underWay?.number ?? 0, Self.answer(words)))
            }
        }

        private mutating func give(_ input: PushTarget.Input) {
            actions = target.decide(input, at: now)
            // The kept form is the whole value.
            #expect((try? PushTarget(encoded: target.encoded)) == target)
        }

        private static func answer(_ words: [String]) -> PushAnswerClass {
            switch words[1] {
            case "ok": PushAnswerClass(status: 200, reason: nil)
            case "410":
                PushAnswerClass(status: 410, reason: "Unregistered", timestamp: time(words[3]).milliseconds)
            case "bad": PushAnswerClass(status: 400, reason: "BadDeviceToken")
            case "429":
                PushAnswerClass(
                    status: 429, reason: "TooManyRequests", retryAfter: words.count > 2 ? Int64(words[2]) : nil)
            case "503": PushAnswerClass(status: 503, reason: "ServiceUnavailable")
            case "403": PushAnswerClass(status: 403, reason: "ExpiredProviderToken")
            case "unsent": .unsent
            case "400": PushAnswerClass(status: 400, reason: "BadTopic")
            default: .unknown
            }
        }

        static func time(_ text: String) -> Timestamp {
            let number = Int64(text.dropLast()) ?? 0
            switch text.last {
            case "m": return start + .minutes(number)
            case "h": return start + .hours(number)
            default: return start + .seconds(number)
            }
        }

        private static func text(_ time: Timestamp) -> String {
            let seconds = (time - start).count / 1_000
            return seconds != 0 && seconds % 60 == 0 ? "\(seconds / 60)m" : "\(seconds)s"
        }

        var phase: String {
            switch target.phase {
            case .absent: "absent"
            case .valid: target.underWay == nil ? "valid" : "sending"
            case .backingOff: "backing"
            case .dead: "dead"
            }
        }

        var outcome: String {
            switch actions.first {
            case nil: return "-"
            case .wake(let time): return "wake \(Self.text(time))"
            case .send(let attempt):
                var words = ["send", String(attempt.state.rev)]
                if attempt.role == .start { words.append("start") }
                if attempt.state.isEnd { words.append("end") }
                if attempt.alerts { words.append("alert") }
                words.append("p\(attempt.priority)")
                if attempt.isThrottled { words.append("throttled") }
                if attempt.token != "a" { words += ["to", attempt.token] }
                return words.joined(separator: " ")
            }
        }
    }
}
