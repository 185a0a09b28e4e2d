public import TelltaleModel

/// When bases (checkpoints) are made, and how much of the log is kept.
public struct BaseSettings: Hashable, Sendable {
    /// The age of the newest base at which another one is due.
    public var every = Milliseconds.minutes(60)
    /// So many bytes of log after the newest base make another one due as well.
    public var logBytes: Int64 = 2 << 30
    /// Messages that are younger stay in the log…
    public var retention = Milliseconds.minutes(7 * 24 * 60)
    /// …unless the log is longer, in bytes.
    public var logLimit = Int64.max
    /// The pause between two checks of the engine's bases.
    public var look = Milliseconds.seconds(10)
    /// The delay between the first node that may make a base and the next one.
    public var turn = Milliseconds.seconds(60)
    /// How long to wait for an answer of the engine.
    public var patience = Milliseconds.seconds(10)
    /// How long a node that needs a base looks for one.
    public var longPatience = Milliseconds.seconds(30)
    public var pieceBytes = 512 << 10

    public init() {}
}

/// The state of a node that decides its part in bases.
public struct BaseSituation: Hashable, Sendable {
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

/// Makes bases (checkpoints), and purges the log before them.
///
/// - Of the standbys that keep up, the first by name makes the base that is due; the leader does where there is none.
/// - The leader alone removes: all whole bases but the two newest, and messages that the second newest base contains
///   and that are older than the retention. Both stay safe if the leader changes meanwhile: the two newest bases are
///   whole and synced by then, and nobody removes them.
public struct BaseKeeper: Sendable {
    public enum Action: Hashable, Sendable {
        case ask(BaseRequest)
        /// Take the state after the newest record as a base: answer with ``BaseKeeper/began(at:now:)``.
        case make(String)
        /// The next piece of it is wanted: answer with ``BaseKeeper/offer(_:at:)``.
        case nextPiece
        /// An operator should know.
        case warn(String)
        /// The base is whole, or given up: its state is not needed any more.
        case made(id: String, isWhole: Bool)
    }

    private struct Draft: Hashable {
        var manifest: BaseManifest
        var hasBegun = false
        /// Pieces that were sent; all but the newest are stored.
        var count = 0
        var isEnding = false
        var deadline: MonotonicTime
    }

    private let node: String
    private let instance: UInt64
    private let settings: BaseSettings
    /// Whole bases of this log, oldest first.
    public private(set) var bases: [BaseManifest] = []
    private var actions: [Action] = []
    private var nextLook: MonotonicTime
    private var begin: Timestamp?
    private var byteCount: Int64 = 0
    private var dueSince: MonotonicTime?
    private var draft: Draft?
    private var madeCount = 0
    /// Bases that the engine has, and whether the log has the message that each follows.
    private var isOfLog: [String: Bool] = [:]
    /// The base of which that is asked.
    private var asked: BaseManifest?
    /// Pieces of bases that are not whole, at the last look, and when there were others.
    private var unfinished: [String: Int] = [:]
    private var lastGrowth = MonotonicTime.distantPast
    /// The newest base that was counted for ``byteCount``.
    private var newest: String?

    public init(node: String, instance: UInt64, settings: BaseSettings, at now: MonotonicTime) {
        (self.node, self.instance, self.settings) = (node, instance, settings)
        nextLook = now + settings.look
    }

    public mutating func nextAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

    /// When ``tick(_:at:)`` has something to do.
    public var deadline: MonotonicTime { draft?.deadline ?? nextLook }

    /// A base is being made.
    public var isMaking: Bool { draft != nil }

    /// So many bytes of the log were read or appended.
    public mutating func noteLog(_ count: Int) { byteCount &+= Int64(count) }

    /// Time has passed.
    public mutating func tick(_ situation: BaseSituation, at now: MonotonicTime) {
        if begin == nil { begin = situation.wall }
        if let draft, now >= draft.deadline { giveUp() }
        guard draft == nil, now >= nextLook else { return }
        nextLook = now + settings.look
        actions.append(.ask(.list))
    }

    // MARK: Answers

    public mutating func take(_ answer: BaseAnswer, _ situation: BaseSituation, at now: MonotonicTime) {
        switch answer {
        case .list(let stored, let extent): look(at: stored, extent, situation, at: now)
        case .stored(let number, let id):
            guard let open = draft, open.manifest.id == id, open.hasBegun, number == open.count - 1 else { return }
            draft?.deadline = now + settings.patience
            actions.append(.nextPiece)
        case .finished(let id):
            guard let open = draft, open.manifest.id == id, open.isEnding else { return }
            draft = nil
            nextLook = now
            actions.append(.made(id: id, isWhole: true))
        case .message(let message, let position):
            guard let base = asked.take(), base.reader.position == position, let message else { return }
            isOfLog[base.id] = base.follows(message)
            nextLook = now
            if !base.follows(message) {
                actions.append(.warn("the base of message \(position) is not used: the log has another message there"))
            }
        case .pieces: break
        }
    }

    private mutating func look(
        at stored: [StoredBase], _ extent: LogExtent, _ situation: BaseSituation, at now: MonotonicTime
    ) {
        guard let epoch = situation.reader.epoch else { return }
        let usable = StoredBase.usable(stored, cluster: situation.reader.cluster, epoch: epoch)
        isOfLog = isOfLog.filter { id, _ in usable.contains { $0.id == id } }
        bases = usable.filter { isOfLog[$0.id] == true }
        asked = usable.last { isOfLog[$0.id] == nil && $0.reader.position <= situation.reader.position }
        if let asked { actions.append(.ask(.message(at: asked.reader.position))) }
        if bases.last?.id != newest { (newest, byteCount, dueSince) = (bases.last?.id, 0, nil) }
        let whole = Set(usable.map(\.id))
        var others: [String: Int] = [:]
        for base in stored where !whole.contains(base.id) { others[base.id] = base.pieceCount }
        if others != unfinished, !others.isEmpty { lastGrowth = now }
        unfinished = others
        if situation.isLeading {
            tidy(stored)
            purge(extent, situation)
        }
        if asked == nil { make(situation, at: now) }
    }

    // MARK: Removing

    private mutating func tidy(_ stored: [StoredBase]) {
        guard bases.count >= 2 else { return }
        let kept = bases.suffix(2)
        let oldest = bases[bases.count - 2].reader.position
        for base in stored where !kept.contains(where: { $0.id == base.id }) {
            // A base that another node is making is usually newer; losing it costs one base.
            guard let position = BaseManifest.position(in: base.id), position <= oldest else { continue }
            actions.append(.ask(.remove(base.id)))
        }
    }

    /// Messages that the second newest base contains. Those whose checksums it has stay, so that a node that loads it
    /// finds them in the log.
    private mutating func purge(_ extent: LogExtent, _ situation: BaseSituation) {
        guard bases.count >= 2, let last = bases.last, last.reader.chain.sequence <= situation.reader.chain.sequence
        else { return }
        let previous = bases[bases.count - 2]
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

    private mutating func make(_ situation: BaseSituation, at now: MonotonicTime) {
        let newest = bases.last
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
            manifest: BaseManifest(
                id: id, reader: situation.reader, time: situation.wall, pieceCount: 0, checksum: 0,
                trail: (newest?.trail ?? []) + (newest.map { [$0.place] } ?? [])),
            deadline: now + settings.patience)
        actions.append(.make(id))
    }

    /// The state for the base was taken.
    ///
    /// - Parameter sequence: Its newest record; `nil` = no state can be taken now.
    public mutating func began(at sequence: Int64?, now: MonotonicTime) {
        guard let open = draft, !open.hasBegun else { return }
        guard sequence == open.manifest.reader.chain.sequence else {
            draft = nil
            nextLook = now + settings.look
            actions.append(.made(id: open.manifest.id, isWhole: false))
            return
        }
        draft?.hasBegun = true
        draft?.deadline = now + settings.patience
        actions.append(.nextPiece)
    }

    /// The next piece of the base; `nil` = that was all.
    public mutating func offer(_ piece: [UInt8]?, at now: MonotonicTime) {
        guard var open = draft, open.hasBegun, !open.isEnding else { return }
        open.deadline = now + settings.patience
        if let piece {
            actions.append(.ask(.store(piece, number: open.count, of: open.manifest.id)))
            open.count += 1
            open.manifest.checksum = BaseCutter.checksum(of: piece, after: open.manifest.checksum)
        } else {
            open.isEnding = true
            open.manifest.pieceCount = open.count
            actions.append(.ask(.finish(open.manifest.encoded(), of: open.manifest.id)))
        }
        draft = open
    }

    /// The node leaves or rereads the log, or the engine does not answer.
    public mutating func giveUp() {
        guard let open = draft.take() else { return }
        // A base whose manifest was sent may be whole by now, and a leader may rely on it: it stays.
        if !open.isEnding { actions.append(.ask(.remove(open.manifest.id))) }
        actions.append(.made(id: open.manifest.id, isWhole: false))
    }
}
