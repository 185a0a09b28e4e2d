public import Journal
public import TelltaleModel

/// An operator moves a history while no node of the cluster runs: from a folder into an empty log, or out of the log
/// into one folder.
///
/// It takes part as a node that leads a term. If another node runs after all, it either takes the log away from the
/// move or waits in vain: neither overwrites what the other has written. The folder changes last. An interrupted move
/// is resumed by running it again.
///
/// A folder whose first records were pruned cannot give them to the log. Its log begins after the record of the
/// folder's snapshot, and the snapshot becomes the checkpoint of the log before any record is appended.
///
/// A performer passes on the events of the log (``take(_:at:)``) and the time (``tick(at:)`` at ``deadline``), and
/// carries out what ``nextAction()`` returns. Nothing follows ``Action/done`` and ``Action/refuse(_:)``.
public struct HistoryMove {
    public enum Direction: Hashable, Sendable {
        /// The log gets the folder's records, under this epoch, and the folder becomes the local journal of the log.
        case intoLog(epoch: UInt64)
        /// The same, as a new history: under this epoch, or the one that an interrupted run has begun.
        case anew(epoch: UInt64)
        /// The folder gets the records that it lacks, the log is sealed, and the folder is no longer a copy of it.
        case outOfLog
    }

    public enum Action: Hashable, Sendable {
        case append([UInt8], after: Int64, token: Int64)
        case read(from: Int64)
        case heartbeat(Heartbeat)
        case ask(CheckpointRequest)
        /// The progress: chunks of the snapshot, then records into the log, or messages out of it.
        case progress(Int64, of: Int64)
        /// An operator should know.
        case warn(String)
        case done
        case refuse(Refusal)
    }

    /// Why a move failed.
    public struct Refusal: Error, Hashable, Sendable {
        public enum Kind: Hashable, Sendable {
            /// It is not possible, and nothing was changed.
            case configuration
            /// The log store does not answer, and nothing was changed.
            case unavailable
            /// It stopped in the middle; the folder is as it was.
            case failure
        }

        public var kind: Kind
        /// The cause, and what to do.
        public var reason: String

        public init(kind: Kind, reason: String) {
            (self.kind, self.reason) = (kind, reason)
        }
    }

    private enum Phase: Hashable {
        case waiting, basing, writing, ending, over
    }

    private let direction: Direction
    private let journal: any Journal
    private var replica: Replica
    private var phase = Phase.waiting
    private var actions: [Action] = []
    /// Of the log, for the folder.
    private var kept: [JournalRecord] = []
    /// The newest message that is known to be in the log; `nil` = nothing was read yet.
    private var end: Int64?
    private let start: MonotonicTime
    private let patience: Milliseconds
    private var connection: String?
    /// The snapshot that the log begins with, and the history up to it; `nil` for a folder that has its first record.
    private let beginning: Beginning?
    private var filler: CheckpointFiller?
    private let wall: Timestamp

    /// - Parameters:
    ///   - journal: The folder. It is written to at the end, and of ``Direction/outOfLog`` as the log is read.
    ///   - instance: A number that no other process has, from a random source.
    ///   - patience: For how long it waits for the log store and for nodes that lead.
    ///   - wall: The time of a checkpoint.
    /// - Throws: Where the folder cannot be moved so.
    public init(
        _ direction: Direction, of journal: any Journal, cluster: String, node: String, release: String,
        instance: UInt64,
        settings: ReplicaSettings = ReplicaSettings(), patience: Milliseconds = .seconds(30), wall: Timestamp,
        at now: MonotonicTime
    ) throws(Refusal) {
        let reader: LogReader
        var epoch: UInt64 = 0
        switch direction {
        case .intoLog(let wanted), .anew(let wanted):
            beginning = try Self.beginning(of: journal)
            let chain = beginning?.chain
            reader = LogReader(cluster: cluster, epoch: nil, chain: chain ?? RecordChain(), origin: chain)
            epoch = wanted
        case .outOfLog:
            beginning = nil
            reader = try Self.reader(of: journal, cluster)
        }
        (self.direction, self.journal, self.patience, self.wall) = (direction, journal, patience, wall)
        start = now
        // No address: clients cannot go to it.
        replica = Replica(
            node: node, address: "", release: release, reader: reader, newEpoch: epoch,
            formerTerm: try Self.newestTerm(of: journal), instance: instance, settings: settings, at: now)
    }

    /// When ``tick(at:)`` has something to do.
    public var deadline: MonotonicTime {
        switch phase {
        case .over: .distantFuture
        case .waiting: min(replica.deadline, start + patience + Milliseconds(1))
        case .basing: min(replica.deadline, filler?.deadline ?? .distantFuture)
        case .writing, .ending: replica.deadline
        }
    }

    public mutating func nextAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

    // MARK: Inputs

    /// A word of the log store.
    public mutating func performAction(_ event: LogEvent, at now: MonotonicTime) {
        guard phase != .over else { return }
        switch event {
        case .read(_, _, let end): self.end = max(self.end ?? 0, end)
        case .connection(let isUp, let text): connection = isUp ? nil : text
        case .unusable(let faults):
            return refuse(.configuration, "the engine cannot be used: \(faults.joined(separator: "; "))")
        case .denied(let what, mayLead: false):
            return refuse(.configuration, "the engine does not let this node \(what.joined(separator: ", "))")
        case .checkpoint(let answer): filler?.handleAnswer(answer, at: now)
        case .stored, .refused, .full, .limited, .tooLong, .declined, .denied, .heartbeatStored, .heartbeatsShown,
            .heard,
            .overheard, .sync:
            break
        }
        replica.handleEvent(event, at: now)
        settle(at: now)
    }

    /// Time has passed.
    public mutating func tick(at now: MonotonicTime) {
        guard phase != .over else { return }
        replica.tick(at: now)
        filler?.tick(at: now)
        settle(at: now)
        guard phase == .waiting, now.milliseconds(since: start) > patience else { return }
        giveUp()
    }

    private mutating func giveUp() {
        if let connection { return refuse(.unavailable, "\(connection)") }
        if let end, let reason = Self.shortage(end, replica.reader) { return refuse(.configuration, reason) }
        if let leader = replica.reader.leader, !replica.reader.hasResigned, leader.node != replica.node {
            return refuse(.configuration, "\(leader.node.harmless) still leads: stop every node first")
        }
        refuse(.unavailable, "the engine takes no message; has it a majority of its servers?")
    }

    private mutating func settle(at now: MonotonicTime) {
        while phase != .over {
            var some: [Replica.Action] = []
            while let action = replica.nextAction() { some.append(action) }
            // Nothing is written before all that was read is known.
            for case .replay(let records) in some { replayed(records) }
            if phase == .waiting { inspect() }
            if some.isEmpty { break }
            for action in some where phase != .over { performAction(action, at: now) }
        }
        fill(at: now)
        if phase != .over { keepStarting() }
    }

    private mutating func fill(at now: MonotonicTime) {
        while phase == .basing, let action = filler?.nextAction() {
            switch action {
            case .ask(let request): actions.append(.ask(request))
            case .progress(let done, let all): actions.append(.progress(done, of: all))
            case .fail(let reason): refuse(.failure, "\(reason); run it again: it goes on where it was")
            case .done:
                phase = .writing
                filler = nil
                goOn(at: now)
                settle(at: now)
            }
        }
    }

    // MARK: What was read

    /// Refuses a log that is not the beginning of the folder's history.
    private mutating func inspect() {
        let reader = replica.reader
        guard direction != .outOfLog, reader.position > 0, replica.role != .stopped else { return }
        let found = "the log has \(reader.position) messages"
        switch direction {
        case .intoLog(let epoch) where epoch == reader.epoch: break
        case .anew where reader.epoch == journal.epoch:
            return refuse(
                .configuration,
                "\(found) of the folder's own epoch: if it was restored already, start telltaled; else \(Self.emptying)"
            )
        // An interrupted run has begun it, if all in it is of this node and of this folder, as is seen below.
        case .anew where reader.epoch != nil: break
        case _: return refuse(.configuration, "\(found) of another history: \(Self.emptying)")
        }
        guard reader.chain.sequence <= journal.lastSequence else {
            return refuse(
                .configuration,
                "\(found), up to record \(reader.chain.sequence), and the folder ends with record \(journal.lastSequence): the history goes on in the log"
            )
        }
        guard reader.leader?.node == replica.node || reader.leader == nil else {
            return refuse(
                .configuration, "\(reader.leader?.node.harmless ?? "a node") has led in this log: \(Self.emptying)")
        }
        if replica.hasReadToEnd, reader.chain.sequence == journal.lastSequence, reader.hasResigned { hasAll() }
    }

    private static let emptying =
        "the log is to be empty (remove its stream when no node runs, or take another --cluster name)"

    private mutating func performAction(_ action: Replica.Action, at now: MonotonicTime) {
        switch action {
        case .append(let bytes, let after, let token): actions.append(.append(bytes, after: after, token: token))
        case .read(let from): actions.append(.read(from: from))
        case .heartbeat(let heartbeat): actions.append(.heartbeat(heartbeat))
        case .replay: break  // Taken before.
        case .lead:
            guard let beginning else {
                phase = .writing
                return goOn(at: now)
            }
            phase = .basing
            filler = CheckpointFiller(
                beginning.snapshot, of: journal, chain: beginning.chain, cluster: replica.reader.cluster,
                instance: replica.instance, pieceLength: replica.pieceLength(CheckpointSettings().pieceBytes),
                patience: patience, wall: wall, at: now)
        case .stored:
            actions.append(.progress(replica.reader.chain.sequence, of: journal.lastSequence))
            goOn(at: now)
        case .full: refuse(.failure, "the engine has no room; make some, and run it again: it goes on where it was")
        case .standDown(let reason):
            if phase == .ending, replica.reader.hasResigned || replica.reader.isSealed { return hasAll() }
            refuse(.failure, "\(reason); see that no node runs, and run it again")
        case .stop(let reason, _): stopped(because: reason)
        case .refuse(let duplicateNode):
            refuse(
                .configuration,
                "a process at \(duplicateNode.harmless) runs with the name \(replica.node): stop every node first")
        case .beginsLater(let first):
            refuse(
                .failure,
                "the log begins with message \(first) or before it, and this folder has \(replica.reader.position): take the folder of a node that has more"
            )
        case .warn(let text): actions.append(.warn(text))
        }
    }

    private mutating func replayed(_ records: [JournalRecord]) {
        guard direction != .outOfLog else {
            kept += records
            actions.append(.progress(replica.reader.position, of: end ?? 0))
            return
        }
        guard phase != .over else { return }
        // Of a move that was begun before.
        let first = records.first?.sequence ?? 1
        do throws(JournalError) {
            let own = try journal.readRecords(after: first - 1, limit: records.count)
            // A folder that has more than the log gets its own error text.
            if own != records.filter({ $0.sequence <= journal.lastSequence }) {
                refuse(.configuration, "the log has another history: \(Self.emptying)")
            }
        } catch {
            refuse(.failure, "\(error)")
        }
    }

    private mutating func stopped(because reason: String) {
        guard replica.reader.isSealed else {
            return refuse(.configuration, direction == .outOfLog ? reason : "\(reason); \(Self.emptying)")
        }
        let node = replica.reader.leader?.node ?? ""
        // It sealed the log before, and could not change its folder.
        if direction == .outOfLog, node == replica.node { return hasAll() }
        refuse(
            .configuration,
            "\(node.harmless) has left with the history of this log: it goes on in the folder of that node")
    }

    // MARK: What is written

    private mutating func goOn(at now: MonotonicTime) {
        guard phase == .writing else { return }
        guard direction != .outOfLog else {
            phase = .ending
            replica.seal(at: now)
            return
        }
        do throws(JournalError) {
            let records = try Self.records(of: journal, after: replica.reader.chain.sequence)
            if !records.isEmpty { return replica.append(records, at: now) }
            phase = .ending
            replica.resign(at: now)
        } catch {
            refuse(.failure, "\(error)")
        }
    }

    /// Gives the folder what was read.
    private mutating func keepStarting() {
        guard !kept.isEmpty, replica.mayKeep, !replica.reader.isInBatch else { return }
        let records = kept
        kept = []
        do throws(JournalError) {
            try journal.write(records)
            try journal.write(mark: replica.reader.mark, epoch: journal.epoch)
            try journal.commit()
        } catch {
            refuse(.failure, "\(error)")
        }
    }

    /// The log has its last word: the folder follows.
    private mutating func hasAll() {
        do throws(JournalError) {
            switch direction {
            case .intoLog(let epoch), .anew(let epoch):
                try journal.write(mark: replica.reader.mark, epoch: replica.reader.epoch ?? epoch)
                try journal.commit()
            case .outOfLog:
                try journal.write(kept)
                try journal.write(mark: replica.reader.mark, epoch: journal.epoch)
                try journal.commit()
                try journal.release()
            }
            phase = .over
            actions.append(.done)
        } catch {
            refuse(.failure, "\(error)")
        }
    }

    private mutating func refuse(_ kind: Refusal.Kind, _ reason: String) {
        guard phase != .over else { return }
        phase = .over
        actions.append(.refuse(Refusal(kind: kind, reason: reason)))
    }
}
