public import Hub
internal import Replication
public import Server
internal import TelltaleModel

// Checkpoints: made here for the others, or taken of another node.
extension Member {
    mutating func tickCheckpoints(at now: HubTime) {
        loader.tick(replica.reader, at: now.monotonic)
        guard !isLoading, handover == .none else { return keeper.giveUp() }
        keeper.tick(replica.situation(wall: now.wall), at: now.monotonic)
    }

    mutating func handleEvent(_ answer: CheckpointAnswer, at now: HubTime) {
        loader.handleAnswer(answer, replica.reader, at: now.monotonic)
        guard !isLoading, handover == .none else { return }
        keeper.handleAnswer(answer, replica.situation(wall: now.wall), at: now.monotonic)
    }

    /// The log begins after what this node has.
    mutating func beginLoading(at now: HubTime) {
        // A journal has one draft: that of a snapshot comes to its end before.
        guard !isLeading, !isWritingSnapshot else { return }
        keeper.giveUp()
        loader.begin(at: now.monotonic)
    }

    mutating func performCheckpointActions(at now: HubTime) {
        while !hasStopped, let action = loader.nextAction() {
            switch action {
            case .ask(let request): ask(request)
            case .begin(let manifest): beginning = manifest
            case .chunk(let bytes):
                guard begin(with: bytes, at: now) else { continue }
                load(.loadCheckpointChunk(bytes))
            case .install(let manifest, let reader):
                guard begin(with: nil, at: now) else { continue }
                installing = (manifest, reader)
                isCheckpointBegun = false
                load(
                    .installCheckpoint(
                        sequence: reader.chain.sequence, link: reader.chain.link, mark: reader.mark,
                        epoch: reader.epoch ?? 0))
            case .goOn:
                abandonCheckpoint()
                waitsToReadOn = true
                readOn(at: now)
            case .warn(let text): actions.append(.warn(text))
            case .stop(let reason): stop(reason)
            }
        }
        while !hasStopped, let action = keeper.nextAction() {
            switch action {
            case .ask(let request): actions.append(.askOfCheckpoints(request))
            case .make: actions.append(.beginCheckpoint)
            case .warn(let text): actions.append(.warn(text))
            case .nextPiece: actions.append(.giveCheckpointPiece)
            case .made(let id, let isWhole): actions.append(.endCheckpoint(position: id, isWhole: isWhole))
            }
        }
    }

    /// The local journal is not changed before the first chunk proves that the checkpoint is of the record that its manifest
    /// names. Once replaced, the journal no longer follows the log, and it accepts no older checkpoint.
    ///
    /// - Returns: `false` where it is not.
    private mutating func begin(with chunk: [UInt8]?, at now: HubTime) -> Bool {
        guard let manifest = beginning.take() else { return true }
        let sequence = manifest.reader.chain.sequence
        let found = chunk.flatMap { Self.record(ofSnapshot: $0, configuration.hub) }
        guard found == sequence else {
            let what = found.map { "ends with record \($0)" } ?? "begins with no snapshot"
            loader.failed(manifest, "it \(what), and not with record \(sequence)", at: now.monotonic)
            return false
        }
        isCheckpointBegun = true
        flushLocalJournal()
        actions.append(.sendAway(farewell: farewell()))
        load(.loadCheckpoint(sequence: sequence))
        return true
    }

    /// No batch is written in the middle of a checkpoint.
    private mutating func abandonCheckpoint() {
        beginning = nil
        guard isCheckpointBegun else { return }
        isCheckpointBegun = false
        load(.abandonCheckpoint)
    }

    /// Continues with the log, when the local journal has taken all steps: a batch would overtake them.
    private mutating func readOn(at now: HubTime) {
        guard waitsToReadOn, checkpointSteps == 0 else { return }
        waitsToReadOn = false
        replica.readOn()
        takeActions(at: now)
    }

    /// The newest record of a snapshot, by its first chunk; `nil` for bytes that are none.
    private static func record(ofSnapshot chunk: [UInt8], _ configuration: HubConfiguration) -> Int64? {
        var hub = Hub(configuration: configuration, epoch: 0)
        do throws(RecoveryError) {
            try hub.load(chunk)
            return hub.lastRecordSequence
        } catch {
            return nil
        }
    }

    private mutating func load(_ step: Action) {
        checkpointSteps += 1
        actions.append(step)
    }

    /// Chunks are read no faster than the local journal takes them.
    private mutating func ask(_ request: CheckpointRequest) {
        if case .read = request, checkpointSteps > configuration.checkpointStepLimit {
            heldRequest = request
        } else {
            actions.append(.askOfCheckpoints(request))
        }
    }

    /// The local journal has taken a step of a checkpoint.
    public mutating func checkpointStepTaken(at now: HubTime) {
        checkpointSteps -= 1
        guard !hasStopped else { return }
        readOn(at: now)
        if checkpointSteps <= configuration.checkpointStepLimit, let request = heldRequest.take() {
            actions.append(.askOfCheckpoints(request))
        }
        settle(at: now)
    }

    /// The state for a checkpoint is taken.
    ///
    /// - Parameter sequence: Its newest record; `nil` = there is none to be had now, as in the middle of a batch.
    public mutating func checkpointBegan(at sequence: Int64?, now: HubTime) {
        keeper.began(at: appendedAt == nil && decided.isEmpty ? sequence : nil, now: now.monotonic)
        settle(at: now)
    }

    /// The length of a piece of this node's checkpoints, in bytes: the log store may accept shorter ones only.
    public var pieceLength: Int { replica.pieceLength(configuration.checkpoints.pieceBytes) }

    /// - Parameter piece: `nil` = that was all.
    public mutating func checkpointPiece(_ piece: [UInt8]?, at now: HubTime) {
        keeper.offer(piece, at: now.monotonic)
        settle(at: now)
    }

    /// The local journal is the checkpoint: this node continues after it.
    ///
    /// - Returns: The server that takes the place of the one before, whose connections end with ``farewell(to:)``; `nil` = that one
    ///   stays.
    public mutating func checkpointInstalled(_ hub: consuming Hub, at now: HubTime) -> Server? {
        guard let (manifest, reader) = installing.take(), !hasStopped else { return nil }
        guard hub.lastRecordSequence == reader.chain.sequence else {
            loader.failed(
                manifest, "it ends with record \(hub.lastRecordSequence), and not \(reader.chain.sequence)",
                at: now.monotonic)
            settle(at: now)
            return nil
        }
        localJournal = LocalJournalQueue(reader)
        hasHistory = true
        replica.goOn(behind: reader, at: now.monotonic)
        loader.installed()
        let server = server(over: hub, snapshotSequence: reader.chain.sequence, at: now)
        settle(at: now)
        return server
    }
}
