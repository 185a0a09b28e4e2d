public import Hub
internal import Replication
internal import Server
internal import TelltaleModel

// Bases: made here for the others, or taken of another node.
extension Member {
    mutating func tickBases(at now: HubTime) {
        loader.tick(replica.reader, at: now.monotonic)
        guard !isLoading, handover == .none else { return keeper.giveUp() }
        keeper.tick(replica.situation(wall: now.wall), at: now.monotonic)
    }

    mutating func take(_ answer: BaseAnswer, at now: HubTime) {
        loader.take(answer, replica.reader, at: now.monotonic)
        guard !isLoading, handover == .none else { return }
        keeper.take(answer, replica.situation(wall: now.wall), at: now.monotonic)
    }

    /// The log begins after what this node has.
    mutating func beginLoading(at now: HubTime) {
        // A journal has one draft: that of a snapshot comes to its end before.
        guard !isLeading, !isRecovering, !isSnapshotUnderWay, !isWritingSnapshot else { return }
        keeper.giveUp()
        loader.begin(at: now.monotonic)
    }

    mutating func takeBaseActions(at now: HubTime) {
        while !hasStopped, let action = loader.nextAction() {
            switch action {
            case .ask(let request): ask(request)
            case .begin(let manifest): beginning = manifest
            case .chunk(let bytes):
                guard begin(with: bytes, at: now) else { continue }
                load(.loadBaseChunk(bytes))
            case .install(let manifest, let reader):
                guard begin(with: nil, at: now) else { continue }
                installing = (manifest, reader)
                isBaseBegun = false
                load(
                    .installBase(
                        sequence: reader.chain.sequence, link: reader.chain.link, mark: reader.mark,
                        epoch: reader.epoch ?? 0))
            case .goOn:
                abandonBase()
                waitsToReadOn = true
                readOn(at: now)
            case .warn(let text): actions.append(.warn(text))
            case .stop(let reason): stop(reason)
            }
        }
        while !hasStopped, let action = keeper.nextAction() {
            switch action {
            case .ask(let request): actions.append(.askOfBases(request))
            case .make: actions.append(.beginBase)
            case .warn(let text): actions.append(.warn(text))
            case .nextPiece: actions.append(.giveBasePiece)
            case .made(let id, let isWhole): actions.append(.endBase(position: id, isWhole: isWhole))
            }
        }
    }

    /// The local journal is not changed before the first chunk proves that the base is of the record that its manifest
    /// names: a journal that was replaced is no copy of the log any more, and accepts no older base.
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
        isBaseBegun = true
        load(.loadBase(sequence: sequence))
        return true
    }

    /// No batch is written in the middle of a base.
    private mutating func abandonBase() {
        beginning = nil
        guard isBaseBegun else { return }
        isBaseBegun = false
        load(.abandonBase)
    }

    /// Continues with the log, when the local journal has taken all steps: a batch would overtake them.
    private mutating func readOn(at now: HubTime) {
        guard waitsToReadOn, baseSteps == 0 else { return }
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
        baseSteps += 1
        actions.append(step)
    }

    /// Chunks are read no faster than the local journal takes them.
    private mutating func ask(_ request: BaseRequest) {
        if case .read = request, baseSteps > configuration.baseStepLimit {
            heldRequest = request
        } else {
            actions.append(.askOfBases(request))
        }
    }

    /// The local journal has taken a step of a base.
    public mutating func baseStepTaken(at now: HubTime) {
        baseSteps -= 1
        guard !hasStopped else { return }
        readOn(at: now)
        if baseSteps <= configuration.baseStepLimit, let request = heldRequest.take() {
            actions.append(.askOfBases(request))
        }
        settle(at: now)
    }

    /// The state for a base is taken.
    ///
    /// - Parameter sequence: Its newest record; `nil` = there is none to be had now, as in the middle of a batch.
    public mutating func baseBegan(at sequence: Int64?, now: HubTime) {
        keeper.began(at: appendedAt == nil && decided.isEmpty ? sequence : nil, now: now.monotonic)
        settle(at: now)
    }

    /// The length of a piece of this node's bases, in bytes: the engine may accept shorter ones only.
    public var pieceLength: Int { replica.pieceLength(configuration.bases.pieceBytes) }

    /// - Parameter piece: `nil` = that was all.
    public mutating func basePiece(_ piece: [UInt8]?, at now: HubTime) {
        keeper.offer(piece, at: now.monotonic)
        settle(at: now)
    }

    /// The local journal is the base: this node continues after it.
    public mutating func baseInstalled(_ hub: consuming Hub, at now: HubTime) {
        guard let (manifest, reader) = installing.take(), !hasStopped else { return }
        guard hub.lastRecordSequence == reader.chain.sequence else {
            loader.failed(
                manifest, "it ends with record \(hub.lastRecordSequence), and not \(reader.chain.sequence)",
                at: now.monotonic)
            return settle(at: now)
        }
        standby = makeStandby(hub, snapshotSequence: reader.chain.sequence)
        (backlog, copy) = ([], CopyQueue(reader))
        replica.goOn(behind: reader, at: now.monotonic)
        loader.installed()
        settle(at: now)
    }
}
