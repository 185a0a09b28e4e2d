import Journal
import Replication
import TelltaleModel

/// An operator's move, performed over a log in memory.
final class HistoryMover {
    var move: HistoryMove
    let log: InMemoryLogNode
    var now = MonotonicTime(milliseconds: 0)
    private(set) var refusal: HistoryMove.Refusal?
    private(set) var isDone = false
    private(set) var progress: [Int64] = []
    /// It dies behind so many messages.
    var appendsLeft = Int.max
    /// Or behind so many questions about checkpoints.
    var asksLeft = Int.max
    /// It lives on, and the log store answers those no more.
    var ignoresAsks = false

    init(
        _ direction: HistoryMove.Direction, _ journal: InMemoryJournal, _ log: InMemoryLog, node: String = "n1",
        instance: UInt64 = 7
    ) throws(HistoryMove.Refusal) {
        move = try HistoryMove(
            direction, of: journal, cluster: "shop", node: node, release: "1", instance: instance,
            wall: Timestamp(milliseconds: 5_000), at: now)
        self.log = log.node()
        self.log.onEvent = { [unowned self] in
            move.performAction($0, at: now)
            perform()
        }
    }

    private func perform() {
        while let action = move.nextAction() {
            switch action {
            case .append(let bytes, let after, let token):
                appendsLeft -= 1
                if appendsLeft >= 0 { log.append(bytes, after: after, token: token) }
            case .read(let from): log.read(from: from)
            case .heartbeat(let heartbeat): log.heartbeat(heartbeat)
            case .ask(let request):
                asksLeft -= 1
                if asksLeft >= 0 { log.queryServers(request) }
                if ignoresAsks { asksLeft = max(0, asksLeft) }
            case .progress(let done, _): progress.append(done)
            case .warn: break
            case .done: isDone = true
            case .refuse(let refusal): self.refusal = refusal
            }
        }
    }

    func step() {
        perform()
        log.deliver()
    }

    var isOver: Bool { isDone || refusal != nil || appendsLeft < 0 || asksLeft < 0 }

    /// Lets time go by, in steps of 100 ms, until the move is over.
    func run() {
        perform()
        for _ in 0..<400 where !isOver {
            log.deliver()
            now = now + Milliseconds(100)
            move.tick(at: now)
            perform()
        }
    }
}
