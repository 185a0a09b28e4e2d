import Cluster
import Hub
import Journal
import Kinds
import Replication
import Server
import TelltaleModel
import TelltaleWire

/// Makes a ``ClusterBug`` in what a node passes on between its replica, its server and the log store.
final class ClusterTampering {
    let bug: ClusterBug?
    /// The message in flight.
    private var current: (bytes: [UInt8], after: Int64, token: Int64) = ([], 0, 0)
    /// A term that was sent again behind messages that were not read.
    private var staleToken: Int64 = -1
    private var isPipelining = false
    private var awaited: Int64 = -1
    private var held: [Member.Action] = []
    private var pieces: [UInt8] = []
    /// Messages as the node was given them, by their positions: they are the same when it reads them again.
    private var edits: [Int64: [UInt8]] = [:]
    private var waiting: [SessionID: [UInt8]] = [:]
    private var nextStandbyTurn: Int64 = 0
    private var older: TakenSnapshot?
    /// The newest record that the node has replayed, and since when.
    private var lastReplay = (sequence: Int64(-1), time: MonotonicTime.distantPast)
    private var tellings: Int64 = 0

    /// - Parameter life: That of the process before on the same folder.
    init(_ bug: ClusterBug?, after life: ClusterTampering? = nil) {
        self.bug = bug
        edits = life?.edits ?? [:]
    }

    /// Of the message in flight.
    var token: Int64 { current.token }
    func isInFlight(_ bytes: [UInt8]) -> Bool { bytes == current.bytes }

    // MARK: Appends

    func append(_ bytes: [UInt8], after: Int64, token: Int64, of node: ClusterNode) {
        current = (bytes, after, token)
        let isLeading = node.member?.isLeading == true
        node.cluster.log.append(
            bytes, after: bug == .leaseTakenForFence && isLeading ? nil : after, token: token, from: node)
        switch bug {
        case .silenceTakenForLost where isLeading: node.schedule(after: 200) { node.full(token: token) }
        case .pipelinedFence where isPipelining:
            awaited = token
            node.member?.handleEvent(.stored(token: token, position: after + 1), at: node.hubTime)
        default: break
        }
    }

    /// - Returns: Whether the batch goes in another way.
    func appendBatch(_ records: [JournalRecord], isLast: Bool, of node: ClusterNode) -> Bool {
        guard bug == .pipelinedFence else { return false }
        guard isLast else { return true }
        isPipelining = records.count > 1
        for record in records {
            node.member?.append([record], isLast: true, at: node.hubTime)
            node.takeActions()
        }
        isPipelining = false
        return true
    }

    /// - Returns: Whether the action waits for the acknowledgement of the whole batch.
    func holds(_ action: Member.Action) -> Bool {
        guard isPipelining else { return false }
        switch action {
        case .keep, .settle: held.append(action)
        default: return false
        }
        return true
    }

    /// The actions that wait go with the batch.
    func stoodDown() { (held, awaited) = ([], -1) }

    func acknowledged(token: Int64, position: Int64, of node: ClusterNode) -> (token: Int64, position: Int64)? {
        switch bug {
        case .strangersAck: return (current.token, current.after + 1)
        case .leaseTakenForFence, .staleReadLeads:
            let isOwn = token == current.token && (bug == .leaseTakenForFence || token == staleToken)
            return isOwn ? (token, current.after + 1) : (token, position)
        case .pipelinedFence where token == awaited:
            let actions = held
            held = []
            let last = actions.lastIndex { if case .settle = $0 { true } else { false } }
            for (place, action) in actions.enumerated() {
                if case .settle = action, place != last { continue }
                node.perform(action)
            }
            node.perform()
            return nil
        default: return (token, position)
        }
    }

    /// - Returns: Whether that was all.
    func refused(token: Int64, last: Int64, of node: ClusterNode) -> Bool {
        guard token == current.token else { return false }
        switch bug {
        case .refusalTakenForStored:
            node.member?.handleEvent(.stored(token: token, position: current.after + 1), at: node.hubTime)
            return true
        case .staleReadLeads where node.member?.replica.role == .campaigning && last > current.after:
            staleToken = token
            node.cluster.log.append(current.bytes, after: last, token: token, from: node)
            return true
        default: return false
        }
    }

    // MARK: The link to the leader

    /// The requests of each connection that the leader has yet to answer.
    private var forwarded: [String: Int] = [:]

    func toLeader(_ bytes: [UInt8]) -> [UInt8] {
        var given: [UInt8] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let words = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 2).map(String.init)
            if words[0] == "FWD" { forwarded[words[1], default: 0] += 1 }
            switch bug {
            case .guestsUnnamed where words[0] == "GUEST": given += Array("GUEST \(words[1]) {}".utf8)
            case .providersUnnamed where words[0] == "GUEST":
                given += Array(line).replacing(Array(#""serves":"#.utf8), with: Array(#""served":"#.utf8))
            default: given += Array(line)
            }
            given.append(UInt8(ascii: "\n"))
        }
        return given
    }

    func fromLeader(_ bytes: [UInt8]) -> [UInt8] {
        var given: [UInt8] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            var words = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 3).map(String.init)
            if words[0] == "RE" {
                forwarded[words[1], default: 1] -= 1
                if bug == .ownWriteUnseen { words[2] = "0" }
            }
            given += Array((words.joined(separator: " ") + "\n").utf8)
        }
        return given
    }

    /// A node is to lose its link: what it makes of the requests without an answer.
    func losesPipe(of node: ClusterNode) {
        for (number, count) in forwarded.sorted(by: { $0.key < $1.key }) where count > 0 {
            switch bug {
            case .forwardedTwice: node.server?.linkReceived(Array("AGAIN \(number)\n".utf8).span, at: node.hubTime)
            case .unknownFateRefused:
                let line = "RE \(number) 0 ERR code=not_leader retry=now\n"
                for _ in 0..<count { node.server?.linkReceived(Array(line.utf8).span, at: node.hubTime) }
            default: break
            }
        }
        forwarded = [:]
    }

    // MARK: Reads

    /// - Returns: Whether the node was given other messages in their place.
    func reads(_ messages: [[UInt8]], from: Int64, end: Int64, of node: ClusterNode) -> Bool {
        guard bug == .chainUnchecked || bug == .halfBatchReplayed, !messages.isEmpty else { return false }
        let position = node.position ?? 0
        let known = Int(min(max(0, position - from), Int64(messages.count)))
        var given = messages
        for place in given.indices.prefix(known) { given[place] = edits[from + Int64(place) + 1] ?? given[place] }
        node.member?.handleEvent(.read(Array(given.prefix(known)), from: from, end: end), at: node.hubTime)
        node.takeActions()
        for place in given.indices.dropFirst(known) {
            let message = read(messages[place], of: node)
            if message != messages[place] { edits[from + Int64(place) + 1] = message }
            node.member?.handleEvent(.read([message], from: from + Int64(place), end: end), at: node.hubTime)
            node.takeActions()
        }
        node.perform()
        return true
    }

    private func read(_ bytes: [UInt8], of node: ClusterNode) -> [UInt8] {
        guard let reader = node.member?.replica.reader, var message = try? LogMessage(decoding: bytes) else {
            return bytes
        }
        if bug == .chainUnchecked {
            guard message.cluster != SimulatedCluster.name, let leader = reader.leader else { return bytes }
            message.cluster = SimulatedCluster.name
            (message.epoch, message.term) = (reader.epoch ?? 0, leader.term)
            (message.node, message.instance) = (leader.node, leader.instance)
            (message.sequence, message.link) = (reader.chain.sequence, reader.chain.link)
            return message.encoded()
        }
        switch message.body {
        case .part(let number, let count, let piece):
            if number == 1 { pieces = [] }
            pieces = number == count ? [] : pieces + piece
        case .term:
            // The next leader's word comes in the place of the rest: so much of the batch as is there is taken for all of it.
            defer { pieces = [] }
            guard let leader = reader.leader else { return bytes }
            for length in stride(from: pieces.count, to: 0, by: -1) {
                guard let records = try? LogMessage.records(in: Array(pieces[..<length])) else { continue }
                return LogMessage(
                    cluster: message.cluster, epoch: message.epoch, term: leader.term, node: leader.node,
                    instance: leader.instance, sequence: reader.chain.sequence, link: reader.chain.link,
                    body: .batch(records)
                ).encoded()
            }
        case .batch, .resign, .handOver, .seal: pieces = []
        }
        return bytes
    }

    /// The heartbeat, as if its process had said it just now.
    func anew(_ heartbeat: Heartbeat) -> Heartbeat {
        tellings += 1
        var heartbeat = heartbeat
        heartbeat.number += tellings
        return heartbeat
    }

    /// The word of the log store's servers about themselves, as the node is sent it.
    func altered(_ sync: LogStoreSync) -> LogStoreSync {
        switch (bug, sync) {
        case (.refutedSyncTrusted, .refuted): .trusted
        case (.silenceTakenForSync, .unknown): .proven
        case _: sync
        }
    }

    // MARK: The hub and the local journal

    /// The server with which a node begins to lead in the place of its own; `nil` = it keeps that.
    func otherServer(of node: ClusterNode) throws -> Server? {
        var contents = node.localJournal.contents
        switch bug {
        case .epochAtTakeover: contents.epoch = UInt64(node.member?.replica.term ?? 0)
        case .behindCursorServed:
            guard !contents.records.isEmpty else { return nil }
            contents.records.removeLast()
            contents.lastSequence -= 1
        default: return nil
        }
        return Server(
            try .recovered(from: InMemoryJournal(contents), node.cluster.configuration),
            configuration: ServerConfiguration(), snapshotSequence: 0)
    }

    /// The records of a batch as the hub of a follower is given them.
    func replayed(_ records: [JournalRecord], by node: ClusterNode) -> [JournalRecord] {
        guard bug == .followersClockInReplay else { return records }
        return records.map { record in
            var record = record
            record.time = max(record.time, node.hubTime.time)
            return record
        }
    }

    /// A standby that has a server of its own decides what is due.
    func standbyTurn(of node: ClusterNode) {
        guard bug == .standbyFiresTimers, node.localJournal.lastSequence > 0, node.cluster.now >= nextStandbyTurn else {
            return
        }
        nextStandbyTurn = node.cluster.now + 1_000
        guard let hub = node.recoveredHub() else { return }
        let configuration = node.cluster.configuration
        var server = Server(hub, configuration: ServerConfiguration(), snapshotSequence: 0)
        try? server.lead(beginningWith: [], configuration.decisions)
        server.turn(at: node.hubTime)
        var records: [JournalRecord] = []
        while let action = server.nextAction(at: node.hubTime) {
            if case .append(let part, _) = action { records += part }
        }
        try? node.localJournal.keepWithoutMark(records)
        node.cluster.checks.copied(records, by: node)
    }

    /// The server of a leader has decided a batch.
    func decided(_ records: [JournalRecord], by node: ClusterNode) {
        guard bug == .copiedBeforeStored else { return }
        try? node.localJournal.keepWithoutMark(records)
        node.cluster.checks.copied(records, by: node)
    }

    /// The records that the local journal does not have yet.
    func kept(_ records: [JournalRecord], in localJournal: LocalJournal) -> [JournalRecord] {
        guard bug == .copiedBeforeStored || bug == .standbyFiresTimers else { return records }
        return records.filter { $0.sequence > localJournal.lastSequence }
    }

    // MARK: Snapshots and checkpoints

    /// The state that a node puts in a checkpoint.
    func checkpoint(_ snapshot: TakenSnapshot) -> TakenSnapshot {
        guard bug == .baseOfOtherRecord else { return snapshot }
        defer { older = snapshot }
        return older ?? snapshot
    }

    func taken(_ snapshot: HubSnapshot, by node: ClusterNode) -> TakenSnapshot {
        var taken = TakenSnapshot(snapshot)
        if bug == .clocksOfLastTurn, node.isLeading, let time = node.server?.hub.lastRecordTime {
            let (old, new) = (Self.encoded(time), Self.encoded(node.hubTime.time))
            taken.chunks[0] = taken.chunks[0].replacing(old, with: new, maxReplacements: 2)
        }
        return taken
    }

    private static func encoded(_ time: Timestamp) -> [UInt8] {
        var writer = BinaryWriter()
        writer.write(time)
        return writer.bytes
    }

    /// Whether a local journal forgets at once what a snapshot is to hold.
    var prunesEarly: Bool { bug == .prunedBeforeSnapshot }

    // MARK: Checkpoints

    /// The bug makes a checkpoint fit what is there: its manifest is made anew from the pieces, or with the epoch of the node.
    func answered(_ answer: CheckpointAnswer, to node: ClusterNode) -> CheckpointAnswer {
        guard let reader = node.member?.replica.reader else { return answer }
        guard case .list(let stored, let extent) = answer, let log = node.cluster.log else { return answer }
        switch bug {
        case .incompleteBaseUsed:
            return .list(
                stored.map { checkpoint in
                    edit(checkpoint) { manifest in
                        manifest.pieceCount = checkpoint.pieceCount
                        manifest.checksum = log.checkpoints.checksum(of: checkpoint.id)
                    }
                }, extent)
        case .foreignBaseTaken, .chainUncheckedAtBase:
            return .list(
                stored.map { checkpoint in
                    edit(checkpoint) { manifest in
                        let own = manifest.reader.epoch
                        guard bug == .foreignBaseTaken || own == log.epoch else { return }
                        let epoch = bug == .foreignBaseTaken ? reader.epoch ?? own : own
                        manifest.reader = unchecked(manifest.reader, epoch: epoch, log)
                    }
                }, extent)
        default: return answer
        }
    }

    /// Follows whatever message the log has there.
    private func unchecked(_ reader: LogReader, epoch: UInt64?, _ log: SimulatedLog) -> LogReader {
        guard reader.position <= log.end else { return reader }
        return LogReader(
            cluster: reader.cluster, epoch: epoch, position: reader.position,
            digests: [LogReader.digest(of: log.messages[Int(reader.position) - 1])], chain: reader.chain,
            leader: reader.leader)
    }

    private func edit(_ checkpoint: StoredCheckpoint, _ body: (inout CheckpointManifest) -> Void) -> StoredCheckpoint {
        guard let bytes = checkpoint.manifest, var manifest = try? CheckpointManifest(decoding: bytes) else {
            return checkpoint
        }
        body(&manifest)
        var checkpoint = checkpoint
        checkpoint.manifest = manifest.encoded()
        return checkpoint
    }

    func asked(_ request: CheckpointRequest, of node: ClusterNode) -> CheckpointRequest {
        guard bug == .purgedBeyondBase, case .purge = request, let position = node.position else { return request }
        return .purge(before: position - 1)
    }

    // MARK: Writes

    /// All connections have ended, and sessions are counted anew.
    func connectionsEnded() { (waiting, delayedLines) = ([:], [:]) }

    /// Whether a node that may not show anything goes on with its turn.
    func showsAnyway(isLeading: Bool) -> Bool {
        switch bug {
        case .oldLeaderShows, .doAfterDeposal: isLeading
        default: false
        }
    }

    /// What asks a provider waits until the operation is over.
    private func delayed(_ bytes: [UInt8], to session: SessionID, at now: Int64) -> [UInt8] {
        var given: [UInt8] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let line = line + [UInt8(ascii: "\n")]
            if line.starts(with: "DO ".utf8) {
                delayedLines[session, default: []].append((now, Array(line)))
            } else {
                given += line
            }
        }
        while let (time, line) = delayedLines[session]?.first, now - time > Self.delay {
            given += line
            delayedLines[session]?.removeFirst()
        }
        return given
    }

    private var delayedLines: [SessionID: [(time: Int64, line: [UInt8])]] = [:]
    private static let delay: Int64 = 15_000

    /// In limbo the requests to providers leave, and all else waits.
    func written(_ bytes: [UInt8], to session: SessionID, of node: ClusterNode) -> [UInt8] {
        if bug == .doBehindTime { return delayed(bytes, to: session, at: node.cluster.now) }
        guard bug == .doAfterDeposal else { return bytes }
        guard node.member?.replica.isInLimbo == true else {
            return (waiting.removeValue(forKey: session) ?? []) + bytes
        }
        var requests: [UInt8] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let line = line + [UInt8(ascii: "\n")]
            if line.starts(with: "DO ".utf8) { requests += line } else { waiting[session, default: []] += line }
        }
        return requests
    }

    // MARK: What a standby says

    /// What a client says of what it has seen does not reach a node that follows.
    func received(_ bytes: [UInt8], by node: ClusterNode) -> [UInt8] {
        guard bug == .afterIgnored || bug == .resetBehind, !node.isLeading else { return bytes }
        let sequence = node.server?.sequence ?? 0
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { line in
            let words = line.split(separator: " ").filter { !$0.hasPrefix("after=") }.compactMap { word -> String? in
                guard word.hasPrefix("from="), let cursor = Cursor(word.dropFirst(5)), cursor.sequence > sequence
                else { return String(word) }
                guard bug == .resetBehind else { return nil }
                return "from=\(Cursor(epoch: 1, sequence: cursor.sequence, selection: cursor.selection))"
            }
            return words.joined(separator: " ") + "\n"
        }
        return Array(lines.joined().utf8)
    }

    func stands(_ status: inout ClusterStatus, of node: ClusterNode) {
        switch bug {
        case .staleServedSilently: status.staleSince = nil
        case .idleTakenForStale where status.serves && !node.isLeading:
            let sequence = node.server?.sequence ?? 0
            if lastReplay.sequence != sequence { lastReplay = (sequence, node.monotonic) }
            let isIdle = node.monotonic.milliseconds(since: lastReplay.time) > ReplicaSettings().lease
            if isIdle { status.staleSince = lastReplay.time }
        default: break
        }
    }

    // MARK: Moves of the history

    /// The folder as a command leaves it.
    func moved(_ contents: InMemoryJournal.Contents, from before: InMemoryJournal.Contents) -> InMemoryJournal.Contents
    {
        guard bug == .leftWithoutTail, contents.mark == nil else { return contents }
        var left = before
        (left.mark, left.formerMark) = (nil, contents.formerMark)
        return left
    }

    /// The folder as a command finds it that takes it into a log.
    func moving(_ contents: InMemoryJournal.Contents) -> InMemoryJournal.Contents {
        guard bug == .termsCountedAnew else { return contents }
        var moving = contents
        moving.formerMark = nil
        return moving
    }

    /// The direction of an interrupted restore that is run again.
    func again(_ direction: HistoryMove.Direction) -> HistoryMove.Direction {
        guard bug == .restoreBegunAnew, case .anew(let epoch) = direction else { return direction }
        return .intoLog(epoch: epoch)
    }
}
