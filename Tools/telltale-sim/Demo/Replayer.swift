import Foundation
package import Recordings
package import TelltaleClient
package import TelltaleEventLoop
package import TelltaleModel
package import TelltaleWire
package import ToolSupport

/// Posts a plan's events when they are due, and counts their verdicts.
///
/// A lost connection is opened again, and the unanswered events are posted again with the same ids.
package final class Replayer {
    package enum Event {
        /// Of the plan's posts, the one of this index was handed to its connection.
        case posted(Int)
        case answered(Int, ServerLine)
        case connected(ServerGreeting)
        /// Everything was answered, and the ends were looked at where that was wanted.
        case finished
    }

    /// Events that wait for their answers at a time: as many as a server reads ahead, twice, so that it never waits.
    private static let windowCount = 2048
    /// How long a daemon that went away is waited for.
    private static let absenceLimit = Milliseconds.seconds(60)

    package let plan: ReplayPlan
    private let speed: ReplaySpeed
    private let roughness: ReplayFaults?
    private let isChecked: Bool
    private let link: ToolClient
    private let loop: EventLoop
    private let onEvent: (Event) -> Void
    private var producers: [Producer] = []
    private var pace: TimerHandle?
    private var absence: TimerHandle?
    private var startedAt: Int64
    private var finishedAt: Int64?

    package private(set) var tally = ReplayTally()
    private var check: OutcomeCheck?
    private var checks: [RequestID: Int] = [:]
    private var hasLooked = false
    package private(set) var connectionFailure: String?
    /// The state of each case at the end, as the daemon returned it.
    package private(set) var states: [String: String] = [:]
    /// Up to which time of the trace everything was posted.
    package private(set) var reached = Milliseconds.zero

    /// One connection of the order system.
    private final class Producer {
        var client: Client?
        /// The plan's posts that this connection makes, in their order.
        var posts: [Int] = []
        var next = 0
        var again: [Int] = []
        var repeats: [Int] = []
        var waiting: [RequestID: Waiting] = [:]
        var wasReady = false
        /// Cut on purpose.
        var isCut = false

        struct Waiting {
            var post: Int
            var isRepeat: Bool
        }

        var isDone: Bool { !isCut && next == posts.count && again.isEmpty && repeats.isEmpty && waiting.isEmpty }
    }

    /// - Parameters:
    ///   - roughness: How to misbehave; nothing is paced then.
    ///   - isChecked: Whether each case's end is compared with the data's when all is posted.
    package init(
        _ plan: ReplayPlan, speed: ReplaySpeed, roughness: ReplayFaults? = nil, isChecked: Bool, link: ToolClient,
        on loop: EventLoop, onEvent: @escaping (Event) -> Void
    ) throws {
        self.plan = roughness?.mix(plan) ?? plan
        self.speed = speed
        self.roughness = roughness
        self.isChecked = isChecked
        self.link = link
        self.loop = loop
        self.onEvent = onEvent
        startedAt = loop.monotonicMilliseconds
        assignPosts()
        pace = try TimerHandle(on: loop) { [weak self] _ in self?.post() }
        absence = try TimerHandle(on: loop) { [weak self] _ in self?.finish() }
    }

    package func start() throws {
        startedAt = loop.monotonicMilliseconds
        for producer in producers { try connect(producer) }
    }

    package func end() {
        pace?.cancel()
        absence?.cancel()
        for producer in producers {
            producer.client?.close()
            producer.client = nil
        }
    }

    /// The part of the events that is answered, 0 to 1.
    package var fraction: Double { plan.posts.isEmpty ? 1 : Double(tally.answered) / Double(plan.posts.count) }

    package var summary: ReplaySummary {
        let elapsed = (finishedAt ?? loop.monotonicMilliseconds) - startedAt
        return ReplaySummary(plan: plan, tally: tally, elapsed: Milliseconds(elapsed), check: check)
    }

    private func assignPosts() {
        producers = (0..<max(1, roughness?.connectionCount ?? 1)).map { _ in Producer() }
        var connections: [Key: Int] = [:]
        for (index, each) in plan.cases.enumerated() {
            connections[each.key] = roughness?.connection(ofCase: index) ?? 0
        }
        for (index, post) in plan.posts.enumerated() {
            producers[connections[post.command.key] ?? 0].posts.append(index)
        }
    }

    private func connect(_ producer: Producer) throws {
        var configuration = ClientConfiguration(name: "telltale-sim", eventIDPrefix: "sim")
        configuration.keepsRows = false
        configuration.backoff.longest = DemoScreen.longestPause
        producer.client = try Client(to: link.endpoint, configuration: configuration.through(link), on: loop) {
            [weak self, weak producer] _, event in
            if let producer { self?.heard(event, producer) }
        }
        producer.client?.start()
    }

    // MARK: Posting

    private func post() {
        for producer in producers { post(producer) }
        let isDone = producers.allSatisfy(\.isDone)
        if isDone { isChecked && !hasLooked ? checkAnswers() : checks.isEmpty ? finish() : () }
    }

    /// Posts the events that are due, as far as the window allows.
    private func post(_ producer: Producer) {
        guard let client = producer.client, producer.wasReady, !producer.isCut else { return }
        func send(_ index: Int, isRepeat: Bool) {
            let id = client.post(plan.posts[index].command)
            producer.waiting[id] = Producer.Waiting(post: index, isRepeat: isRepeat)
        }
        while producer.waiting.count < Self.windowCount {
            if !producer.again.isEmpty {
                send(producer.again.removeFirst(), isRepeat: false)
            } else if let index = producer.repeats.popLast() {
                send(index, isRepeat: true)
            } else if producer.next < producer.posts.count {
                let index = producer.posts[producer.next]
                let elapsed = Milliseconds(loop.monotonicMilliseconds - startedAt)
                let delay = speed.delay(until: plan.posts[index].due)
                guard delay <= elapsed else {
                    pace?.schedule(afterMilliseconds: delay.count - elapsed.count)
                    return
                }
                producer.next += 1
                reached = max(reached, plan.posts[index].due)
                onEvent(.posted(index))
                send(index, isRepeat: false)
            } else {
                return
            }
        }
    }

    private func heard(_ event: ClientEvent, _ producer: Producer) {
        switch event {
        case .ready(let greeting, _):
            onEvent(.connected(greeting))
            absence?.cancel()
            connectionFailure = nil
            producer.wasReady = true
            post()
        case .reply(let id, let reply):
            if let index = checks.removeValue(forKey: id) {
                looked(index, reply)
            } else if let waiting = producer.waiting.removeValue(forKey: id) {
                answered(waiting, reply.line, producer)
                // Refilled by halves: one write for many events.
                if producer.waiting.count <= Self.windowCount / 2 { post() }
            }
        case .lost(let id):
            guard let waiting = producer.waiting.removeValue(forKey: id) else { return }
            if producer.wasReady, connectionFailure == nil {
                tally.willRetry()
                if waiting.isRepeat {
                    producer.repeats.append(waiting.post)
                } else {
                    producer.again.append(waiting.post)
                }
                return
            }
            let command = plan.posts[waiting.post].command
            tally.refused("lost", key: command.key, event: command.type, message: "the connection went away")
        case .refused(let reason, _):
            connectionFailure = reason
            finish()
        case .disconnected where !producer.wasReady && producer.client?.hasAskedAll == false: break
        case .disconnected(let reason, let retryAfter):
            if producer.isCut { return comeBack(producer) }
            connectionFailure = reason
            if retryAfter == nil || !producer.wasReady {
                finish()
            } else if absence?.isScheduled == false {
                absence?.schedule(afterMilliseconds: Self.absenceLimit.count)
            }
        case .violation(let text): complain("the daemon broke the protocol: \(text)")
        case .item, .restarted, .subscription, .traitsRefused, .serviceRefused, .action, .farewell: break
        }
    }

    private func answered(_ waiting: Producer.Waiting, _ line: ServerLine, _ producer: Producer) {
        let command = plan.posts[waiting.post].command
        let verdict = line["verdict"] ?? "applied"
        if line.verb == "OK", waiting.isRepeat, verdict != Verdict.duplicate.rawValue {
            tally.refused(verdict, key: command.key, event: command.type, message: "posted twice, and taken twice")
        } else if line.verb == "OK" {
            tally.accepted(verdict)
        } else {
            tally.refused(
                line["code"] ?? "unknown", key: command.key, event: command.type, message: line.message ?? "")
        }
        if let roughness, !waiting.isRepeat {
            if let other = roughness.repetition(ofPost: waiting.post) {
                tally.willRepeat()
                producers[other].repeats.append(waiting.post)
            }
            cutIfDue(roughness)
        }
        onEvent(.answered(waiting.post, line))
    }

    // MARK: Cutting connections

    private func cutIfDue(_ roughness: ReplayFaults) {
        guard tally.cuts < roughness.cutCount else { return }
        let cut = roughness.cut(tally.cuts, ofPosts: plan.posts.count)
        let producer = producers[cut.connection]
        guard tally.answered >= cut.afterAnswers, producer.wasReady, !producer.isCut else { return }
        tally.wasCut()
        producer.isCut = true
        producer.client?.close()
    }

    /// The unanswered events are reported as lost right after this, and are posted again before all others.
    private func comeBack(_ producer: Producer) {
        producer.isCut = false
        producer.wasReady = true
        do {
            try connect(producer)
        } catch {
            connectionFailure = "\(error)"
            finish()
        }
    }

    // MARK: The end

    /// Asks for every case with `GET`, which returns dismissed activities too. No list has them any more.
    private func checkAnswers() {
        guard let client = producers.first?.client else { return finish() }
        hasLooked = true
        check = OutcomeCheck()
        for (index, each) in plan.cases.enumerated() {
            checks[client.request(.get(each.key, view: .full))] = index
        }
        if checks.isEmpty { finish() }
    }

    private func looked(_ index: Int, _ reply: Reply) {
        let each = plan.cases[index]
        let state = reply.isOK ? reply.line.tail?["state"]?.string : nil
        states[each.key.text] = state
        check?.compare(each.key, expected: each.expectedState, found: [("the daemon", state)])
        if checks.isEmpty { finish() }
    }

    private func finish() {
        guard finishedAt == nil else { return }
        finishedAt = loop.monotonicMilliseconds
        onEvent(.finished)
    }
}
