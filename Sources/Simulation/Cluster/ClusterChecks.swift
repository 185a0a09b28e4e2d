import Hub
import Journal
import Machines
import Replication
import Server
import TelltaleModel

/// The promises, as a cluster has to keep them. The truth is what the log stored, to a reader that never missed anything.
final class ClusterChecks {
    private unowned let cluster: SimulatedCluster
    /// A bug of the log store lost what was acknowledged: it must be reported, and cannot be survived.
    private(set) var isForgiven = false
    private var logStoreBug: ClusterClimate.LogStoreBug?
    private var terms: [Int64: Int64] = [:]
    /// Replays the log as it is stored.
    private var reference: Hub?
    /// Of the state behind each record.
    private var hashes: [Int64: UInt64] = [:]

    /// Nodes that have read what the log store has lost, with the newest message that each has read: they must report.
    private var witnesses: [Int: (position: Int64, message: [UInt8])] = [:]

    private var drains = DrainCheck()
    private(set) var rowsOfStandbys = 0
    /// The messages that a leader knew of at each second.
    private var ends: [(time: Int64, end: Int64)] = []

    /// Nodes that have reported so, and whose folders are as they were then.
    private var reported: Set<Int> = []

    init(_ cluster: SimulatedCluster) {
        self.cluster = cluster
    }

    func logStoreFailed(_ bug: ClusterClimate.LogStoreBug, before: [[UInt8]]) {
        logStoreBug = bug
        guard bug != .messageChanged else { return }
        isForgiven = true
        for node in cluster.nodes where !node.isOutdated {
            let position = node.localJournal.reader.position
            guard position > cluster.log.end else { continue }
            witnesses[node.index] = (position, before[Int(position) - 1])
        }
    }

    /// A node was killed: its folder may have lost what it has seen.
    ///
    /// - Parameter isWhole: The folder has all that was written to it.
    func lost(_ node: ClusterNode, isWhole: Bool) {
        if !isWhole { reported.remove(node.index) }
        guard let witness = witnesses[node.index], node.localJournal.reader.position < witness.position else { return }
        witnesses[node.index] = nil
    }

    // MARK: The log and its copies

    /// Settings and kinds come with the first batch, and no takeover changes them.
    func stored(_ records: [JournalRecord]) {
        for record in records where record.entity.isEmpty && record.sequence > 2 {
            cluster.violated("P3", "record \(record.sequence) changes the kinds or the settings in force")
        }
        if reference == nil { reference = Hub(configuration: cluster.configuration, epoch: cluster.log.epoch ?? 0) }
        do {
            for record in records {
                try reference?.replay(record)
                hashes[record.sequence] = reference?.stateHash
            }
            if records.contains(where: { isControl($0.entity) }) { noteAssignments() }
        } catch {
            cluster.violated("P10", "the log has a record that gives another result when it is replayed: \(error)")
        }
    }

    // MARK: Providers

    /// What the log says of each operation, and since when: the connection that performs it, or that it is over.
    private var operations: [String: (provider: Int64?, since: Int64)] = [:]
    /// The connection that acts for each control, and since when.
    private var acting: [Key: (provider: Int64, since: Int64)] = [:]

    private func isControl(_ key: String) -> Bool {
        cluster.setting.cast.controlKinds.contains { key.hasPrefix($0 + "/") }
    }

    private func noteAssignments() {
        var (open, next): ([String: Int64], [Key: (provider: Int64, since: Int64)]) = ([:], [:])
        for (key, provider, operation) in reference?.assignments ?? [] where isControl(key.text) {
            if let provider {
                next[key] = acting[key].flatMap { $0.provider == provider ? $0 : nil } ?? (provider, cluster.now)
            }
            if let provider, let operation { open[operation.description] = provider }
        }
        for (key, known) in acting.sorted(by: { $0.key.text < $1.key.text }) where next[key]?.provider != known.provider
        {
            // A new control begins with the connection that reported it.
            if known.since < cluster.now { left(known.provider, key) }
        }
        acting = next
        for (operation, known) in operations where known.provider != nil && open[operation] == nil {
            operations[operation] = (nil, cluster.now)
        }
        for (operation, provider) in open where operations[operation]?.provider != provider {
            operations[operation] = (provider, cluster.now)
        }
    }

    /// P6: a provider that is connected to a node at the leader keeps its place.
    private func left(_ connection: Int64, _ key: Key) {
        let span = 2 * ReplicaSettings().lease.count + 5_000
        for node in cluster.nodes where node.isAtLeader(since: cluster.now - span) {
            guard let link = node.links.values.first(where: { $0.session?.number == connection }),
                link.isOpenAtClient
            else { continue }
            cluster.violated("P6", "a provider at \(node.name) does not act for \(key) any more, and has not left")
        }
    }

    /// P6: nobody is asked for what is over, or for what another one was asked for long ago.
    func asked(_ bytes: [UInt8], _ connection: Int64, by node: ClusterNode) {
        for line in bytes.split(separator: UInt8(ascii: "\n")) where line.starts(with: "DO ".utf8) {
            let words = String(decoding: line, as: UTF8.self).split(separator: " ")
            guard let name = words.first(where: { $0.hasPrefix("op=") })?.dropFirst(3),
                let operation = operations[String(name)], operation.provider != connection,
                cluster.now - operation.since > ReplicaSettings().lease.count + 2_000
            else { continue }
            let fate = operation.provider == nil ? "is over" : "is another one's"
            cluster.violated(
                "P6", "\(node.name) asks for \(name), which \(fate) for \(cluster.now - operation.since) ms")
        }
    }

    /// P4: who acts at the end is there, and where somebody serves somebody acts.
    private func finishProviders(_ leader: ClusterNode) {
        let serving = cluster.clients.filter { $0 is LampProvider }.compactMap { $0.link?.session?.number }
        for (key, provider, _) in leader.server?.hub.assignments ?? [] where isControl(key.text) {
            if let provider, serving.contains(provider) { continue }
            cluster.violated("P4", "\(key) has the provider \(provider ?? 0) at the end, and \(serving) serve")
        }
    }

    /// P1: what a leader takes for stored is in the log, and no two terms have one position.
    func acknowledged(
        _ records: [JournalRecord], by node: ClusterNode, term: Int64
    ) {
        compare(records, "acknowledges", "P1", node)
        for record in records {
            let known = terms[record.sequence] ?? term
            if known != term {
                cluster.violated("P1", "record \(record.sequence) is acknowledged in term \(known) and in term \(term)")
            }
            terms[record.sequence] = term
        }
    }

    /// P1: an `OK` is to mean that a majority has synced. A node that knows of a server that does not gives none.
    func mayAcknowledge(_ node: ClusterNode) {
        guard node.isSyncRefuted, cluster.log.sync.isRefuted else { return }
        cluster.violated("P1", "\(node.name) leads, and knows of a server that does not sync")
    }

    /// P9: a local journal is a beginning of the log.
    func copied(_ records: [JournalRecord], by node: ClusterNode) {
        compare(records, "copies", "P9", node)
        if node.localJournal.chain.sequence != node.localJournal.lastSequence {
            cluster.violated(
                "P9",
                "\(node.name) has record \(node.localJournal.lastSequence), and the place of record \(node.localJournal.chain.sequence)"
            )
        }
    }

    private func compare(
        _ records: [JournalRecord], _ verb: String, _ promise: String, _ node: ClusterNode
    ) {
        let truth = cluster.log.records
        for record in records {
            let place = Int(record.sequence) - 1
            guard truth.indices.contains(place), truth[place] == record else {
                return cluster.violated(
                    promise, "\(node.name) \(verb) record \(record.sequence), which the log has not")
            }
        }
    }

    /// P3, P10: the state behind a record is the same on every node, and that of the log.
    func hashed(_ hash: UInt64, at sequence: Int64, by node: ClusterNode) {
        if let known = hashes[sequence], known != hash {
            cluster.violated("P10", "\(node.name) has another state behind record \(sequence) than the log")
        }
    }

    /// A checkpoint is one of the log: of the right lineage, and of the records that the log has. A node that has reported a
    /// loss takes none:
    /// it would show what replaced the messages that it has read.
    func loaded(by node: ClusterNode) {
        if reported.contains(node.index) {
            cluster.report("P9", "\(node.name) has told a loss, and takes a base of the log as it is now")
        }
        let chain = node.localJournal.chain
        guard cluster.log.hasRecord(of: chain), node.localJournal.epoch == cluster.log.epoch
        else {
            return cluster.violated(
                "P9", "\(node.name) takes the base of record \(chain.sequence), which the log has not")
        }
    }

    /// A message that is purged is held by the two newest whole checkpoints.
    func purged(before: Int64, by index: Int) {
        let held = cluster.log.checkpoints.whole.filter { $0.reader.position >= before }
        let isEnough = held.count >= (cluster.log.checkpoints.damaged == nil ? 2 : 1)
        if !isEnough {
            cluster.violated("P1", "n\(index + 1) purges before message \(before), and \(held.count) bases hold that")
        }
    }

    var hasLogStoreBug: Bool { logStoreBug != nil }

    func stopped(_ node: ClusterNode, _ reason: String) {
        if node.isOutdated { return cluster.retire(node) }
        reports()
        // It has reported. An operator who empties its folder accepts the log.
        if let witness = witnesses.removeValue(forKey: node.index),
            !cluster.log.has(witness.message, at: witness.position)
        {
            reported.insert(node.index)
        }
        cluster.startAgain(node)
        if logStoreBug == nil { cluster.violated("P9", "\(node.name) stops, and the engine is right: \(reason)") }
    }

    /// A message that the log store has changed reads as another program's. Nodes that read it before and behind the change go
    /// apart, until some have stopped; the promises hold until it is reported.
    func reports() {
        if logStoreBug == .messageChanged { isForgiven = true }
    }

    // MARK: Moves

    /// Terms count on from log to log: a client that has seen a term takes a lower one for that of a leader that was deposed.
    func began(_ term: Int64, behind former: Int64) {
        guard term <= former else { return }
        cluster.violated("P3", "term \(term) begins, and the history was in term \(former) in the log before")
    }

    /// A folder leaves with all that the log has.
    func left(_ node: ClusterNode) {
        let (contents, truth) = (node.localJournal.contents, cluster.log.records)
        let isTrue = contents.records.allSatisfy {
            truth.indices.contains(Int($0.sequence) - 1) && truth[Int($0.sequence) - 1] == $0
        }
        if contents.lastSequence != truth.count || !isTrue {
            cluster.violated(
                "P1", "\(node.name) leaves with \(contents.lastSequence) records of \(truth.count), or with others")
        }
        if contents.mark != nil || contents.epoch != cluster.log.epoch {
            cluster.violated("P5", "the folder of \(node.name) is no single daemon's of the same epoch")
        }
    }

    /// The log has the history of the folder, which is a copy of it.
    func moved(_ node: ClusterNode) {
        let (log, copy, count) = (cluster.log.reader.chain, node.localJournal.chain, Int64(cluster.log.records.count))
        let hasAll = [log, copy].allSatisfy { $0.sequence == count && cluster.log.hasRecord(of: $0) }
        if !hasAll || node.localJournal.epoch != cluster.log.epoch {
            cluster.violated(
                "P1",
                "behind the move the log has \(log.sequence) and \(node.name) \(copy.sequence) of \(count) records, or another epoch"
            )
        }
    }

    // MARK: What leaves

    /// P2: nothing is shown that the log has not; and nothing at all by a leader that has proved nothing for a lease.
    func written(_ bytes: [UInt8], by node: ClusterNode) {
        let silence = node.isLeading ? cluster.now - node.lastProof : 0
        if silence > ReplicaSettings().lease.count {
            let lines = bytes.split(separator: UInt8(ascii: "\n"))
            guard let first = lines.first(where: { !$0.starts(with: "MARK".utf8) && !$0.starts(with: "BYE ".utf8) })
            else { return }
            let line = String(decoding: first, as: UTF8.self)
            cluster.violated("P2", "\(node.name) has proved nothing for \(silence) ms, and writes \(line.prefix(60))")
        }
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            if !node.isLeading, line.starts(with: "UPD ".utf8) { rowsOfStandbys += 1 }
            let text = String(decoding: line.prefix { $0 != UInt8(ascii: "{") }, as: UTF8.self)
            guard let range = text.firstRange(of: " rev="),
                let rev = Int64(text[range.upperBound...].prefix { $0 != " " }), rev > cluster.durableSequence
            else { continue }
            cluster.violated("P2", "\(node.name) shows rev \(rev), and the log ends with \(cluster.durableSequence)")
        }
    }

    /// - Parameter interval: Between two farewells, in milliseconds.
    func beginsDrain(of node: ClusterNode, interval: Int64) { drains.begins(node, interval: interval) }
    func endsDrain(of node: ClusterNode) { drains.ends(node) }

    /// S-7: the clients of a node that drains leave one after the other.
    func farewell(_ bytes: [UInt8], to link: SimulatedLink, by node: ClusterNode) {
        guard bytes.firstRange(of: "BYE ".utf8) != nil else { return }
        if let fault = drains.written(bytes, to: link, by: node) { cluster.violated("drain", fault) }
    }

    /// P2: what a standby shows is the log up to the end of a batch.
    func shows(through sequence: Int64, by node: ClusterNode) {
        guard !cluster.log.batchEnds.contains(sequence) else { return }
        cluster.violated("P2", "\(node.name) shows the log up to record \(sequence), in the middle of a batch")
    }

    /// P10: a node that has replayed or undone a batch has the clocks of the newest record, whatever its own machine's says.
    func hasClocksOfRecord(_ node: ClusterNode) {
        guard let sequence = node.server?.sequence, let time = node.server?.lastTimes.record,
            cluster.log.records.indices.contains(Int(sequence) - 1)
        else { return }
        let record = cluster.log.records[Int(sequence) - 1]
        guard time != record.time else { return }
        cluster.violated(
            "P10",
            "\(node.name) is \((time - record.time).count) ms ahead of the time of its newest record, \(sequence)")
    }

    /// A node that does not lead says so to each new connection, and nothing else.
    func greeted(_ bytes: [UInt8], by node: ClusterNode) {
        let text = String(decoding: bytes, as: UTF8.self)
        let lines = text.split(separator: "\n")
        let isGreeting = text.hasPrefix("TELLTALE ") && lines[0].contains(" role=standby") && text.hasSuffix("\n")
        if !isGreeting || !lines.dropFirst().allSatisfy({ $0.hasPrefix("MARK ") && $0.contains(" stale=") }) {
            cluster.violated("P2", "\(node.name) does not lead, and writes \(text.prefix(100))")
        }
        // Heartbeats of a leader are on their way, or its silence is not noticed, for some seconds.
        guard let place = text.firstRange(of: " leader="),
            let leader = cluster.nodes.first(where: { lines[0][place.upperBound...] == $0.address }),
            let silence = leader.silence, silence > Self.farewellSpan
        else { return }
        cluster.violated("P7", "\(node.name) names \(leader.name), which has not led for \(silence) ms")
    }

    /// P4: a standby that has yet to read what a leader has known of for long says to each connection that its rows are old.
    func lookAtAges() {
        let now = cluster.now
        let end = min(cluster.log.end, cluster.nodes.lazy.filter(\.isLeading).compactMap(\.position).max() ?? 0)
        if cluster.log.end < ends.last?.end ?? 0 { ends = [] }
        ends.append((now, end))
        ends.removeFirst(ends.firstIndex { $0.time >= now - Self.ageSpan } ?? 0)
        guard let known = ends.first, now - known.time >= Self.ageSpan - 1_000 else { return }
        for node in cluster.nodes where node.isShowing && !node.isLeading {
            guard let position = node.position, position < known.end, node.hasBeenAwake(since: known.time) else {
                continue
            }
            guard node.links.values.contains(where: { !$0.isMarkedStale }) else { continue }
            cluster.violated(
                "P4",
                "\(node.name) has not read message \(known.end) of \(now - known.time) ms ago, and says nothing of it")
        }
    }

    /// A leader sends a heartbeat each second; a silent one is missed after a lease; a node looks each second.
    private static let ageSpan = ReplicaSettings().lease.count + 5_000

    /// P4: with a leader, and a log that is read, no rows are old.
    private func finishAges() {
        for client in cluster.clients where client.link?.isMarkedStale == true {
            cluster.violated("P4", "client \(client.index) is told at the end that its rows are old")
        }
    }

    private static let farewellSpan = ReplicaSettings().lease.count + 3_000

    // MARK: The end

    func finish(isQuiet: Bool) {
        switch logStoreBug {
        case nil: finishWhole(isQuiet: isQuiet)
        case .messageChanged?: finishHashes()
        case .tailLost?, .streamDeleted?: finishForked()
        }
    }

    /// A loss of the log store is reported: a node goes on only where its local journal is a beginning of what the log says now.
    private func finishForked() {
        var reader = cluster.log.beginningReader
        var chain = reader.chain
        var links = [chain.sequence: chain.link]
        links[0] = 0
        for message in cluster.log.messages {
            guard case .records(let records) = reader.read(message) else { continue }
            for record in records {
                chain.append(record)
                links[chain.sequence] = chain.link
            }
        }
        for node in cluster.nodes where node.isUp && !node.isStopped {
            if let witness = witnesses[node.index], !cluster.log.has(witness.message, at: witness.position) {
                cluster.report(
                    "P9",
                    "\(node.name) has read message \(witness.position), which the engine has lost, and does not tell")
            }
            let chain = node.localJournal.chain
            if links[chain.sequence] == chain.link { continue }
            cluster.report("P9", "\(node.name) goes on at record \(chain.sequence), which the engine has lost")
        }
    }

    private func finishHashes(of node: ClusterNode) {
        guard node.isUp, !node.isStopped, node.localJournal.epoch != nil else { return }
        do {
            let hub = try Hub.recovered(from: InMemoryJournal(node.localJournal.contents), cluster.configuration)
            hashed(hub.stateHash, at: hub.lastRecordSequence, by: node)
            node.noteHash()
            if node.isLeading, node.server?.isCommitting == false {
                hashed(node.server?.hub.stateHash ?? 0, at: node.server?.hub.lastRecordSequence ?? 0, by: node)
            }
        } catch {
            cluster.violated("P9", "the copy of \(node.name) does not recover: \(error)")
        }
    }

    private func finishHashes() {
        for node in cluster.nodes { finishHashes(of: node) }
    }

    private func finishWhole(isQuiet: Bool) {
        finishHashes()
        finishAges()
        guard isQuiet else { return cluster.violated("P4", "it does not come to rest") }
        guard let leader = cluster.nodes.first(where: \.isLeading) else { return }
        for node in cluster.nodes where !node.isDuplicateNode && node.localJournal.chain != leader.localJournal.chain {
            cluster.violated(
                "P4",
                "\(node.name) has \(node.localJournal.chain.sequence) of \(leader.localJournal.chain.sequence) records")
        }
        do {
            finishProviders(leader)
            try finishClients(leader)
        } catch {
            cluster.violated("P9", "the copy of \(leader.name) does not recover: \(error)")
        }
    }

    /// P1: the log has what was acknowledged, under the number that was reported.
    private func checkRevs(of posts: [Acknowledgement], source: String) {
        let truth = cluster.log.records
        for post in posts {
            guard let key = post.line.split(separator: " ").first(where: { $0.contains("/") }) else { continue }
            let place = Int(post.rev) - 1
            if truth.indices.contains(place), truth[place].entity == key { continue }
            cluster.violated("P1", "\(source) was told rev \(post.rev) for \(post.line), which the log has not")
        }
    }

    /// P6, P8: an event without an id counts once if it was acknowledged, never if it was refused, and once at most otherwise.
    private func checkMarks(of poster: MarkPoster) {
        let records = cluster.log.records.filter { $0.entity.contains("/mark-") }
        for post in poster.posts {
            let mark = Array(post.mark.utf8)
            let count = records.count { $0.entity == post.key && $0.body.firstRange(of: mark) != nil }
            let allowed =
                switch post.fate {
                case .sent: 0...1
                case .acknowledged: 1...1
                case .refused: 0...0
                // A log store may have the batch all the same that it had no room for.
                case .full: 0...(cluster.weather.fullDisks > 0 ? 1 : 0)
                }
            guard !allowed.contains(count) else { continue }
            cluster.violated("P6", "the log has \(post.mark) \(count) times, and its sender knows it as \(post.fate)")
        }
    }

    private func finishClients(_ leader: ClusterNode) throws {
        func answers(_ lines: [String]) throws -> [ClientLine] {
            var reader = ClientLines()
            return reader.readHeads(
                LoneServer.answers(
                    of: try .recovered(from: InMemoryJournal(leader.localJournal.contents), cluster.configuration),
                    to: lines, at: leader.hubTime)
            ).lines
        }
        for case let screen as Screen in cluster.clients {
            let fresh = Verdicts.snapshot(
                in: try answers(screen.introduction + ["SUB \(screen.pattern) view=\(screen.view) id=s"]))
            let name = "\(screen.name) (\(screen.pattern), \(screen.view))"
            if let fault = Verdicts.convergence(of: screen.table, to: fresh, client: name) { cluster.violated(fault) }
        }
        for case let poster as MarkPoster in cluster.clients { checkMarks(of: poster) }
        for case let poster as any Poster in cluster.clients {
            let posts = poster.acknowledged
            checkRevs(of: posts, source: poster.source)
            // A node that forgets what is old does not know it again.
            guard cluster.configuration.decisions.retention > .minutes(10) else { continue }
            let lines = try answers(["HELLO client=\(poster.source)"] + posts.map(\.line))
            for fault in Verdicts.acknowledgement(of: posts, source: poster.source, in: lines) {
                cluster.violated(fault)
            }
        }
    }
}
