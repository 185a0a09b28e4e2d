public import TelltaleModel

/// Loads a checkpoint from the log store: for a node with an empty folder, and for one that needs messages which
/// the log no longer has.
///
/// While it ``isLoading``, its performer gives the replica no messages of the log, and reads none.
public struct CheckpointLoader: Sendable {
    public enum Action: Hashable, Sendable {
        case ask(CheckpointRequest)
        /// A checkpoint begins: drop what was loaded of another one.
        case begin(CheckpointManifest)
        /// A chunk of its snapshot.
        case chunk([UInt8])
        /// The checkpoint is whole. Make its snapshot the local journal, and let the replica continue after it with this
        /// reader: ``CheckpointLoader/installed()``.
        case install(CheckpointManifest, LogReader)
        /// The replica continues where it was.
        case goOn
        case warn(String)
        case stop(String)
    }

    private enum Phase: Hashable, Sendable {
        case idle
        case asking
        case checking(CheckpointManifest)
        case reading(CheckpointManifest, count: Int, CheckpointJoiner)
        case installing
    }

    private let settings: CheckpointSettings
    private var phase = Phase.idle
    private var actions: [Action] = []
    private var next = MonotonicTime.distantFuture
    private var since = MonotonicTime.distantPast
    /// Checkpoints that turned out not to be whole, or not to be of this log.
    private var refused: Set<String> = []
    /// The last warning.
    private var reported = ""

    private static let refusedLimit = 64

    public init(settings: CheckpointSettings) {
        self.settings = settings
    }

    public var isLoading: Bool { phase != .idle }
    /// When ``tick(_:at:)`` has something to do.
    public var deadline: MonotonicTime { next }
    public mutating func nextAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

    /// Looks for a checkpoint.
    public mutating func begin(at now: MonotonicTime) {
        guard phase == .idle else { return }
        since = now
        refused = []
        ask(at: now)
    }

    private mutating func ask(at now: MonotonicTime) {
        phase = .asking
        next = now + min(.seconds(1), settings.patience)
        actions.append(.ask(.list))
    }

    /// Time has passed.
    public mutating func tick(_ reader: LogReader, at now: MonotonicTime) {
        guard now >= next else { return }
        switch phase {
        case .idle, .installing: next = .distantFuture
        case .asking:
            // The log store has a log and does not answer about checkpoints: read the log.
            guard reader.position == 0, now.milliseconds(since: since) > settings.longPatience else {
                return ask(at: now)
            }
            goOn()
        case .checking(let manifest):
            guard now.milliseconds(since: since) > settings.longPatience else { return check(manifest, at: now) }
            refuse(manifest, "the log does not have the message that it follows", at: now)
        case .reading(let manifest, let count, _):
            guard now.milliseconds(since: since) > settings.longPatience else {
                next = now + settings.patience
                return actions.append(.ask(.read(of: manifest.id, from: count)))
            }
            refuse(manifest, "its pieces do not come", at: now)
        }
    }

    public mutating func handleAnswer(_ answer: CheckpointAnswer, _ reader: LogReader, at now: MonotonicTime) {
        switch (answer, phase) {
        case (.list(let stored, let extent), .asking): choose(stored, extent, reader, at: now)
        case (.message(let message?, let position), .checking(let checkpoint))
        where position == checkpoint.reader.position:
            checked(checkpoint, message, at: now)
        case (.pieces(let pieces, let id, let from), .reading(let manifest, let count, let joiner)):
            guard id == manifest.id, from <= count else { return }
            guard !pieces.isEmpty else { return refuse(manifest, "piece \(from) is missing", at: now) }
            let new = Array(pieces.dropFirst(count - from))
            // After a lost answer the log store sends the pieces from the first one again.
            guard !new.isEmpty else {
                return actions.append(.ask(.read(of: id, from: from + pieces.count)))
            }
            load(new, manifest, count, joiner, at: now)
        default: break
        }
    }

    private mutating func choose(
        _ stored: [StoredCheckpoint], _ extent: LogExtent, _ reader: LogReader, at now: MonotonicTime
    ) {
        let isBehind = extent.first > reader.position + 1
        // If the log lacks the next message, a checkpoint is the only way; an empty folder takes one where it can.
        guard isBehind || reader.position == 0 else { return goOn() }
        let usable = StoredCheckpoint.usable(stored, cluster: reader.cluster, epoch: reader.epoch)
        let checkpoint = usable.last { checkpoint in
            checkpoint.reader.position > reader.position && checkpoint.reader.position >= extent.first - 1
                && !refused.contains(checkpoint.id)
        }
        if let checkpoint {
            since = now
            return check(checkpoint, at: now)
        }
        guard isBehind else { return goOn() }
        guard now.milliseconds(since: since) > settings.longPatience else {
            next = now + min(.seconds(1), settings.patience)
            return
        }
        phase = .idle
        actions.append(
            .stop(
                "the log begins with message \(extent.first), this node has read \(reader.position), and no whole base holds what is between"
            ))
    }

    /// Asks whether it is a checkpoint of this log.
    private mutating func check(_ checkpoint: CheckpointManifest, at now: MonotonicTime) {
        phase = .checking(checkpoint)
        next = now + min(.seconds(1), settings.patience)
        actions.append(.ask(.message(at: checkpoint.reader.position)))
    }

    private mutating func checked(_ checkpoint: CheckpointManifest, _ message: [UInt8], at now: MonotonicTime) {
        guard checkpoint.follows(message) else {
            return refuse(checkpoint, "the message that it follows is another one in the log", at: now)
        }
        since = now
        phase = .reading(checkpoint, count: 0, CheckpointJoiner())
        next = now + settings.patience
        actions.append(.begin(checkpoint))
        actions.append(.ask(.read(of: checkpoint.id, from: 0)))
    }

    private mutating func load(
        _ pieces: [[UInt8]], _ manifest: CheckpointManifest, _ before: Int, _ joiner: CheckpointJoiner,
        at now: MonotonicTime
    ) {
        var (count, joiner) = (before, joiner)
        for piece in pieces.prefix(manifest.pieceCount - before) {
            guard let chunks = joiner.add(piece) else {
                return refuse(manifest, "piece \(count) is not one of a snapshot", at: now)
            }
            for chunk in chunks { actions.append(.chunk(chunk)) }
            count += 1
        }
        since = now
        next = now + settings.patience
        guard count == manifest.pieceCount else {
            phase = .reading(manifest, count: count, joiner)
            return actions.append(.ask(.read(of: manifest.id, from: count)))
        }
        guard joiner.checksum == manifest.checksum, joiner.isAtEnd else {
            return refuse(manifest, "its checksum is another one", at: now)
        }
        phase = .installing
        next = .distantFuture
        actions.append(.install(manifest, manifest.reader.beginningHere))
    }

    private mutating func refuse(_ manifest: CheckpointManifest, _ why: String, at now: MonotonicTime) {
        if refused.count < Self.refusedLimit { refused.insert(manifest.id) }
        let text = "the base of message \(manifest.reader.position) is not used: \(why)"
        if text != reported { actions.append(.warn(text)) }
        reported = text
        since = now
        ask(at: now)
    }

    private mutating func goOn() {
        phase = .idle
        next = .distantFuture
        actions.append(.goOn)
    }

    /// The local journal is the checkpoint, and the replica knows.
    public mutating func installed() {
        phase = .idle
        next = .distantFuture
    }

    /// The local journal could not become the checkpoint: look for another one.
    public mutating func failed(_ manifest: CheckpointManifest, _ why: String, at now: MonotonicTime) {
        // Chunks of it that wait are of no use.
        actions = []
        refuse(manifest, why, at: now)
    }
}
