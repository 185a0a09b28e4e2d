import Cluster
import Hub
import Journal
import Logging
import Replication
import Server
import TelltaleEventLoop
import TelltaleModel

// The checkpoints that this node makes, and the checkpoint that it starts from.
extension ClusterEdge {
    // MARK: Making

    func beginCheckpoint() {
        // The log does not have a batch that is still being committed.
        let snapshot = !daemon.server.isCommitting && member.mayTakeSnapshot ? daemon.server.snapshot() : nil
        checkpointThread?.cancel()
        checkpointThread = snapshot.map { CheckpointThread($0, pieceLength: member.pieceLength) }
        member.checkpointBegan(at: snapshot?.sequence, now: daemon.clock.now)
    }

    func giveCheckpointPiece() {
        guard let thread = checkpointThread else { return }
        let sender = daemon.mailbox.sender
        thread.next { piece in _ = sender.post(.checkpoint(.piece(piece, thread))) }
    }

    func endCheckpoint(_ id: String, isWhole: Bool) {
        checkpointThread?.cancel()
        checkpointThread = nil
        if isWhole {
            logger.info("this node has stored a base", metadata: ["base": "\(id)"])
        } else {
            logger.debug("a base was given up", metadata: ["base": "\(id)"])
        }
    }

    // MARK: Loading

    func ask(_ request: CheckpointRequest) {
        if case .purge(let before) = request {
            logger.info("the log is purged", metadata: ["before": "\(before)"])
        }
        log.queryServers(request)
    }

    func load(_ step: CheckpointStep) {
        if case .begin(let sequence) = step {
            logger.notice("this node begins with a base", metadata: ["record": "\(sequence)"])
        }
        let sender = daemon.mailbox.sender
        daemon.journal.loadCheckpoint(step) { result in
            switch result {
            case .success: _ = sender.post(.checkpoint(.loaded))
            case .failure(let error): _ = sender.post(.failed(error))
            }
        }
    }

    func install(link: UInt64, mark: [UInt8], epoch: UInt64) {
        load(.finish(link: link, mark: mark, epoch: epoch))
        let sender = daemon.mailbox.sender
        let (hub, logger, manager) = (daemon.configuration.hub, logger, daemon.manager)
        daemon.journal.readLater { journal in
            do {
                let hub = try Recovery.recover(journal, configuration: hub, logger: logger, manager: manager)
                _ = sender.post(.checkpoint(.installed(RecoveredHub(hub, snapshotSequence: journal.lastSequence))))
            } catch {
                _ = sender.post(
                    .failed(error as? JournalError ?? .corrupt(place: "\(error)", advice: JournalAdvice.repair)))
            }
        }
    }

    func handleWord(_ word: CheckpointWord) {
        switch word {
        case .piece(let piece, let thread):
            guard thread === checkpointThread else { return }
            member.checkpointPiece(piece, at: daemon.clock.now)
        case .loaded: member.checkpointStepTaken(at: daemon.clock.now)
        case .installed(let recovered):
            guard let hub = recovered.take() else { return }
            if let server = member.checkpointInstalled(hub, at: daemon.clock.now) {
                daemon.serve(with: server, member.farewell())
            }
            logger.notice("this node has its base, and follows the log")
        }
        perform()
    }
}
