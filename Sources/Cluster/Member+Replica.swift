internal import Hub
internal import Journal
internal import Replication
internal import Server
internal import TelltaleModel

// The actions of the replica.
extension Member {
    mutating func settle(at now: HubTime) {
        takeActions(at: now)
        // The log store has no room for its word.
        if handover == .underWay, isLeading, replica.role == .leading, !replica.isAppending { handover = .none }
        performCheckpointActions(at: now)
        flushLocalJournal(at: now)
        holdReading()
        noteServing(at: now.monotonic)
        if isEnding, !isLeading { leaveCluster() }
    }

    private mutating func noteServing(at now: MonotonicTime) {
        let wasServing = isServing
        isServing = hasHistory && !isLoading && (isServing || replica.hasReadToEnd)
        if isLeading {
            currentAt = max(currentAt, replica.lastProof)
        } else if !wasServing {
            if isServing { currentAt = now }
        } else if replica.reader.position >= leadersWords.next.position {
            currentAt = max(currentAt, leadersWords.next.time)
            leadersWords.next = leadersWords.newest
            if replica.reader.position >= leadersWords.newest.position {
                currentAt = max(currentAt, leadersWords.newest.time)
            }
        }
        hasServed = hasServed || isServing
    }

    mutating func takeActions(at now: HubTime) {
        defer { noteLeader() }
        while !hasStopped, let action = replica.nextAction() { handleEvent(action, at: now) }
        noteReader(at: now)
    }

    private mutating func noteReader(at now: HubTime) {
        if replica.mayKeep, !replica.reader.isInBatch { localJournal.note(replica.reader, at: now.monotonic) }
    }

    private mutating func noteLeader() {
        guard let leader = replica.reader.leader, leader.term > notifiedTerm else { return }
        notifiedTerm = leader.term
        if leader.node != replica.node { actions.append(.follow(term: leader.term, node: leader.node)) }
    }

    private mutating func handleEvent(_ action: Replica.Action, at now: HubTime) {
        switch action {
        case .append(let bytes, let after, let token): actions.append(.append(bytes, after: after, token: token))
        case .read(let from): if !isLoading { actions.append(.read(from: from)) }
        case .beginsLater: beginLoading(at: now)
        case .heartbeat(let heartbeat): actions.append(.heartbeat(heartbeat))
        case .replay(let records):
            beginHistory()
            localJournal.append(records)
            actions.append(.replay(records))
        case .lead(let term): lead(term: term, at: now)
        case .stored(let records):
            // Before the batch is settled: its histories are read from the local journal.
            localJournal.append(records)
            noteReader(at: now)
            flushLocalJournal()
            let span = now.monotonic - (appendedAt ?? now.monotonic)
            appendedAt = nil
            actions.append(.settle(.durable(duration: span, wait: span)))
        case .full:
            appendedAt = nil
            actions.append(.settle(.full))
        case .standDown(let reason): standDown(reason, at: now)
        case .warn(let text): actions.append(.warn(text))
        case .stop(let reason, let isLoss):
            if isLoss { keepWitness(reason) }
            stop(reason)
        case .refuse(let duplicateNode): end(with: .refuse(duplicateNode: duplicateNode))
        }
    }

    mutating func lead(term: Int64, at now: HubTime) {
        beginHistory()
        isLeading = true
        // It may have handed over in an earlier term.
        handover = .none
        flushLocalJournal()
        actions.append(.lead(term: term, wait: now.monotonic.milliseconds(since: lastSign)))
    }

    mutating func standDown(_ reason: String, at now: HubTime) {
        (appendedAt, decided) = (nil, [])
        guard isLeading else { return }
        isLeading = false
        if handover == .underWay { handover = .done }
        lastSign = now.monotonic
        leaderDetector.forget()
        flushLocalJournal()
        actions.append(.standDown(reason: reason, isEnding: isEnding))
    }

    mutating func stop(_ reason: String) { end(with: .stop(reason)) }

    private mutating func end(with action: Action) {
        guard !hasStopped else { return }
        hasStopped = true
        actions.append(action)
    }
}
