import Journal
import Replication

// Other programs, bugs of the engine, and its end.
extension SimulatedLog {
    /// A stranger writes: rubbish, or a batch of another cluster.
    func takeStranger() {
        guard !records.isEmpty, random.chance(700) else { return store([1, 2, 3]) }
        var record = records[random.below(records.count)]
        record.sequence = reader.chain.sequence + 1
        let message = LogMessage(
            cluster: "stranger", epoch: 7, term: reader.term, node: "n1", instance: 0, sequence: reader.chain.sequence,
            link: reader.chain.link, body: .batch([record]))
        store(message.encoded())
    }

    func suffer(_ bug: ClusterClimate.EngineBug) {
        guard !messages.isEmpty else { return }
        cluster.trace?(cluster.now, -2, "a bug of the engine: \(bug)")
        switch bug {
        case .tailLost: messages.removeLast(min(messages.count, 1 + random.below(5)))
        case .messageChanged:
            let index = random.below(messages.count)
            messages[index][random.below(messages[index].count)] ^= 0x10
        case .streamDeleted: messages = []
        }
        frozenEnds = frozenEnds.map { _ in nil }
    }

    // MARK: Another log

    /// An operator removes the log with all that belongs to it, and another one is made, which is empty. What was under way to the
    /// one before has no effect on it.
    ///
    /// - Parameter term: The newest one that the folder knows which the history goes on from.
    func beginAnew(behind term: Int64) {
        cluster.trace?(cluster.now, -2, "the log is removed, and made anew")
        number += 1
        formerTerm = term
        (messages, first, bases, beats) = ([], 1, SimulatedBases(), SimulatedBeats())
        reader = LogReader(cluster: SimulatedCluster.name, epoch: nil)
        recentAnswers = []
        mend()
    }

    /// An operator sees that the engine is well.
    func mend() {
        for index in links.indices { cut(index, as: .whole) }
        beats.catchUp()
        isFull = false
        rights.mend()
    }

    /// A log that was made anew may begin in the middle of the history, behind a base.
    func beginReading() {
        reader = beginningReader
        if let first = try? LogMessage(decoding: messages[0]), reader.chain.sequence != first.sequence {
            cluster.violated("P9", "the log begins behind record \(first.sequence), which the history has not")
        }
    }

    /// Of the log from its first message on.
    var beginningReader: LogReader {
        let chain = messages.first.flatMap { try? LogMessage(decoding: $0) }.flatMap { message in
            chains.first { ($0.sequence, $0.link) == (message.sequence, message.link) }
        }
        let isLater = number > 1 && chain != nil
        return LogReader(
            cluster: SimulatedCluster.name, epoch: nil, chain: isLater ? chain ?? RecordChain() : RecordChain(),
            origin: isLater ? chain : nil)
    }

    /// Whether the history has this record. Behind a base that a folder gave the log, its time may be that of another one.
    func hasRecord(of chain: RecordChain) -> Bool {
        chain.sequence < Int64(chains.count) && chains[Int(chain.sequence)].link == chain.link
    }

    /// Records that a log made anew has of the history are those of before.
    func take(_ more: [JournalRecord]) {
        for record in more {
            let place = Int(clamping: record.sequence) - 1
            guard place < records.count else {
                goOn(with: [record])
                continue
            }
            if records[place] != record {
                cluster.violated("P9", "record \(record.sequence) of the log is not that of the history")
            }
        }
    }

    /// The history goes on, in the log or in a folder without one.
    func goOn(with more: [JournalRecord]) {
        for record in more {
            var chain = chains[chains.count - 1]
            chain.append(record)
            chains.append(chain)
        }
        records += more
        cluster.stored(more)
    }
}
