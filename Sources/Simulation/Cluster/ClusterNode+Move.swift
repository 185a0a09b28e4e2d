import Hub
import Journal
import Replication
import Server
import TelltaleModel

// An operator's command on the machine of a node: it moves the history, with the node's folder.
extension ClusterNode {
    struct Mover {
        var move: HistoryMove
        let journal: InMemoryJournal
        /// The folder as it was, for a command that dies before it is changed.
        let before: InMemoryJournal.Contents
        /// It dies in the place of one more message or question than this; `nil` = it lives to its end.
        var stepsLeft: Int?
        var wake = 0
        let ended: (End) -> Void
    }

    enum End {
        case done, killed
        case refused(HistoryMove.Refusal)
    }

    /// - Parameter steps: It dies in the place of its next message or question, or of its last write.
    func move(_ direction: HistoryMove.Direction, dyingBehind steps: Int?, ended: @escaping (End) -> Void) {
        beginProcess()
        cluster.trace?(cluster.now, index, "moves \(copy.lastSequence) records: \(direction)")
        let journal = InMemoryJournal(copy.contents)
        do throws(HistoryMove.Refusal) {
            let move = try HistoryMove(
                direction, of: journal, cluster: SimulatedCluster.name, node: name, release: "1",
                instance: cluster.newEpoch(), wall: wall, at: monotonic)
            mover = Mover(move: move, journal: journal, before: copy.contents, stepsLeft: steps, ended: ended)
            performMove()
        } catch {
            leave()
            ended(.refused(error))
        }
    }

    func told(_ event: LogEvent) {
        mover?.move.take(event, at: monotonic)
        performMove()
    }

    private func performMove() {
        while let action = mover?.move.nextAction() {
            switch action {
            case .append(let bytes, let after, let token):
                guard lives() else { return }
                cluster.log.append(bytes, after: after, token: token, from: self)
            case .read(let from): cluster.log.read(from: from, for: self)
            case .beat(let beat):
                cluster.noteBeat(beat)
                cluster.log.beat(beat, from: self)
            case .ask(let request):
                guard lives() else { return }
                cluster.log.ask(request, from: self)
            case .progress: break
            case .warn(let text): cluster.trace?(cluster.now, index, "warns: \(text)")
            case .done: endMove(mover?.stepsLeft == nil ? .done : .killed)
            case .refuse(let refusal): endMove(.refused(refusal))
            }
        }
        guard let deadline = mover?.move.deadline, deadline < .distantFuture else { return }
        mover?.wake += 1
        let wake = mover?.wake
        schedule(after: max(1, deadline.milliseconds(since: monotonic).count)) { [self] in
            guard wake == mover?.wake else { return }
            mover?.move.tick(at: monotonic)
            performMove()
        }
    }

    private func lives() -> Bool {
        guard let left = mover?.stepsLeft else { return true }
        mover?.stepsLeft = left - 1
        if left == 0 { endMove(.killed) }
        return left > 0
    }

    private func endMove(_ end: End) {
        guard let mover = mover.take() else { return }
        var contents = mover.journal.contents
        if case .killed = end, mover.stepsLeft ?? -1 >= 0 { contents = mover.before }
        if case .done = end { contents = tampering.moved(contents, from: mover.before) }
        copy = LocalCopy(contents)
        leave()
        mover.ended(end)
    }

    /// A folder that left its log is served by one daemon for a while, which decides what is due.
    func serveAlone() throws {
        let configuration = cluster.configuration
        let hub = try ClusterRecovery.hub(of: copy.contents, configuration: configuration)
        var clock = HybridClock(wall: wall, lastRecord: hub.lastRecordTime, monotonic: monotonic)
        let time = clock.reading(wall: wall, monotonic: monotonic)
        let now = HubTime(time: time, wall: wall, monotonic: monotonic)
        var server = try Standby(hub).takeOver(
            beginningWith: [], settings: configuration.decisions, configuration: ServerConfiguration())
        server.turn(at: now)
        var records: [JournalRecord] = []
        while let action = server.nextAction(at: now) { if case .append(let part, _) = action { records += part } }
        guard !records.isEmpty else { return }
        cluster.trace?(cluster.now, index, "decides \(records.count) records by itself")
        let journal = InMemoryJournal(copy.contents)
        try journal.append(records)
        copy = LocalCopy(journal.contents)
        cluster.log.goOn(with: records)
    }
}

extension ClusterTampering {
    /// The folder as a command leaves it.
    func moved(_ contents: InMemoryJournal.Contents, from before: InMemoryJournal.Contents) -> InMemoryJournal.Contents
    {
        guard bug == .leftWithoutTail, contents.mark == nil else { return contents }
        var left = before
        (left.mark, left.formerMark) = (nil, contents.formerMark)
        return left
    }

    /// The folder as a command finds it that takes it into a log.
    func moving(_ contents: InMemoryJournal.Contents) -> InMemoryJournal.Contents {
        guard bug == .termsCountedAnew else { return contents }
        var moving = contents
        moving.formerMark = nil
        return moving
    }

    /// The direction of an interrupted restore that is run again.
    func again(_ direction: HistoryMove.Direction) -> HistoryMove.Direction {
        guard bug == .restoreBegunAnew, case .anew(let epoch) = direction else { return direction }
        return .intoLog(epoch: epoch)
    }
}
