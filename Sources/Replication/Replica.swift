public import Journal
public import TelltaleModel

/// One node of a cluster: follows the log, leads it, or has stopped.
///
/// A performer reports it what happened, then takes ``nextAction()`` until that is `nil`, and asks ``mayShow(at:)`` first in
/// each turn of a leader. The log says which node leads; clocks and heartbeats only say when a node tries. So two nodes never
/// have a batch stored at one position, whatever the clocks, the heartbeats and the network do.
public struct Replica: Sendable {
    public enum Role: String, Hashable, Sendable {
        /// Replays what the leader decides.
        case standby
        /// Has sent a term record and does not know its fate, or has yet to read it after the message that it follows.
        case campaigning
        case leading
        /// The log is not the one that it knows; an operator decides.
        case stopped
    }

    public enum Action: Hashable, Sendable {
        /// Append the bytes if the newest message of the log is number `after`; answer with the same token.
        case append([UInt8], after: Int64, token: Int64)
        /// Read the log after this position; answer with ``Replica/read(_:from:end:at:)``.
        case read(from: Int64)
        /// Notify the other nodes; answer with ``Replica/heartbeatAcknowledged(number:at:)``.
        case heartbeat(Heartbeat)
        /// Replay these records, and add them to the local journal.
        case replay([JournalRecord])
        /// Begin to decide: everything in the log is replayed.
        case lead(term: Int64)
        /// The batch of the leader is stored: add it to the local journal, and settle it.
        case stored([JournalRecord])
        /// The log store has no room for the batch.
        case full
        /// Close all connections, drop what was decided, and continue from the local journal.
        case standDown(String)
        /// Decide and replay nothing more.
        ///
        /// - Parameter isLoss: The log has lost or changed what this node has read. Its folder is to remember it.
        case stop(String, isLoss: Bool)
        /// An operator should know.
        case warn(String)
        /// The log begins after what this node has read, with this message or a later one: a checkpoint is needed.
        case beginsLater(first: Int64)
        /// Another process, which began before this one, has the name of this node: decide and replay nothing more, and end.
        case refuse(duplicateNode: String)
    }

    public let node: String
    public let address: String
    /// Whether another node keeps up and may lead.
    public var hasSuccessor: Bool { election.hasSuccessor(near: reader.position) }
    /// It never leads.
    public var isObserver: Bool { settings.isObserver }
    let release: String
    let settings: ReplicaSettings
    public internal(set) var role = Role.standby
    public internal(set) var reader: LogReader
    var appender: Appender
    var election: Election
    var actions: [Action] = []
    /// The remaining messages of the batch, after the one in flight.
    var rest: [[UInt8]] = []
    /// The batch that is being appended.
    var batch: [JournalRecord] = []
    var isRenewing = false
    /// The position of an own term record that is stored, until it was read together with the message before it.
    var unconfirmedTerm: Int64?
    /// When it is asked for again.
    var nextConfirmation = MonotonicTime.distantFuture
    /// When the last message of this node was found stored.
    var lastStored = MonotonicTime.distantPast
    /// When what the log store acknowledged last was sent: until then this node is known to have led.
    public internal(set) var lastProof = MonotonicTime.distantPast
    /// When the log store last acknowledged something.
    var lastAnswer = MonotonicTime.distantPast
    /// When the message in flight was sent first.
    var sentAt = MonotonicTime.distantPast
    /// The limits for the messages of a batch: those of the settings, or lower where the log store requires it.
    var limits: MessageLimits
    /// The longest message that the log store takes; `nil` = it has not said.
    var longest: Int?
    /// Why the log store does not take the message in flight, in its own words.
    var decline: String?
    /// The silence about the message in flight was reported.
    var isSilenceReported = false
    /// The log store does not let this node append or send heartbeats, and so it does not lead.
    var isBarred = false
    var heartbeatsSent: [Int64: MonotonicTime] = [:]
    /// The newest acknowledged heartbeat, and the newest one whose view of the others is complete.
    var acknowledgedHeartbeat: Int64 = 0
    var shownHeartbeat: Int64 = 0
    var duplicateNode = DuplicateNode()
    var restart = Restart()
    /// A server of the log store does not sync before it acknowledges, and so no node leads.
    var isSyncRefuted = false
    var heartbeatCount: Int64 = 0
    var nextHeartbeat: MonotonicTime
    private var lastHeartbeat = MonotonicTime.distantPast
    /// The newest message at the last heartbeat.
    private var lastHeartbeatPosition: Int64
    /// A leader in limbo sends nothing. Only an append ends limbo, because a heartbeat proves nothing.
    public internal(set) var isInLimbo = false
    /// Its local journal lags: it does not try to lead.
    public var isHeldBack = false
    /// The local journal reaches the end of the log that the last read saw.
    public internal(set) var hasReadToEnd = false
    /// Since when the log seems shorter than what was read, and what was read then.
    private var short: (since: MonotonicTime, position: Int64)?
    /// By how much this node's clock is ahead of the times of new records.
    public var skew = Milliseconds.zero
    /// What heartbeats say of the clients of this node.
    public var service = NodeService()
    /// The lineage of a history that begins with this node, from a random source.
    let newEpoch: UInt64
    /// The newest term of the log that the history was in before. Terms continue from it, because clients take a lower
    /// one for that of a deposed leader.
    let formerTerm: Int64
    /// The instance of this process: see ``LogMessage/instance``.
    public let instance: UInt64

    /// - Parameters:
    ///   - reader: As the local journal has it.
    ///   - newEpoch: The lineage of a history that begins with this node, where the log is empty.
    ///   - formerTerm: The newest term of a log that the history was in before; 0 = none.
    ///   - instance: A number that no other process has, from a random source.
    public init(
        node: String, address: String, release: String, reader: LogReader, newEpoch: UInt64, formerTerm: Int64 = 0,
        instance: UInt64, settings: ReplicaSettings = ReplicaSettings(), at now: MonotonicTime
    ) {
        self.node = node
        self.address = address
        self.release = release
        self.reader = reader
        self.newEpoch = newEpoch
        self.formerTerm = formerTerm
        self.instance = instance
        self.settings = settings
        appender = Appender(pace: settings.pace)
        limits = settings.limits
        election = Election(node: node, settings: settings)
        nextHeartbeat = now
        lastHeartbeatPosition = reader.position
        // The local journal ends with a resignation. Where this node led before its restart, it waits as the others do:
        // another process may have its name.
        if reader.hasResigned { election.leaderGone(at: now) }
        // Everything remembered is read again: a node that was stopped because the log was set back may have read
        // further before.
        actions = [.read(from: max(0, reader.position - Int64(max(1, reader.digests.count))))]
        if reader.isSealed { stop(Self.sealed, isLoss: false) }
    }

    private static func purgedSince(_ loss: String) -> String {
        "this node stopped before, because \(loss); the log was purged since, and does not show any more what became of that. Either this folder is right: telltale cluster restore. Or the log is: begin with an empty folder"
    }

    static let sealed = "this log is sealed: its history goes on in one node's folder"

    /// The next thing to do.
    public mutating func nextAction() -> Action? {
        actions.isEmpty ? nil : actions.removeFirst()
    }

    /// Whether the local journal may advance to ``reader``: a restart trusts what it says.
    ///
    /// `false` while an own term record may stand in a log that was set back, and after a log turned out to be another
    /// one.
    public var mayKeep: Bool { unconfirmedTerm == nil && role != .stopped }

    /// A node that is not heard for so long is taken for gone.
    public var lease: Milliseconds { settings.lease }

    /// For how long a leader whose messages the engine does not acknowledge holds on.
    public var giveUp: Milliseconds { settings.giveUp }

    /// Whether a message of this node is on its way, or its fate is not known.
    public var isAppending: Bool { appender.phase != .idle }

    /// The term that it leads, or the newest that it has read.
    public var term: Int64 { reader.term }

    /// When ``tick(at:)`` has something to do.
    public var deadline: MonotonicTime {
        guard role != .stopped else { return .distantFuture }
        var time = min(nextHeartbeat, appender.deadline ?? .distantFuture)
        if role == .standby, election.leaseEnd > lastHeartbeat { time = min(time, election.leaseEnd) }
        if mayVolunteer,
            let moment = election.moment(position: reader.position, skew: skew)
        {
            time = min(time, moment)
        }
        if unconfirmedTerm != nil { time = min(time, nextConfirmation) }
        if role == .leading {
            time = min(time, (isInLimbo ? lastAnswer + settings.giveUp : lastProof + settings.lease) + Milliseconds(1))
        }
        if isAppending, !isSilenceReported { time = min(time, sentAt + settings.giveUp + Milliseconds(1)) }
        return time
    }

    /// Time has passed.
    public mutating func tick(at now: MonotonicTime) {
        guard role != .stopped else { return }
        _ = mayShow(at: now)
        if role == .leading, now.milliseconds(since: lastAnswer) > settings.giveUp {
            return standDown("the engine has acknowledged nothing for \(settings.giveUp.count) ms", at: now)
        }
        noteSilence(at: now)
        handleEvent(appender.tick(at: now))
        if let position = unconfirmedTerm, now >= nextConfirmation { confirm(behind: position, at: now) }
        // The moment that the leader's lease ends is seen by a heartbeat of it.
        let isLeaseOver = role == .standby && lastHeartbeat < election.leaseEnd && election.leaseEnd <= now
        if now >= nextHeartbeat || isLeaseOver { heartbeat(at: now) }
        volunteer(at: now)
    }

    /// Acknowledged heartbeats prove nothing about an unacknowledged message: a log store that drops one silently would keep
    /// its leader in office while everybody waits.
    private mutating func noteSilence(at now: MonotonicTime) {
        guard isAppending, !isSilenceReported, now.milliseconds(since: sentAt) > settings.giveUp else { return }
        isSilenceReported = true
        let because = decline.map { ": \($0)" } ?? ""
        let text =
            "the engine has not taken a message of \(appender.bytes.count) bytes for \(settings.giveUp.count) ms\(because)"
        if role == .leading { standDown(text, at: now) } else { actions.append(.warn(text)) }
    }

    private mutating func heartbeat(at now: MonotonicTime) {
        (lastHeartbeat, nextHeartbeat) = (now, now + settings.heartbeat)
        heartbeatCount += 1
        heartbeatsSent[heartbeatCount] = now
        heartbeatsSent[heartbeatCount - 64] = nil
        var heartbeat = Heartbeat(
            node: node, role: role, term: term, position: reader.position, address: address, release: release,
            number: heartbeatCount, instance: instance)
        heartbeat.isObserver = settings.isObserver
        heartbeat.service = service
        heartbeat.isHeldBack = isHeldBack || isBarred || settings.isObserver
        actions.append(.heartbeat(heartbeat))
        // From one that is known, to see that it is still there: from the newest at the heartbeat before, where little came since.
        let isNear = reader.position - lastHeartbeatPosition < LogReader.digestCount / 2
        actions.append(.read(from: max(0, (isNear ? lastHeartbeatPosition : reader.position) - 1)))
        lastHeartbeatPosition = reader.position
        renew(at: now)
    }

    // MARK: What the log store says

    /// A message of this node is acknowledged.
    public mutating func acknowledged(token: Int64, position: Int64, at now: MonotonicTime) {
        // It was refused, or sent again, or the one before is long ago: the log may have lost its end, and have grown to the same
        // length since.
        let isDoubtful = appender.phase == .unknown || sentAt.milliseconds(since: lastStored) > settings.pace.patience
        guard let outcome = appender.acknowledged(token: token, at: position) else { return }
        settle(outcome, at: now)
        if isDoubtful, role == .leading { actions.append(.read(from: max(0, position - 2))) }
    }

    /// A message of this node is refused by its condition.
    public mutating func refused(token: Int64, at now: MonotonicTime) {
        if let action = appender.refused(token: token, at: now) { handleEvent([action]) }
    }

    /// The log store has no room for a message of this node.
    public mutating func full(token: Int64, at now: MonotonicTime) {
        guard let outcome = appender.full(token: token) else { return }
        settle(outcome, at: now)
    }

    /// A message of this node is longer than the log store takes, and was not sent this time.
    public mutating func tooLong(token: Int64, at now: MonotonicTime) {
        if let outcome = appender.tooLong(token: token) { return settle(outcome, at: now) }
        guard isAppending, token == appender.token, role == .leading else { return }
        // It was sent before and may be stored, so it is not cut again. A leader that goes leaves the place to the next term.
        standDown("the engine takes no messages of \(appender.bytes.count) bytes any more", at: now)
    }

    /// The log store takes no messages that are longer.
    public mutating func limited(to byteCount: Int) {
        longest = byteCount
        limits = settings.limits.limited(to: byteCount)
    }

    /// The longest piece of a checkpoint that this log store takes, where one of `length` is wanted.
    public func pieceLength(_ length: Int) -> Int { longest.map { max(1, min(length, $0)) } ?? length }

    /// The log store rejects a message for another reason.
    ///
    /// - Parameter token: `nil` = a piece of a checkpoint.
    public mutating func declined(token: Int64?, because reason: String) {
        guard let token else { return actions.append(.warn("the engine does not take a piece of a base: \(reason)")) }
        guard isAppending, token == appender.token, decline != reason else { return }
        decline = reason
        actions.append(.warn("the engine does not take a message of \(appender.bytes.count) bytes: \(reason)"))
    }

    /// Messages of the log, in its order.
    ///
    /// - Parameters:
    ///   - from: The position before the first of them.
    ///   - end: The newest position that the reader saw. It may be an old one.
    public mutating func read(_ messages: [[UInt8]], from: Int64, end: Int64, at now: MonotonicTime) {
        guard role != .stopped else { return }
        noteEnd(max(0, end), at: now)
        guard role != .stopped, from >= 0 else { return }
        guard from <= reader.position else {
            // A later message alone proves nothing: the messages before it may have been delivered, or may still be. A
            // leader that was deposed that way finds out when it appends.
            guard role != .leading else { return }
            hasReadToEnd = false
            // A checkpoint of a log that was set back holds what replaced the messages that this node has read.
            if let loss = reader.loss { return stop(Self.purgedSince(loss), isLoss: false) }
            return actions.append(.beginsLater(first: from + 1))
        }
        let known = Int(clamping: reader.position - from)
        let isSeen = reader.position == 0 || (known > 0 && messages.count >= known)
        for (index, bytes) in messages.prefix(known).enumerated() {
            let place = from + Int64(index) + 1
            guard reader.isOther(bytes, at: place) else { continue }
            return stop(
                "message \(place) of the log is not the one that this node has read: the log was set back, and went on")
        }
        for bytes in messages.dropFirst(known) {
            guard role != .stopped else { return }
            read(bytes, at: now)
        }
        // The log has the newest messages of this copy, as it has them.
        if isSeen, role != .stopped { reader.loss = nil }
        if isSeen, let position = unconfirmedTerm, from <= position - 2 { lead(at: now) }
        hasReadToEnd = (isSeen || hasReadToEnd) && reader.position >= end
        volunteer(at: now)
    }

    private mutating func noteEnd(_ end: Int64, at now: MonotonicTime) {
        // A replica that lags reaches what was read when it was seen to lag.
        guard end < short?.position ?? reader.position else {
            short = nil
            return
        }
        let since = short?.since ?? now
        short = (since, short?.position ?? reader.position)
        guard now.milliseconds(since: since) > settings.shortLogPatience else { return }
        stop(
            "the log ends with message \(end), and this node has read \(reader.position): \(reader.position - end) are lost"
        )
    }

    /// Resumes reading: what was delivered meanwhile was dropped.
    public mutating func readOn() {
        guard role != .stopped else { return }
        actions.append(.read(from: max(0, reader.position - Int64(max(1, reader.digests.count)))))
    }

    /// Continues after a checkpoint. Before this node leads, the log must contain the messages whose checksums the checkpoint has.
    public mutating func goOn(behind checkpoint: LogReader, at now: MonotonicTime) {
        guard role == .standby || role == .campaigning else { return }
        (role, reader, short, hasReadToEnd) = (.standby, checkpoint, nil, false)
        appender.deposed()
        lastHeartbeatPosition = checkpoint.position
        // A leader that this node did not know has given no sign of life so far.
        election.leaderBegan(at: now)
        if checkpoint.leader?.node == node || checkpoint.hasResigned { election.leaderGone(at: now) }
        readOn()
    }

    /// The state that decides its part in checkpoints.
    public func situation(wall: Timestamp) -> CheckpointSituation {
        let isLeading = role == .leading && !isInLimbo
        return CheckpointSituation(
            reader: reader, isLeading: isLeading, isCurrent: isLeading || (role == .standby && hasReadToEnd),
            standbys: election.standbys(near: reader.position), wall: wall)
    }

    mutating func handleEvent(_ more: [Appender.Action]) {
        for action in more {
            switch action {
            case .append(let bytes, let after, let token): actions.append(.append(bytes, after: after, token: token))
            case .read(let from): actions.append(.read(from: from))
            }
        }
    }
}
