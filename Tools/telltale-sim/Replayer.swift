import Client
import EventLoop
import Foundation
import Model
import Simulation
import Wire

/// Posts a plan's events when they are due, and counts what the daemon makes of them.
///
/// A lost connection is made again, and what was not answered is posted again, with the same ids.
final class Replayer {
    struct Outcome {
        var summary: ReplaySummary
        /// Why there was no daemon, or is none any more.
        var connectionFailure: String?
    }

    /// Events that wait for their answers at a time: as many as a server reads ahead, twice, so that it never waits.
    private static let windowCount = 2048
    /// How long a daemon that went away is waited for.
    private static let absenceLimit = Milliseconds.seconds(60)

    private let plan: ReplayPlan
    private let speed: ReplaySpeed
    private let loop: EventLoop
    private var client: Client?
    private var pace: TimerHandle?
    private var absence: TimerHandle?
    private let startedAt: Int64

    private var next = 0
    private var waiting: [RequestID: Int] = [:]
    private var tally = ReplayTally()
    private var wasReady = false
    private var connectionFailure: String?

    static func run(_ plan: ReplayPlan, speed: ReplaySpeed, endpoint: Endpoint) throws -> Outcome {
        let loop = try EventLoop()
        defer { loop.shutDown() }
        let replayer = Replayer(plan, speed: speed, loop: loop)
        try replayer.begin(endpoint)
        defer { replayer.end() }
        let progress = try ReplayProgress(on: loop) { [unowned replayer] in replayer.progressText }
        loop.run()
        progress.clear()
        let elapsed = Milliseconds(loop.monotonicMilliseconds - replayer.startedAt)
        return Outcome(
            summary: ReplaySummary(plan: plan, tally: replayer.tally, elapsed: elapsed),
            connectionFailure: replayer.connectionFailure)
    }

    private init(_ plan: ReplayPlan, speed: ReplaySpeed, loop: EventLoop) {
        self.plan = plan
        self.speed = speed
        self.loop = loop
        startedAt = loop.monotonicMilliseconds
    }

    private func begin(_ endpoint: Endpoint) throws {
        var configuration = ClientConfiguration(name: "telltale-sim", eventIDPrefix: "sim")
        configuration.keepsRows = false
        pace = try TimerHandle(on: loop) { [weak self] _ in self?.post() }
        absence = try TimerHandle(on: loop) { [weak self] _ in self?.loop.stop() }
        client = try Client(to: endpoint, configuration: configuration, on: loop) { [weak self] _, event in
            self?.heard(event)
        }
        client?.start()
    }

    private func end() {
        pace?.cancel()
        absence?.cancel()
        client?.close()
        client = nil
    }

    /// Posts what is due, as far as the window goes.
    private func post() {
        guard let client, wasReady else { return }
        let elapsed = Milliseconds(loop.monotonicMilliseconds - startedAt)
        while next < plan.posts.count, waiting.count < Self.windowCount {
            let post = plan.posts[next]
            let delay = speed.delay(until: post.due)
            guard delay <= elapsed else {
                pace?.schedule(afterMilliseconds: delay.count - elapsed.count)
                break
            }
            waiting[client.post(post.command)] = next
            next += 1
        }
        if next == plan.posts.count, waiting.isEmpty { loop.stop() }
    }

    private func heard(_ event: ClientEvent) {
        switch event {
        case .ready:
            absence?.cancel()
            connectionFailure = nil
            wasReady = true
            post()
        case .reply(let id, let reply):
            guard let index = waiting.removeValue(forKey: id) else { return }
            answered(index, reply.line)
            // Refilled by halves: one write for many events.
            if waiting.count <= Self.windowCount / 2 { post() }
        case .lost(let id):
            guard let index = waiting.removeValue(forKey: id) else { return }
            let command = plan.posts[index].command
            tally.refused("lost", key: command.key, event: command.type, message: "the connection went away")
        case .refused(let reason, _):
            connectionFailure = reason
            loop.stop()
        case .disconnected(let reason, let retryAfter):
            connectionFailure = reason
            if retryAfter == nil || !wasReady {
                loop.stop()
            } else if absence?.isScheduled == false {
                absence?.schedule(afterMilliseconds: Self.absenceLimit.count)
            }
        case .violation(let text): complain("the daemon broke the protocol: \(text)")
        case .item, .restarted, .subscription, .action, .farewell: break
        }
    }

    private func answered(_ index: Int, _ line: ServerLine) {
        if line.verb == "OK" {
            tally.accepted(line["verdict"] ?? "applied")
        } else {
            let command = plan.posts[index].command
            tally.refused(
                line["code"] ?? "unknown", key: command.key, event: command.type, message: line.message ?? "")
        }
    }

    /// Where the replay is, in the trace's own calendar.
    private var progressText: String {
        let count = plan.posts.count
        let due = next > 0 ? plan.posts[next - 1].due : .zero
        let date = Date(timeIntervalSince1970: Double((plan.start + due).milliseconds) / 1000)
        let width = 24
        let filled = count == 0 ? width : tally.answered * width / count
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        let rate = ReplaySummary(
            plan: plan, tally: tally, elapsed: Milliseconds(loop.monotonicMilliseconds - startedAt)
        ).eventsPerSecond
        let absent = connectionFailure == nil ? "" : "  waiting for the daemon"
        return "\(bar) \(tally.answered)/\(count) events  \(date.ISO8601Format().prefix(10))  \(rate)/s\(absent)"
    }
}
