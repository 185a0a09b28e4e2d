import Foundation
import Kinds
import Machines
import TelltaleModel
import TestSupport
import Testing

/// One activity, and the inputs of `activity.table` carried out on it.
struct ActivityScript {
    var activity: Activity?
    var settings = ActivitySettings()
    private var kind: Kind
    private var isEnabled = true
    private var counts = ActivityCounts()
    private var now: Timestamp = Self.zero
    /// The last input changed nothing.
    private(set) var isSame = true

    static let zero = Timestamp(milliseconds: 1_763_719_200_000)
    private static let accounts: [String: Int32] = ["alice": 1, "bob": 2, "carol": 3]

    init() throws {
        kind = try Self.kind("order")
    }

    /// `Protocols/Machines/activity-NAME.json`.
    static func kind(_ name: String) throws -> Kind {
        let file = "activity-\(name).json"
        let bytes = [UInt8](try Data(contentsOf: repositoryRoot.appending(path: "Protocols/Machines/\(file)")))
        let (kind, diagnostics) = KindSet.read(bytes, file: file)
        return try #require(kind, "\(diagnostics)")
    }

    /// Carries out inputs separated by semicolons, and returns the outcome of the last.
    mutating func run(_ inputs: String) throws -> String {
        var outcome = "-"
        for input in inputs.split(separator: ";") {
            let words = input.split(separator: " ").map(String.init)
            guard !words.isEmpty else { continue }
            let before = activity
            outcome = try perform(words)
            isSame = activity == before
        }
        return outcome
    }

    private mutating func perform(_ words: [String]) throws -> String {
        switch words[0] {
        case "kind": kind = try Self.kind(words[1])
        case "strict": settings.acceptsOldEnd = false
        case "disable": isEnabled = false
        case "nothing": break
        case "others": try addOthers(try #require(Int(words[1])), isPending: words[2] == "pending")
        case "until": return try advance(to: words[1])
        case "dismiss": return try apply(ActivityEvent(.dismissed(account: words[1])), accounts: [])
        case "seen":
            let rev = try #require(Int64(words[2]))
            return try apply(ActivityEvent(.seen(account: words[1], rev: rev)), accounts: [])
        default: return try takeEvent(words)
        }
        return "-"
    }

    private mutating func takeEvent(_ words: [String]) throws -> String {
        var event = ActivityEvent(type: words[0])
        var content: [(String, JSON)] = []
        var accounts: [String] = []
        for word in words.dropFirst() {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            let value = parts.count > 1 ? parts[1] : ""
            switch parts[0] {
            case "content": content.append(("note", .string(value)))
            case "shelf": content.append(("shelf", .string(value)))
            case "bytes": content.append(("fill", .string(Self.filler(try #require(Int(value))))))
            case "score": event.details.score = Double(value)
            case "for": accounts = value.split(separator: ",").map(String.init)
            case "alert": event.details.alert = ActivityAlert(title: "Alert", body: "")
            case "stale-date": event.details.staleDate = try Self.time(value)
            case "start-date": event.details.startDate = try Self.time(value)
            case "dismissal-date": event.details.dismissalDate = try Self.time(value)
            case "at": event.happenedAt = try Self.time(value)
            case "ver": event.version = Int64(value)
            case "broken":
                let refused = #expect(throws: ActivityRejection.self) {
                    try EventDetails(tail: #require(JSON(dictionaryLiteral: ("content-state", 7)).object))
                }
                return "refused \(Self.name(of: try #require(refused)))"
            default: Issue.record("the table says \(word), which nobody understands")
            }
        }
        if !content.isEmpty {
            var object = JSONObject()
            for (name, value) in content { object[name] = value }
            event.details.content = .object(object)
        }
        return try apply(event, accounts: accounts)
    }

    private mutating func apply(_ event: ActivityEvent, accounts: [String]) throws -> String {
        do throws(ActivityRejection) {
            if var existing = activity, !existing.isReplaced(by: event) {
                // Due timers fire first.
                _ = fire(&existing)
                activity = existing
                let outcome = try existing.apply(event, settings: settings, at: now)
                activity = existing
                return Self.text(outcome)
            }
            try counts.check(
                app: 1, accounts: accounts.compactMap { Self.accounts[$0] }, limits: ActivityLimits())
            guard let key = Key(kind: kind.name, id: "1"), case .activity(let definition) = kind.body else {
                return "no kind"
            }
            let (started, outcome) = try Activity.start(
                key: key, kind: definition, event: event, accounts: accounts, settings: settings, at: now)
            if let started { activity = started }
            return Self.text(outcome)
        } catch {
            return "refused \(Self.name(of: error))"
        }
    }

    private mutating func advance(to text: String) throws -> String {
        now = try Self.time(text)
        guard var existing = activity else { return "-" }
        let outcomes = fire(&existing)
        activity = existing
        return outcomes.isEmpty ? "-" : outcomes.map { Self.text($0) }.joined(separator: " + ")
    }

    private func fire(_ activity: inout Activity) -> [ActivityOutcome] {
        var outcomes: [ActivityOutcome] = []
        while let outcome = activity.deadlineReached(by: now, settings: settings, isEnabled: isEnabled) {
            outcomes.append(outcome)
        }
        return outcomes
    }

    private mutating func addOthers(_ count: Int, isPending: Bool) throws {
        for number in 0..<count {
            var event = ActivityEvent(type: "start")
            if isPending {
                event.details.startDate = now + .hours(1)
                event.details.alert = ActivityAlert(title: "", body: "")
            }
            guard case .activity(let definition) = kind.body else { continue }
            let key = try #require(Key(kind: "other", id: "\(isPending)-\(number)"))
            let (other, _) = try Activity.start(
                key: key, kind: definition, event: event, accounts: ["alice"], settings: settings, at: now)
            for account in try #require(other).occupiedAccounts {
                counts.add(app: 1, account: try #require(Self.accounts[account]))
            }
        }
    }

    // MARK: Facts

    /// Whether one fact of the last column holds.
    func expect(_ fact: String, _ row: TableFile.Row) throws {
        let parts = fact.split(separator: "=", maxSplits: 1).map(String.init)
        let value = parts.count > 1 ? parts[1] : ""
        let activity = try #require(activity)
        func person() throws -> (String, Int64) {
            let pair = value.split(separator: ":").map(String.init)
            return (pair[0], try #require(Int64(pair[1])))
        }
        switch parts[0] {
        case "same": #expect(isSame, "\(row)")
        case "alerting": #expect(activity.isAlerting, "\(row)")
        case "calm": #expect(!activity.isAlerting, "\(row)")
        case "withheld": #expect(activity.isWithheld, "\(row)")
        case "shown": #expect(!activity.isWithheld, "\(row)")
        case "room": #expect(activity.occupiedAccounts.count == Int(value), "\(row)")
        case "state": #expect(activity.statePath == value, "\(row)")
        case "progress": #expect(activity.progress == Double(value), "\(row)")
        case "note", "shelf":
            #expect(activity.content[parts[0]]?.string ?? "none" == value, "\(row)")
        case "score": #expect(activity.score == Double(value), "\(row)")
        case "startedAt": #expect(activity.startedAt == (try Self.time(value)), "\(row)")
        case "staleAt": #expect(activity.staleAt == (try Self.optionalTime(value)), "\(row)")
        case "endedAt": #expect(activity.endedAt == (try Self.optionalTime(value)), "\(row)")
        case "removeAt": #expect(activity.removeAt == (try Self.optionalTime(value)), "\(row)")
        case "hidden": #expect(!activity.isVisible(to: value), "\(row)")
        case "seenBy": #expect(activity.isVisible(to: value), "\(row)")
        case "spent": #expect(activity.isAlertSpent(rev: try person().1, for: try person().0), "\(row)")
        case "unspent": #expect(!activity.isAlertSpent(rev: try person().1, for: try person().0), "\(row)")
        default: Issue.record("the table says \(fact), which nobody understands")
        }
    }

    static func text(_ outcome: ActivityOutcome) -> String {
        var words = [outcome.verdict.rawValue]
        if outcome.effects.contains(.publish) { words.append("publish") }
        if outcome.effects.contains(.alert), let alert = outcome.alert {
            words.append("alert(\(alert.title)\(alert.body.isEmpty ? "" : ": " + alert.body))")
        }
        for milestone in outcome.milestones { words.append("milestone(\(milestone.state))") }
        if outcome.effects.contains(.retire) { words.append("retire") }
        if outcome.isOldEnd { words.append("old_end") }
        return words.joined(separator: " ")
    }

    private static func name(of rejection: ActivityRejection) -> String {
        switch rejection {
        case .notStarted: "notStarted"
        case .badTail: "badTail"
        case .alertMissing: "alertMissing"
        case .tooLarge: "tooLarge"
        case .machine: "machine"
        case .appLimit: "appLimit"
        case .accountLimit: "accountLimit"
        case .markLimit: "markLimit"
        }
    }

    /// A text with which attributes and content are `byteCount` bytes together, where there is nothing else.
    private static func filler(_ byteCount: Int) -> String {
        String(repeating: "x", count: byteCount - "{}".utf8.count - #"{"fill":""}"#.utf8.count)
    }

    private static func optionalTime(_ text: String) throws -> Timestamp? { text == "none" ? nil : try time(text) }

    /// `1h30m`, counted from the first input; `8h1ms`; `-1m`.
    static func time(_ text: String) throws -> Timestamp {
        let isNegative = text.hasPrefix("-")
        var total: Int64 = 0
        var number: Int64 = 0
        var unit = ""
        func add() throws {
            let factor: Int64 =
                switch unit {
                case "ms": 1
                case "s": 1000
                case "m": 60_000
                case "h": 3_600_000
                default: 0
                }
            try #require(factor > 0, "\(text) is no time")
            total += number * factor
        }
        for character in text.drop(while: { $0 == "-" }) {
            if let digit = character.wholeNumberValue {
                if !unit.isEmpty {
                    try add()
                    (number, unit) = (0, "")
                }
                number = number * 10 + Int64(digit)
            } else {
                unit.append(character)
            }
        }
        try add()
        return zero + Milliseconds(isNegative ? -total : total)
    }
}
