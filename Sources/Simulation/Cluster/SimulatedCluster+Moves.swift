import Journal
import Replication

// An operator moves the history into another log while no node runs: out of the log into one folder and into a log that is empty,
// under the same epoch; or, as behind a loss of the engine, from the most advanced folder, under another one.
extension SimulatedCluster {
    /// A command of an operator: with the folder of a node, in a direction, and the step that follows.
    struct Move {
        let node: ClusterNode
        /// Each run of a restore draws an epoch of its own.
        let direction: (_ random: inout SimulationRandom) -> HistoryMove.Direction
        let then: () -> Void
    }

    /// Every node stops, the command runs, maybe several times, and every node starts.
    func moveHistory() {
        guard !checks.hasEngineBug, log.epoch != nil else { return }
        isMoving = true
        trace?(now, -1, "every node stops: the history moves")
        for node in nodes where node.isUp { node.kill(losing: random.chance(300) ? random.below(8) : 0) }
        log.mend()
        schedule(after: random.pick(500...3_000)) { [self] in beginMove() }
    }

    private var mostAdvanced: ClusterNode? {
        nodes.filter { $0.copy.epoch == log.epoch && !$0.isOutdated }.max {
            $0.copy.lastSequence < $1.copy.lastSequence
        }
    }

    private func beginMove() {
        guard let most = mostAdvanced else { return endMove() }
        guard random.chance(500), most.copy.lastSequence == log.records.count else {
            let node = nodes[random.below(nodes.count)]
            return leave(node.copy.epoch == log.epoch ? node : most)
        }
        log.beginAnew(behind: most.copy.reader.term)
        run(Move(node: most, direction: { .anew(epoch: $0.next()) }) { [self] in restored(most) })
    }

    private func leave(_ node: ClusterNode) {
        let move = Move(node: node, direction: { _ in .outOfLog }) { [self] in
            checks.left(node, self)
            do {
                if random.chance(500) { try node.serveAlone() }
            } catch {
                violated("P9", "the folder of \(node.name) does not recover: \(error)")
            }
            log.beginAnew(behind: log.reader.term)
            node.copy = LocalCopy(node.tampering.moving(node.copy.contents))
            let epoch = node.copy.contents.epoch
            run(Move(node: node, direction: { _ in .intoLog(epoch: epoch) }) { [self] in moved(node) })
        }
        run(move)
    }

    /// Runs it, kills it in the middle at times, and runs it again.
    private func run(_ move: Move, _ runs: Int = 0) {
        schedule(after: random.pick(300...1_000)) { [self] in
            let direction = move.direction(&random)
            let steps = random.chance(runs > 0 ? 300 : 600) ? random.below(8) : nil
            move.node.move(runs > 0 ? move.node.tampering.again(direction) : direction, dyingBehind: steps) {
                [self] end in
                switch end {
                case .done: move.then()
                case .killed:
                    trace?(now, move.node.index, "the move is killed")
                    run(move, runs + 1)
                case .refused(let refusal): refused(refusal, move, direction, runs)
                }
            }
        }
    }

    private func refused(
        _ refusal: HistoryMove.Refusal, _ move: Move, _ direction: HistoryMove.Direction, _ runs: Int
    ) {
        trace?(now, move.node.index, "does not move: \(refusal.reason)")
        let isBehind = refusal.kind == .failure && refusal.reason.hasPrefix("the log begins with")
        switch direction {
        case .outOfLog where isBehind || move.node.isOutdated:
            // The folder is behind the beginning of the log, or of the log before: that of another node leaves.
            if let most = mostAdvanced, most !== move.node { leave(most) } else { endMove() }
        // The engine has not answered.
        case _ where refusal.kind == .failure && runs < 8: run(move, runs + 1)
        default: violated("P4", "the move of the history is refused: \(refusal.reason)")
        }
    }

    private func restored(_ node: ClusterNode) {
        restoredEpoch = log.epoch
        moved(node)
    }

    private func moved(_ node: ClusterNode) {
        checks.moved(node, self)
        moves += 1
        for other in nodes where other !== node {
            if random.chance(600) { other.wipe() } else { other.isOutdated = other.copy.reader.position > 0 }
        }
        endMove()
    }

    private func endMove() {
        isMoving = false
        for node in nodes { schedule(after: random.pick(0...3_000)) { node.start() } }
    }

    /// A node has stopped on a copy of the log that was removed: an operator gives it an empty folder.
    func retire(_ node: ClusterNode) {
        schedule(after: random.pick(200...3_000)) { [self] in
            guard node.isOutdated, !isMoving else { return }
            if node.isUp { node.kill(losing: 0) }
            node.wipe()
            node.start()
        }
    }
}
