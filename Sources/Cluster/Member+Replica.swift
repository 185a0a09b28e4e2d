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
        flushLocalJournal()
        holdReading()
        if isEnding, !isLeading { leaveCluster() }
    }

    mutating func takeActions(at now: HubTime) {
        defer { noteLeader() }
        while !hasStopped, let action = replica.nextAction() { handleEvent(action, at: now) }
        if replica.mayKeep, !replica.reader.isInBatch { localJournal.note(replica.reader) }
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
            localJournal.append(records)
            replay(records, at: now)
        case .lead(let term): if isRecovering { pendingTerm = term } else { lead(term: term, at: now) }
        case .stored(let records):
            // Before the batch is settled: its histories are read from the local journal.
            localJournal.append(records)
            if replica.mayKeep, !replica.reader.isInBatch { localJournal.note(replica.reader) }
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

    mutating func replay(_ records: [JournalRecord], at now: HubTime) {
        beginHistory()
        guard standby != nil else {
            backlog += records
            return
        }
        do {
            // Behind a recovery some may be there already.
            let sequence = standby?.sequence ?? 0
            let isNew = records.first.map { $0.sequence > sequence } ?? true
            try standby?.replay(isNew ? records : records.filter { $0.sequence > sequence }, at: now)
        } catch {
            stop("what another node has decided gives another result here: \(error)")
        }
    }

    mutating func lead(term: Int64, at now: HubTime) {
        beginHistory()
        isLeading = true
        // It may have handed over in an earlier term.
        handover = .none
        flushLocalJournal()
        actions.append(
            .lead(
                term: term, wait: now.monotonic.milliseconds(since: lastSign),
                farewell: Farewell.bytes(wait: configuration.reconnectPause, leader: replica.address)))
    }

    mutating func standDown(_ reason: String, at now: HubTime) {
        pendingTerm = nil
        (appendedAt, decided) = (nil, [])
        guard isLeading else { return }
        isLeading = false
        if handover == .underWay { handover = .done }
        isRecovering = true
        standby = nil
        lastSign = now.monotonic
        leaderDetector.forget()
        flushLocalJournal()
        // A batch that was read together with its leader's deposal: what it shows is another leader's to show.
        actions.removeAll { if case .settle = $0 { true } else { false } }
        actions.append(
            .standDown(
                farewell: Farewell.bytes(wait: configuration.reconnectPause, leader: leader?.address), reason: reason,
                isEnding: isEnding))
    }

    mutating func stop(_ reason: String) { end(with: .stop(reason)) }

    private mutating func end(with action: Action) {
        guard !hasStopped else { return }
        hasStopped = true
        actions.append(action)
    }
}
