public import TelltaleModel

/// When checkpoints are made, and how much of the log is kept.
public struct CheckpointSettings: Hashable, Sendable {
    /// The age of the newest checkpoint at which another one is due.
    public var every = Milliseconds.minutes(60)
    /// So many bytes of log after the newest checkpoint make another one due as well.
    public var logBytes: Int64 = 2 << 30
    /// Messages that are younger stay in the log…
    public var retention = Milliseconds.minutes(7 * 24 * 60)
    /// …unless the log is longer, in bytes.
    public var logLimit = Int64.max
    /// The pause between two checks of the log store's checkpoints.
    public var checkInterval = Milliseconds.seconds(10)
    /// The delay between the first node that may make a checkpoint and the next one.
    public var turn = Milliseconds.seconds(60)
    /// How long to wait for an answer of the log store.
    public var patience = Milliseconds.seconds(10)
    /// How long a node that needs a checkpoint looks for one.
    public var longPatience = Milliseconds.seconds(30)
    public var pieceBytes = 512 << 10

    public init() {}
}

/// The state of a node that decides its part in checkpoints.
public struct CheckpointSituation: Hashable, Sendable {
    public var reader: LogReader
    /// It leads, and is known to.
    public var isLeading: Bool
    /// It has read the log to its end.
    public var isCurrent: Bool
    /// The other standbys that keep up.
    public var standbys: [String]
    public var wall: Timestamp

    public init(reader: LogReader, isLeading: Bool, isCurrent: Bool, standbys: [String], wall: Timestamp) {
        (self.reader, self.isLeading, self.isCurrent) = (reader, isLeading, isCurrent)
        (self.standbys, self.wall) = (standbys, wall)
    }
}

/// Makes checkpoints, and purges the log before them.
///
/// - Of the standbys that keep up, the first by name makes the checkpoint that is due; the leader does where there is none.
/// - The leader alone removes: all whole checkpoints but the two newest, and messages that the second newest checkpoint contains
///   and that are older than the retention. Both stay safe if the leader changes meanwhile: the two newest checkpoints are
///   whole and synced by then, and nobody removes them.
public struct CheckpointKeeper: Sendable {
    public enum Action: Hashable, Sendable {
        case ask(CheckpointRequest)
        /// Take the state after the newest record as a checkpoint: answer with ``CheckpointKeeper/began(at:now:)``.
        case make(String)
        /// The next piece of it is wanted: answer with ``CheckpointKeeper/offer(_:at:)``.
        case nextPiece
        /// An operator should know.
        case warn(String)
        /// The checkpoint is whole, or given up: its state is not needed any more.
        case made(id: String, isWhole: Bool)
    }

    private struct Draft: Hashable {
        var manifest: CheckpointManifest
        var hasBegun = false
        /// Pieces that were sent; all but the newest are stored.
        var count = 0
        var isEnding = false
        var deadline: MonotonicTime
    }

    private let node: String
    private let instance: UInt64
    private let settings: CheckpointSettings
    /// Whole checkpoints of this log, oldest first.
    public private(set) var checkpoints: [CheckpointManifest] = []
    private var actions: [Action] = []
    private var nextCheck: MonotonicTime
    private var begin: Timestamp?
    private var byteCount: Int64 = 0
    private var dueSince: MonotonicTime?
    private var draft: Draft?
    private var madeCount = 0
    /// Checkpoints that the log store has, and whether the log has the message that each follows.
    private var isOfLog: [String: Bool] = [:]
    /// The checkpoint of which that is asked.
    private var asked: CheckpointManifest?
    /// Pieces of checkpoints that are not whole, at the last check, and when there were others.
    private var unfinished: [String: Int] = [:]
    private var lastGrowth = MonotonicTime.distantPast
    /// The newest checkpoint that was counted for ``byteCount``.
    private var newest: String?

    public init(node: String, instance: UInt64, settings: CheckpointSettings, at now: MonotonicTime) {
        (self.node, self.instance, self.settings) = (node, instance, settings)
        nextCheck = now + settings.checkInterval
    }

    public mutating func nextAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

    /// When ``tick(_:at:)`` has something to do.
    public var deadline: MonotonicTime { draft?.deadline ?? nextCheck }

    /// A checkpoint is being made.
    public var isMaking: Bool { draft != nil }

    /// So many bytes of the log were read or appended.
    public mutating func noteLog(_ count: Int) { byteCount &+= Int64(count) }

    /// Time has passed.
    public mutating func tick(_ situation: CheckpointSituation, at now: MonotonicTime) {
        if begin == nil { begin = situation.wall }
        if let draft, now >= draft.deadline { giveUp() }
        guard draft == nil, now >= nextCheck else { return }
        nextCheck = now + settings.checkInterval
        actions.append(.ask(.list))
    }

    // MARK: Answers

    public mutating func handleAnswer(
        _ answer: CheckpointAnswer, _ situation: CheckpointSituation, at now: MonotonicTime
    ) {
        switch answer {
        case .list(let stored, let extent): check(at: stored, extent, situation, at: now)
        case .stored(let number, let id):
            guard let open = draft, open.manifest.id == id, open.hasBegun, number == open.count - 1 else { return }
            draft?.deadline = now + settings.patience
            actions.append(.nextPiece)
        case .finished(let id):
            guard let open = draft, open.manifest.id == id, open.isEnding else { return }
            draft = nil
            nextCheck = now
            actions.append(.made(id: id, isWhole: true))
        case .message(let message, let position):
            guard let checkpoint = asked.take(), checkpoint.reader.position == position, let message else { return }
            isOfLog[checkpoint.id] = checkpoint.follows(message)
            nextCheck = now
            if !checkpoint.follows(message) {
                actions.append(.warn("the base of message \(position) is not used: the log has another message there"))
            }
        case .pieces: break
        }
    }

    private mutating func check(
        at stored: [StoredCheckpoint], _ extent: LogExtent, _ situation: CheckpointSituation, at now: MonotonicTime
    ) {
        guard let epoch = situation.reader.epoch else { return }
        let usable = StoredCheckpoint.usable(stored, cluster: situation.reader.cluster, epoch: epoch)
        isOfLog = isOfLog.filter { id, _ in usable.contains { $0.id == id } }
        checkpoints = usable.filter { isOfLog[$0.id] == true }
        asked = usable.last { isOfLog[$0.id] == nil && $0.reader.position <= situation.reader.position }
        if let asked { actions.append(.ask(.message(at: asked.reader.position))) }
        if checkpoints.last?.id != newest { (newest, byteCount, dueSince) = (checkpoints.last?.id, 0, nil) }
        let whole = Set(usable.map(\.id))
        var others: [String: Int] = [:]
        for checkpoint in stored where !whole.contains(checkpoint.id) { others[checkpoint.id] = checkpoint.pieceCount }
        if others != unfinished, !others.isEmpty { lastGrowth = now }
        unfinished = others
        if situation.isLeading {
            tidy(stored)
            purge(extent, situation)
        }
        if asked == nil { make(situation, at: now) }
    }

    // MARK: Removing

    private mutating func tidy(_ stored: [StoredCheckpoint]) {
        guard checkpoints.count >= 2 else { return }
        let kept = checkpoints.suffix(2)
        let oldest = checkpoints[checkpoints.count - 2].reader.position
        for checkpoint in stored where !kept.contains(where: { $0.id == checkpoint.id }) {
            // A checkpoint that another node is making is usually newer; losing it costs one checkpoint.
            guard let position = CheckpointManifest.position(in: checkpoint.id), position <= oldest else { continue }
            actions.append(.ask(.remove(checkpoint.id)))
        }
    }

    /// Messages that the second newest checkpoint contains. Those whose checksums it has stay, so that a node that loads it
    /// finds them in the log.
    private mutating func purge(_ extent: LogExtent, _ situation: CheckpointSituation) {
        guard checkpoints.count >= 2, let last = checkpoints.last,
            last.reader.chain.sequence <= situation.reader.chain.sequence
        else { return }
        let previous = checkpoints[checkpoints.count - 2]
        var position = previous.reader.position
        if extent.byteCount <= settings.logLimit {
            let old = (last.trail + [previous.place]).filter { place in
                situation.wall - place.time >= settings.retention && place.position <= position
            }
            position = old.map { $0.position }.max() ?? 0
        }
        let before = position - Int64(LogReader.digestCount) + 1
        if before > max(1, extent.first) { actions.append(.ask(.purge(before: before))) }
    }

    // MARK: Making

    private mutating func make(_ situation: CheckpointSituation, at now: MonotonicTime) {
        let newest = checkpoints.last
        let age = situation.wall - (newest?.time ?? begin ?? situation.wall)
        let isDue = age >= settings.every || byteCount >= settings.logBytes
        guard isDue, situation.reader.position > newest?.reader.position ?? 0 else {
            dueSince = nil
            return
        }
        let since = dueSince ?? now
        dueSince = since
        guard draft == nil, situation.isCurrent, !situation.reader.isInBatch, !situation.reader.isSealed else { return }
        // Another node is making it.
        guard now.milliseconds(since: lastGrowth) > settings.turn else { return }
        let before = situation.isLeading ? situation.standbys.count : situation.standbys.count { $0 < node }
        guard now >= since + settings.turn.multiplied(by: Int64(before)) else { return }
        madeCount += 1
        let id = "\(situation.reader.position)-\(String(instance, radix: 16))-\(madeCount)"
        draft = Draft(
            manifest: CheckpointManifest(
                id: id, reader: situation.reader, time: situation.wall, pieceCount: 0, checksum: 0,
                trail: (newest?.trail ?? []) + (newest.map { [$0.place] } ?? [])),
            deadline: now + settings.patience)
        actions.append(.make(id))
    }

    /// The state for the checkpoint was taken.
    ///
    /// - Parameter sequence: Its newest record; `nil` = no state can be taken now.
    public mutating func began(at sequence: Int64?, now: MonotonicTime) {
        guard let open = draft, !open.hasBegun else { return }
        guard sequence == open.manifest.reader.chain.sequence else {
            draft = nil
            nextCheck = now + settings.checkInterval
            actions.append(.made(id: open.manifest.id, isWhole: false))
            return
        }
        draft?.hasBegun = true
        draft?.deadline = now + settings.patience
        actions.append(.nextPiece)
    }

    /// The next piece of the checkpoint; `nil` = that was all.
    public mutating func offer(_ piece: [UInt8]?, at now: MonotonicTime) {
        guard var open = draft, open.hasBegun, !open.isEnding else { return }
        open.deadline = now + settings.patience
        if let piece {
            actions.append(.ask(.store(piece, number: open.count, of: open.manifest.id)))
            open.count += 1
            open.manifest.checksum = CheckpointCutter.checksum(of: piece, after: open.manifest.checksum)
        } else {
            open.isEnding = true
            open.manifest.pieceCount = open.count
            actions.append(.ask(.finish(open.manifest.encoded(), of: open.manifest.id)))
        }
        draft = open
    }

    /// The node leaves or rereads the log, or the log store does not answer.
    public mutating func giveUp() {
        guard let open = draft.take() else { return }
        // A checkpoint whose manifest was sent may be whole by now, and a leader may rely on it: it stays.
        if !open.isEnding { actions.append(.ask(.remove(open.manifest.id))) }
        actions.append(.made(id: open.manifest.id, isWhole: false))
    }
}
