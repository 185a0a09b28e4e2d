import Cluster
import Hub
import Journal
import Replication
import Server
import TelltaleModel

// The actions of the member, as `telltaled` performs them.
extension ClusterNode {
    func perform(_ action: Member.Action) {
        guard !tampering.holds(action) else { return }
        switch action {
        case .append(let bytes, let after, let token):
            sent[token] = sent[token] ?? cluster.now
            tampering.append(bytes, after: after, token: token, of: self)
        case .read(let from): cluster.log.read(from: from, for: self)
        case .holdReading(let isHeld): hold(isHeld)
        case .beat(let beat):
            cluster.noteBeat(beat)
            cluster.log.beat(beat, from: self)
        case .keep(let records, let mark, let epoch): keep(records, mark, epoch)
        case .lead(let term, _, let farewell): lead(term: term, farewell: farewell)
        case .settle(let outcome): settle(outcome)
        case .standDown(let farewell, let reason, let isEnding): standDown(reason, farewell, isEnding: isEnding)
        case .abandon: cluster.trace?(cluster.now, index, "ends without the log")
        case .follow: break
        case .writeSnapshot(let pruning):
            guard let snapshot = member?.snapshot else { return member?.snapshotWritten(isWritten: false) ?? () }
            writeSnapshot(tampering.taken(snapshot, isLeader: false, by: self), pruning, for: .standby)
        case .askOfBases(let request): cluster.log.ask(tampering.asked(request, of: self), from: self)
        case .beginBase: beginBase()
        case .giveBasePiece:
            member?.basePiece(basePieces.isEmpty ? nil : basePieces.removeFirst(), at: hubTime)
        case .endBase(let id, let isWhole):
            basePieces = []
            cluster.trace?(cluster.now, index, "base \(id) is \(isWhole ? "made" : "given up")")
            if isWhole { cluster.madeBase() }
        case .loadBase(let sequence): takeBaseStep { try copy.beginBase(at: sequence) }
        case .loadBaseChunk(let bytes): takeBaseStep { try copy.appendToBase(bytes) }
        case .abandonBase: takeBaseStep { try copy.abandonBase() }
        case .installBase(_, let link, let mark, let epoch): install(link, mark, epoch)
        case .warn(let text):
            cluster.trace?(cluster.now, index, "warns: \(text)")
            cluster.warns()
        case .differs(let texts):
            cluster.trace?(cluster.now, index, "differs: \(texts.joined(separator: "; "))")
        case .stop(let reason): stop(reason)
        case .refuse: giveWay()
        }
    }

    /// A disk that refuses ends the process, and this one has room.
    private func onDisk(_ body: () throws -> Void) {
        do {
            try body()
        } catch {
            cluster.violated("P9", "the disk of \(name) refuses: \(error)")
        }
    }

    private func keep(_ records: [JournalRecord], _ mark: [UInt8], _ epoch: UInt64) {
        if cluster.bug == .lossForgotten, (try? LogReader(mark: mark))?.loss != nil { return }
        let records = tampering.kept(records, in: copy)
        let before = copy.lastSequence
        onDisk { try copy.keep(records, mark: mark, epoch: epoch) }
        cluster.copied(records, by: self)
        if before / 16 < copy.lastSequence / 16 { noteHash() }
    }

    /// For a while everything that its disk is given waits.
    func hangDisk(for span: Int64) {
        guard isUp, !isPaused, !isStopped, mover == nil else { return }
        cluster.trace?(cluster.now, index, "has a disk that hangs for \(span) ms")
        member?.copyIsBehind(true, at: hubTime)
        perform()
        schedule(after: span) { [self] in
            member?.copyIsBehind(false, at: hubTime)
            perform()
        }
    }

    private func hold(_ isHeld: Bool) {
        guard isHeld || cluster.bug != .readingNeverGoesOn else { return }
        cluster.trace?(cluster.now, index, isHeld ? "reads no further" : "reads on")
        isReadingHeld = isHeld
        guard !isHeld, let from = heldRead.take() else { return }
        cluster.log.read(from: from, for: self)
    }

    private func settle(_ outcome: SyncOutcome) {
        if case .durable = outcome {
            cluster.mayAcknowledge(self)
            cluster.acknowledged(batch, by: self, term: member?.replica.term ?? 0)
        }
        batch = []
        server?.synced(outcome, at: hubTime)
        // As `telltaled` does: what the batch shows leaves before the next action of the member.
        performWhereServing()
    }

    private func standDown(_ reason: String, _ farewell: [UInt8], isEnding: Bool) {
        cluster.trace?(cluster.now, index, "stands down: \(reason)")
        if cluster.bug == .settledWhenDeposed, !batch.isEmpty {
            server?.synced(.durable(duration: .zero, wait: .zero), at: hubTime)
            performWhereServing()
        }
        batch = []
        endLead()
        tampering.stoodDown()
        // From a snapshot the process that follows starts.
        if isEnding, server?.isCommitting == false, let snapshot = server?.snapshot() {
            lastSnapshot = tampering.taken(snapshot, isLeader: true, by: self)
        }
        closeAll(telling: farewell)
        if let lobby = member?.lobby(at: monotonic) { serve(with: lobby) }
        guard !isEnding else { return endInOrder() }
        // Behind all that was given to the disk.
        schedule(after: cluster.diskDelay()) { [self] in
            guard let hub = recoveredHub() else { return }
            member?.recovered(hub, snapshotSequence: copy.snapshotSequence, at: hubTime)
            noteHash()
            perform()
        }
    }

    // MARK: The end

    /// SIGTERM.
    func terminate() {
        guard isUp, !isPaused, !isStopped, !isEnding else { return }
        cluster.trace?(cluster.now, index, "is to end")
        isEnding = true
        let waits = member?.end(at: hubTime) == true
        perform()
        if !waits { endInOrder() }
    }

    /// Writes the last snapshot behind what the disk was given, and ends.
    private func endInOrder() {
        closeAll(telling: [])
        let own = member?.snapshot.map { tampering.taken($0, isLeader: false, by: self) }
        guard let snapshot = lastSnapshot.take() ?? own ?? nil else { return ended() }
        writeSnapshot(snapshot, Pruning(), for: .server(serverNumber))
    }

    // MARK: Snapshots

    func writeSnapshot(_ snapshot: TakenSnapshot, _ pruning: Pruning, for asker: SnapshotTurns<TakenSnapshot>.Asker) {
        let (begins, refused) = snapshots.ask(.init(snapshot, for: asker, pruning: pruning))
        member?.isWritingSnapshot = snapshots.isWriting
        if let begins { begin(begins) }
        if let refused { tell(refused, isWritten: false) }
    }

    private func begin(_ request: SnapshotTurns<TakenSnapshot>.Request) {
        let sequence = request.content.sequence
        schedule(after: cluster.diskDelay()) { [self] in
            var isBegun = false
            onDisk {
                isBegun = try copy.beginSnapshot(at: sequence, request.pruning, prunesEarly: tampering.prunesEarly)
            }
            guard isBegun else { return snapshotEnded(isWritten: false) }
            cluster.trace?(cluster.now, index, "writes a snapshot of record \(sequence)")
            schedule(after: cluster.diskDelay()) { [self] in
                onDisk { try copy.finishSnapshot(request.content.chunks, of: sequence) }
                cluster.wroteSnapshot()
                snapshotEnded(isWritten: true)
            }
        }
    }

    private func snapshotEnded(isWritten: Bool) {
        let (asker, next) = snapshots.ended()
        member?.isWritingSnapshot = snapshots.isWriting
        if let next { begin(next) }
        if let asker { tell(asker, isWritten: isWritten) }
        perform()
    }

    private func tell(_ asker: SnapshotTurns<TakenSnapshot>.Asker, isWritten: Bool) {
        switch asker {
        case .server(let number) where number == serverNumber:
            if isEnding { ended() } else { server?.snapshotWritten(isWritten: isWritten) }
        case .server: break
        case .standby: member?.snapshotWritten(isWritten: isWritten)
        }
    }

    // MARK: Bases

    private func beginBase() {
        // A batch under way is nothing that the log has.
        let isOpen = isLeading && server?.isCommitting == true
        let snapshot = isOpen ? nil : isLeading ? server?.snapshot() : member?.snapshot
        cluster.trace?(cluster.now, index, "makes a base with record \(snapshot?.sequence ?? 0)")
        basePieces = []
        if let snapshot {
            var cutter = BaseCutter(length: member?.pieceLength ?? cluster.weather.bases.pieceBytes)
            let taken = tampering.base(tampering.taken(snapshot, isLeader: isLeading, by: self))
            for chunk in taken.chunks { basePieces += cutter.add(chunk) }
            if let last = cutter.end() { basePieces.append(last) }
        }
        member?.baseBegan(at: snapshot?.sequence, now: hubTime)
        noteHash()
    }

    private func takeBaseStep(_ body: () throws -> Void) {
        onDisk(body)
        schedule(after: cluster.diskDelay()) { [self] in
            member?.baseStepTaken(at: hubTime)
            perform()
        }
    }

    private func install(_ link: UInt64, _ mark: [UInt8], _ epoch: UInt64) {
        takeBaseStep { try copy.finishBase(link: link, mark: mark, epoch: epoch) }
        cluster.trace?(cluster.now, index, "has a base: record \(copy.chain.sequence), message \(copy.reader.position)")
        cluster.loadedBase(by: self)
        schedule(after: cluster.diskDelay()) { [self] in
            guard let hub = recoveredHub() else { return }
            cluster.hashed(hub.stateHash, at: hub.lastRecordSequence, by: self)
            member?.baseInstalled(hub, at: hubTime)
            perform()
        }
    }
}
