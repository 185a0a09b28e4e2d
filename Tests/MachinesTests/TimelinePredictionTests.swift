import Foundation
import Kinds
import Machines
import TelltaleModel
import TestSupport
import Testing

/// The future of an activity (W19, W20): what is foreseen is what comes, until an event overtakes it.
struct TimelinePredictionTests {
    /// Random machines, or the 100,000 of `FORESIGHT_MACHINES=100000 swift test --filter TimelinePredictionTests`.
    static let machineCount = ProcessInfo.processInfo.environment["FORESIGHT_MACHINES"].flatMap { UInt64($0) } ?? 300

    @Test func `what random machines will do is foreseen, until an event changes it`() throws {
        var (momentCount, goesOnCount, sameCount) = (0, 0, 0)
        // The last one is an update that sets the stale date to where it was, by another state's time.
        for seed in Array(0..<Self.machineCount) + [39_056] {
            guard var life = try RandomLife(seed: seed) else { continue }
            for _ in 0..<6 {
                let future = life.activity.future(at: life.now, settings: life.settings)
                momentCount += future.moments.count
                goesOnCount += future.continuesAt == nil ? 0 : 1
                if let more = future.continuesAt { #expect(more > life.now, "seed \(seed)") }
                if let fault = life.fault(of: future) { Issue.record("seed \(seed): \(fault)") }
                if try life.step(seed: seed) { sameCount += 1 }
            }
        }
        // A generator that stopped generating something would prove nothing about it.
        #expect(momentCount > 10 * Int(Self.machineCount))
        #expect(goesOnCount > Int(Self.machineCount) / 10)
        #expect(sameCount > Int(Self.machineCount) / 2)
    }

    @Test func `at most sixteen deadlines are foreseen, and it is known when there is more`() throws {
        let kind = try RandomLife.kind(
            """
            {"initial":"a","states":{"a":{"after":{"1s":"b"}},"b":{"after":{"1s":"a"}}}}
            """)
        let activity = try RandomLife.start(kind)
        let future = activity.future(at: RandomLife.zero, settings: ActivitySettings())
        #expect(future.moments.map { ($0.date - RandomLife.zero).count / 1_000 } == (0...16).map { $0 })
        #expect(future.continuesAt == RandomLife.zero + .seconds(17))
    }

    @Test func `a deadline farther ahead than a day is foreseen a day before`() throws {
        let kind = try RandomLife.kind(#"{"initial":"a","states":{"a":{"title":"A"}}}"#, #","maxActive":"40h""#)
        let activity = try RandomLife.start(kind)
        var future = activity.future(at: RandomLife.zero, settings: ActivitySettings())
        #expect(future.moments.count == 1 && future.continuesAt == RandomLife.zero + .hours(16))
        future = activity.future(at: RandomLife.zero + .hours(16), settings: ActivitySettings())
        #expect(future.moments.count == 2 && future.continuesAt == RandomLife.zero + .hours(20))
        future = activity.future(at: RandomLife.zero + .hours(20), settings: ActivitySettings())
        #expect(future.moments.count == 3 && future.continuesAt == nil)
        #expect(future.moments.last?.content == .nothing)
    }

    @Test func `several changes at one date are one moment`() throws {
        let kind = try RandomLife.kind(
            """
            {"initial":"a","states":{"a":{"after":{"5m":"b"}},"b":{"after":{"0s":"c"}},"c":{"type":"final"}}}
            """, #","stale":"5m","dismiss":"0s""#)
        let activity = try RandomLife.start(kind)
        let future = activity.future(at: RandomLife.zero, settings: ActivitySettings())
        #expect(future.moments.count == 2 && future.continuesAt == nil)
        #expect(future.moments.last == WidgetMoment(date: RandomLife.zero + .minutes(5), content: .nothing))
    }
}

/// One activity of a machine made of random numbers: timers, delayed events, stale times and final states.
private struct RandomLife {
    static let zero = Timestamp(milliseconds: 1_763_719_200_000)
    private static let events = ["e0", "e1", "e2"]

    let settings = ActivitySettings()
    private(set) var activity: Activity
    private(set) var now = zero
    private var random: SeededGenerator

    /// - Returns: `nil` for a machine that does not start.
    init?(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        let kind = try Self.kind(Self.machine(&random), Self.options(&random))
        var event = ActivityEvent(type: "start")
        if random.chance(15) {
            event.details.startDate = now + .minutes(Int64(random.below(90)))
            event.details.alert = ActivityAlert(title: "Start", body: "")
        }
        if random.chance(15) { event.details.staleDate = now + .minutes(Int64(random.below(60)) - 5) }
        guard let started = try? Self.start(kind, event) else { return nil }
        activity = started
    }

    static func kind(_ machine: String, _ options: String = "") throws -> ActivityKind {
        let text = """
            {"kind":"k","type":"activity","version":1,"app":"a"\(options),"machine":\(machine),
             "views":{"compact":{"leading":{"symbol":"x"},"trailing":{"text":"{{state.title}}"}},
              "minimal":{"symbol":"x"},"lockScreen":{"title":"{{state.title}}"},"expanded":{"center":{"title":"x"}}}}
            """
        let (kind, diagnostics) = Kind.read(try JSONParser.parse(text), file: "k.json")
        guard case .activity(let activity)? = kind?.body else {
            throw Unreadable(text: "\(diagnostics) in \(text)")
        }
        return activity
    }

    private struct Unreadable: Error { var text: String }

    static func start(_ kind: ActivityKind, _ event: ActivityEvent = ActivityEvent(type: "start")) throws -> Activity {
        let (activity, _) = try Activity.start(
            key: try #require(Key("k/1")), kind: kind, event: event, accounts: [], settings: ActivitySettings(),
            at: zero)
        return try #require(activity)
    }

    private static func options(_ random: inout SeededGenerator) -> String {
        var options = ""
        if random.chance(50) { options += #","stale":"\#(1 + random.below(20))m""# }
        if random.chance(50) { options += #","dismiss":"\#(random.below(30))m""# }
        if random.chance(30) { options += #","maxActive":"\#(10 + random.below(2_000))m""# }
        return options
    }

    private static func machine(_ random: inout SeededGenerator) -> String {
        let count = 2 + random.below(4)
        func target(_ random: inout SeededGenerator) -> String { "s\(random.below(count))" }
        var states: [String] = []
        for index in 0..<count {
            var members = [#""title":"{{content.n | default:\"T\#(random.below(3))\"}}""#]
            if index > 0, random.chance(20) {
                members.append(#""type":"final""#)
                if random.chance(50) { members.append(#""dismiss":"\#(random.below(40))m""#) }
                states.append(#""s\#(index)":{\#(members.joined(separator: ","))}"#)
                continue
            }
            if random.chance(40) { members.append(#""progress":0.\#(random.below(10))"#) }
            if random.chance(30) { members.append(#""stale":"\#(1 + random.below(15))m""#) }
            if random.chance(70) {
                members.append(#""after":{"\#(random.below(600))s":"\#(target(&random))"}"#)
            }
            let on = events.filter { _ in random.chance(50) }.map { event in
                switch random.below(3) {
                case 0:
                    #""\#(event)":{"target":"\#(target(&random))","reenter":true,"actions":[{"assign":{"n":\#(random.below(3))}}]}"#
                case 1: #""\#(event)":{"actions":[{"send":"e1","delay":"\#(1 + random.below(300))s"}]}"#
                default: #""\#(event)":"\#(target(&random))""#
                }
            }
            if !on.isEmpty { members.append(#""on":{\#(on.joined(separator: ","))}"#) }
            if random.chance(20) { members.append(#""entry":[{"send":"e0","delay":"\#(1 + random.below(400))s"}]"#) }
            if random.chance(15) { members.append(#""defer":["\#(events[Int(random.below(3))])"]"#) }
            states.append(#""s\#(index)":{\#(members.joined(separator: ","))}"#)
        }
        return #"{"initial":"s0","states":{\#(states.joined(separator: ","))}}"#
    }

    /// The fault of a future, if it has one: at each moment of it, and between, an activity without events looks so.
    mutating func fault(of future: WidgetFuture) -> String? {
        for (moment, next) in zip(future.moments, future.moments.dropFirst()) where moment.date >= next.date {
            return "\(next.date) is behind \(moment.date)"
        }
        guard let first = future.moments.first, first.date <= now else { return "nothing is drawn now" }
        let end = future.continuesAt ?? now + .hours(24)
        var dates = future.moments.map { max($0.date, now) }
        for _ in 0..<8 { dates.append(now + Milliseconds(Int64(random.below(UInt64(max(1, (end - now).count)))))) }
        var copy = activity
        for date in dates.sorted() where date < end || future.continuesAt == nil {
            while copy.deadlineReached(by: date, settings: settings) != nil {}
            let due = copy.future(at: date, settings: settings).moments[0]
            guard let foreseen = future.moments.last(where: { $0.date <= date }) else { return "nothing at \(date)" }
            if foreseen.content != due.content || foreseen.isStale != due.isStale {
                return "at \((date - now).count) ms it is \(due), and \(foreseen) was foreseen"
            }
        }
        return nil
    }

    /// Time passes, and an event comes.
    ///
    /// - Returns: Whether it changed nothing of the future.
    mutating func step(seed: UInt64) throws -> Bool {
        now = now + .seconds(Int64(random.below(700)))
        while activity.deadlineReached(by: now, settings: settings) != nil {}
        let (before, former) = (activity.future(at: now, settings: settings), activity)
        var event = ActivityEvent(type: random.chance(15) ? "update" : Self.events[Int(random.below(3))])
        if random.chance(10) { event = ActivityEvent(type: "end") }
        if random.chance(10) { event.details.staleDate = now + .seconds(Int64(random.below(900)) - 60) }
        guard let outcome = try? activity.apply(event, settings: settings, at: now) else { return false }
        guard !outcome.effects.contains(.publish), activity.hasFuture(of: former) else { return false }
        if activity.future(at: now, settings: settings) != before {
            Issue.record(
                "seed \(seed): \(event.change) is \(outcome.verdict) and changes the future, and no row: \(before), \(activity.future(at: now, settings: settings))"
            )
        }
        return true
    }
}
