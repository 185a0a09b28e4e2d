public import Journal
public import TelltaleModel

// Reading, writing and the roles.
extension Replica {
    // MARK: Reading

    mutating func read(_ bytes: [UInt8], at now: MonotonicTime) {
        let isAtOwn = appender.phase != .idle && reader.position == appender.expected
        if isAtOwn, bytes == appender.bytes { return settle(appender.foundOwn(), at: now) }
        let reading = reader.read(bytes)
        // The leader of this term is this process: a message that is not void is its own, which the log store had refused
        // for want of room. A batch that it has decided since follows another record.
        let wasLeading = role == .leading
        if wasLeading, reading.isOfLeader {
            standDown("the log has a message that the engine had refused for want of room", at: now)
        } else if isAtOwn {
            if case .void = reading {
                (sentAt, isSilenceReported) = (now, false)
                handleEvent([appender.foundVoid(at: now)])
            } else {
                // The place is another message's, and this message can never be stored.
                appender.deposed()
                if role == .campaigning { role = .standby }
            }
        }
        switch reading {
        case .records(let records): actions.append(.replay(records))
        case .part, .renewal: break
        case .term(let leader): followed(leader, at: now)
        // The others go first where it has resigned itself.
        case .resigned: if !wasLeading { election.leaderGone(at: now, successor: reader.successor) }
        case .sealed: stop(Self.sealed, isLoss: false)
        case .void(let text): actions.append(.warn("the log has something that means nothing: \(text)"))
        case .broken(let text): stop(text)
        }
    }

    private mutating func followed(_ leader: LogReader.Leader, at now: MonotonicTime) {
        election.leaderBegan(at: now)
        unconfirmedTerm = nil
        if role == .leading { standDown("\(leader.node) leads in term \(leader.term)", at: now) }
        role = .standby
    }

    // MARK: Writing

    /// A message of this node has a fate.
    mutating func settle(_ outcome: Appender.Outcome, at now: MonotonicTime) {
        switch outcome {
        case .full:
            rest = []
            switch role {
            case .campaigning: role = .standby
            case .leading where isRenewing:
                isRenewing = false
                sendBatch(at: now)
            case .leading where batch.isEmpty:
                actions.append(
                    .warn("it cannot hand over, because the engine has no room for the message that says so"))
            case .leading:
                batch = []
                actions.append(.full)
            case .standby, .stopped: break
            }
        case .tooLong: cutAgain(at: now)
        case .stored:
            let reading = reader.read(appender.bytes)
            if case .broken(let text) = reading { return stop(text) }
            lastProof = max(lastProof, sentAt)
            lastAnswer = now
            lastStored = now
            if role == .leading, isInLimbo, now.milliseconds(since: lastProof) <= settings.lease { isInLimbo = false }
            stored(reading, at: now)
        }
    }

    private mutating func stored(_ reading: LogReader.Reading, at now: MonotonicTime) {
        switch reading {
        case .term:
            election.leaderBegan(at: now)
            if reader.position == 1 { lead(at: now) } else { confirm(behind: reader.position, at: now) }
        case .renewal:
            isRenewing = false
            sendBatch(at: now)
        case .part where !rest.isEmpty: send(rest.removeFirst(), at: now)
        case .records(let records):
            batch = []
            actions.append(.stored(records))
        case .resigned:
            standDown("it has resigned", at: now)
            // Another node leads, if there is one: this one is about to end.
            election.leaderBegan(at: now)
        case .sealed: stop(Self.sealed, isLoss: false)
        case .part, .void, .broken: break
        }
    }

    /// Asks for the term record together with the messages before it that are remembered. A log that lost its end and grew to
    /// the same length again takes the record too, and its messages are others.
    mutating func confirm(behind position: Int64, at now: MonotonicTime) {
        unconfirmedTerm = position
        nextConfirmation = now + settings.pace.interval
        actions.append(.read(from: max(0, position - Int64(max(2, reader.digests.count)))))
    }

    mutating func lead(at now: MonotonicTime) {
        unconfirmedTerm = nil
        guard !isSyncRefuted, !isBarred else {
            role = .standby
            return election.leaderBegan(at: now)
        }
        role = .leading
        isInLimbo = false
        actions.append(.lead(term: term))
        _ = mayShow(at: now)
    }

    private mutating func send(_ bytes: [UInt8], at now: MonotonicTime) {
        (sentAt, decline, isSilenceReported) = (now, nil, false)
        handleEvent([appender.send(bytes, after: reader.position, at: now)])
    }

    private func message(_ body: LogMessage.Body, term: Int64) -> LogMessage {
        LogMessage(
            cluster: reader.cluster, epoch: reader.epoch ?? newEpoch, term: term, node: node, instance: instance,
            sequence: reader.chain.sequence, link: reader.chain.link, body: body)
    }

    /// The leader has decided a batch: it is settled with ``Action/stored(_:)``, ``Action/full`` or ``Action/standDown(_:)``.
    ///
    /// A node that does not lead appends nothing: what it decided went with ``Action/standDown(_:)``.
    ///
    /// - Precondition: No batch is being appended, and this one has records.
    public mutating func append(_ records: [JournalRecord], at now: MonotonicTime) {
        guard role == .leading else { return }
        precondition(batch.isEmpty && !records.isEmpty, "one batch at a time, and not an empty one")
        batch = records
        sendBatch(at: now)
    }

    private mutating func sendBatch(at now: MonotonicTime) {
        guard appender.phase == .idle, !batch.isEmpty, rest.isEmpty else { return }
        let messages = LogMessage.messages(
            of: batch, after: reader.chain, head: message(.resign, term: term), limits: limits)
        // A reader takes no more: it would stop every node.
        guard messages.count <= MessageLimits.partCount else {
            batch = []
            actions.append(
                .warn(
                    "a batch is longer than \(MessageLimits.partCount) messages of \(limits.byteCount) bytes, and the engine takes no longer ones"
                ))
            return actions.append(.full)
        }
        rest = messages.map { $0.encoded() }
        send(rest.removeFirst(), at: now)
    }

    /// The message in flight is longer than the log store takes by now, and is not stored. Parts of the batch that are stored count no more
    /// when it begins again.
    private mutating func cutAgain(at now: MonotonicTime) {
        rest = []
        switch role {
        case .campaigning: role = .standby
        case .leading where !batch.isEmpty && !isRenewing && longest.map { appender.bytes.count > $0 } == true:
            sendBatch(at: now)
        case .leading:
            standDown("the engine takes no message of \(appender.bytes.count) bytes", at: now)
        case .standby, .stopped: break
        }
    }

    /// The leader hands over: it stands down when the log has the message that says so.
    ///
    /// - Parameter successor: The node that is to lead next; `nil` = any.
    /// - Returns: `false` where it does not lead, or where a message is being appended: ask again after that.
    @discardableResult
    public mutating func resign(to successor: String? = nil, at now: MonotonicTime) -> Bool {
        guard role == .leading, batch.isEmpty, appender.phase == .idle else { return false }
        send(message(successor.map { .handOver(to: $0) } ?? .resign, term: term).encoded(), at: now)
        return true
    }

    /// The leader ends the log: the history continues elsewhere. It stops when the log has stored the seal.
    ///
    /// - Returns: `false` as ``resign(at:)``.
    @discardableResult
    public mutating func seal(at now: MonotonicTime) -> Bool {
        guard role == .leading, batch.isEmpty, appender.phase == .idle else { return false }
        send(message(.seal, term: term).encoded(), at: now)
        return true
    }

    /// A leader in limbo asks the log.
    mutating func renew(at now: MonotonicTime) {
        guard role == .leading, isInLimbo, appender.phase == .idle, batch.isEmpty else { return }
        isRenewing = true
        send(message(.term(address: address, release: release), term: term).encoded(), at: now)
    }

    // MARK: Roles

    /// Whether a leader may write rows, replies and requests to providers now. The first question of each turn.
    public mutating func mayShow(at now: MonotonicTime) -> Bool {
        guard role == .leading else { return false }
        if !isInLimbo, now.milliseconds(since: lastProof) > settings.lease {
            isInLimbo = true
            renew(at: now)
        }
        return !isInLimbo
    }

    var mayVolunteer: Bool {
        role == .standby && hasReadToEnd && !isSyncRefuted && !isBarred && !isHeldBack && !settings.isObserver
    }

    /// Tries to lead, where that is due.
    mutating func volunteer(at now: MonotonicTime) {
        election.passed(to: now)
        guard mayVolunteer, appender.phase == .idle,
            let moment = election.moment(position: reader.position, skew: skew), now >= moment
        else { return }
        role = .campaigning
        let newest = reader.leader?.term ?? formerTerm
        send(message(.term(address: address, release: release), term: newest + 1).encoded(), at: now)
    }

    /// A server of the log store reports that it does not sync before it acknowledges, or all report again that they do.
    ///
    /// An `OK` must mean that a majority has synced. If one of three does not, it may mean one disk. So a leader stands
    /// down, and no node leads until the server is repaired. A server that does not answer changes nothing.
    public mutating func syncChanged(isRefuted: Bool, at now: MonotonicTime) {
        guard role != .stopped else { return }
        isSyncRefuted = isRefuted
        if isRefuted, role == .leading {
            standDown("a server of the engine does not sync before it acknowledges", at: now)
        }
        volunteer(at: now)
    }

    /// The log store does not let this node append or send heartbeats, or lets it again.
    ///
    /// A leader that cannot append answers nobody, and one that cannot send heartbeats is deposed again and again.
    public mutating func barred(_ isBarred: Bool, at now: MonotonicTime) {
        guard role != .stopped else { return }
        self.isBarred = isBarred
        if isBarred, role == .leading { standDown("the engine does not let this node publish", at: now) }
        if isBarred, role == .campaigning {
            leave()
            role = .standby
        }
        volunteer(at: now)
    }

    mutating func standDown(_ reason: String, at now: MonotonicTime) {
        leave()
        role = .standby
        // The others are to know that it may lead again.
        nextHeartbeat = min(nextHeartbeat, now)
        election.leaderBegan(at: now)
        actions.append(.standDown(reason))
    }

    mutating func stop(_ reason: String, isLoss: Bool = true) {
        if role == .leading { actions.append(.standDown(reason)) }
        leave()
        role = .stopped
        actions.append(.stop(reason, isLoss: isLoss))
    }

    /// Ends for the sake of the process at this address, which has the same name.
    mutating func refuse(_ address: String) {
        if role == .leading { actions.append(.standDown("another process has its name")) }
        leave()
        role = .stopped
        actions.append(.refuse(duplicateNode: address))
    }

    private mutating func leave() {
        appender.deposed()
        (rest, batch) = ([], [])
        (isInLimbo, isRenewing, unconfirmedTerm) = (false, false, nil)
    }
}
