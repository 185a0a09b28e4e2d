import Cluster
import Hub
import Journal
import Logging
import Replication
import Server
import TelltaleEventLoop
import TelltaleModel

// The bases that this node makes, and the base that it starts from.
extension ClusterEdge {
    // MARK: Making

    func beginBase() {
        // The log does not have a batch that is still being committed.
        let isOpen = member.isLeading && daemon.server.isCommitting
        let snapshot = isOpen ? nil : member.isLeading ? daemon.server.snapshot() : member.snapshot
        baseThread?.cancel()
        baseThread = snapshot.map { BaseThread($0, pieceLength: member.pieceLength) }
        member.baseBegan(at: snapshot?.sequence, now: daemon.clock.now)
    }

    func giveBasePiece() {
        guard let thread = baseThread else { return }
        let sender = daemon.mailbox.sender
        thread.next { piece in _ = sender.post(.base(.piece(piece, thread))) }
    }

    func endBase(_ id: String, isWhole: Bool) {
        baseThread?.cancel()
        baseThread = nil
        if isWhole {
            logger.info("this node has stored a base", metadata: ["base": "\(id)"])
        } else {
            logger.debug("a base was given up", metadata: ["base": "\(id)"])
        }
    }

    // MARK: Loading

    func ask(_ request: BaseRequest) {
        if case .purge(let before) = request {
            logger.info("the log is purged", metadata: ["before": "\(before)"])
        }
        log.ask(request)
    }

    func load(_ step: BaseStep) {
        if case .begin(let sequence) = step {
            logger.notice("this node begins with a base", metadata: ["record": "\(sequence)"])
        }
        let sender = daemon.mailbox.sender
        daemon.journal.loadBase(step) { result in
            switch result {
            case .success: _ = sender.post(.base(.loaded))
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
                _ = sender.post(.base(.installed(RecoveredHub(hub, snapshotSequence: journal.lastSequence))))
            } catch {
                _ = sender.post(
                    .failed(error as? JournalError ?? .corrupt(place: "\(error)", advice: JournalAdvice.repair)))
            }
        }
    }

    func take(_ word: BaseWord) {
        switch word {
        case .piece(let piece, let thread):
            guard thread === baseThread else { return }
            member.basePiece(piece, at: daemon.clock.now)
        case .loaded: member.baseStepTaken(at: daemon.clock.now)
        case .installed(let recovered):
            guard let hub = recovered.take() else { return }
            member.baseInstalled(hub, at: daemon.clock.now)
            logger.notice("this node has its base, and follows the log")
        }
        perform()
    }
}
