import Journal
import Replication
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

/// Performs a ``Replication/HistoryMove`` for a command: on the log store, the folder and the loop. It decides nothing.
final class ClusterMover {
    private let loop: EventLoop
    private let log: any ReplicatedLog
    private var move: HistoryMove
    private var timer: TimerHandle?
    private let progress: JournalProgress
    private var result: Result<Void, HistoryMove.Refusal>?
    private var isPerforming = false

    private init(
        _ direction: HistoryMove.Direction, of journal: any Journal, _ options: LogStorePlace,
        _ progress: JournalProgress
    ) throws {
        var generator = SystemRandomNumberGenerator()
        move = try HistoryMove(
            direction, of: journal, cluster: options.cluster, node: options.node, release: Release.version,
            instance: generator.next(), wall: .ofThisMachine, at: Self.now)
        loop = try EventLoop()
        // If the epochs differ, the move reports that in its own words.
        log = try options.open(epoch: nil, on: loop)
        self.progress = progress
    }

    /// Moves, and waits for the end.
    static func run(
        _ direction: HistoryMove.Direction, of journal: any Journal, _ options: LogStorePlace,
        _ progress: JournalProgress
    ) throws {
        let mover = try ClusterMover(direction, of: journal, options, progress)
        mover.timer = try TimerHandle(on: mover.loop) { [unowned mover] _ in mover.tick() }
        mover.log.onEvent = { [unowned mover] event in
            mover.move.performAction(event, at: now)
            mover.perform()
        }
        mover.perform()
        if mover.result == nil { _ = mover.loop.run() }
        mover.timer = nil
        mover.log.close()
        progress.end()
        try mover.result?.get()
    }

    private static var now: MonotonicTime { MonotonicTime(nanoseconds: EventLoop.monotonicNanoseconds()) }

    private func tick() {
        move.tick(at: Self.now)
        perform()
    }

    private func perform() {
        guard !isPerforming else { return }
        isPerforming = true
        while result == nil, let action = move.nextAction() { perform(action) }
        isPerforming = false
        guard result == nil else { return loop.stop() }
        let wait = move.deadline.milliseconds(since: Self.now).count
        timer?.schedule(afterMilliseconds: min(max(0, wait), 60_000) + 1)
    }

    private func perform(_ action: HistoryMove.Action) {
        switch action {
        case .append(let bytes, let after, let token): log.append(bytes, after: after, token: token)
        case .read(let from): log.read(from: from)
        case .heartbeat(let beat): log.heartbeat(beat)
        case .ask(let request): log.queryServers(request)
        case .progress(let done, let all): progress.show(done, of: all)
        case .warn(let text):
            progress.end()
            complain("telltale: \(text)")
        case .done: result = .success(())
        case .refuse(let refusal): result = .failure(refusal)
        }
    }
}
