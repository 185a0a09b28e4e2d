public import Journal
internal import TelltaleModel

/// Reads the log in order and says what each message means: the fifth rule, *readers chain*.
///
/// A message counts only where it continues the history that was read so far. All nodes read the same messages in the
/// same order, so all of them agree on which count.
public struct LogReader: Hashable, Sendable {
    /// The meaning of a message.
    public enum Reading: Hashable, Sendable {
        /// A batch, whole.
        case records([JournalRecord])
        /// A part of a batch; the rest may come or not.
        case part
        /// A node leads from here on.
        case term(Leader)
        /// The leader shows that it still leads.
        case renewal
        /// The leader leads no more.
        case resigned
        /// The history continues elsewhere.
        case sealed
        /// Ignored by every node; an operator should know of it.
        case void(String)
        /// The log is not the one that was read so far: go no further.
        case broken(String)

        /// Whether only the leader of the newest term can have written it.
        var isOfLeader: Bool {
            switch self {
            case .records, .part, .renewal, .resigned, .sealed: true
            case .term, .void, .broken: false
            }
        }
    }

    /// A node that leads, or led last.
    public struct Leader: Hashable, Sendable {
        public var term: Int64
        public var node: String
        /// The instance of the process that began the term.
        public var instance: UInt64
        public var address: String

        public init(term: Int64, node: String, instance: UInt64, address: String) {
            (self.term, self.node, self.instance, self.address) = (term, node, instance, address)
        }
    }

    public let cluster: String
    /// The lineage; `nil` until the first term record of an empty log sets it.
    public private(set) var epoch: UInt64?
    /// How many messages were read.
    public private(set) var position: Int64
    /// Checksums of the newest messages that were read, the newest last: they reveal a log that was set back and
    /// continued.
    /// At most ``digestCount``; a local journal keeps them all.
    public private(set) var digests: [UInt64]
    /// The history as of ``position``.
    public private(set) var chain: RecordChain
    /// The newest term, and the node that began it; `nil` before the first.
    public private(set) var leader: Leader?
    /// Whether the newest term has ended in order.
    public private(set) var hasResigned: Bool
    /// The node that is to lead next, named by the leader when it resigned; `nil` = any. No local journal stores it.
    public private(set) var successor: String?
    /// Whether nothing may follow.
    public private(set) var isSealed: Bool
    /// The record after which the local journal begins, because it began with a checkpoint; `nil` = it has the first record.
    public private(set) var origin: RecordChain?
    /// Why this node stopped when the log was not the one that it had read. The folder keeps it as evidence, even when
    /// the log no longer shows it. `nil` = the log was, or is again, the one that was read.
    public internal(set) var loss: String?
    private var parts: Parts?

    private struct Parts: Hashable {
        var count: Int
        var pieces: [[UInt8]]
    }

    /// - Parameters:
    ///   - epoch: Of the local journal; `nil` where there is none.
    ///   - position: Of the message up to which the local journal has the log. It ends no batch in the middle of its parts.
    ///   - digests: ``digests`` as of that message.
    ///   - chain: The records of the local journal.
    ///   - leader: The newest term as of that message; `hasResigned` and `isSealed` likewise.
    public init(
        cluster: String, epoch: UInt64?, position: Int64 = 0, digests: [UInt64] = [],
        chain: RecordChain = RecordChain(), leader: Leader? = nil, hasResigned: Bool = false, isSealed: Bool = false,
        origin: RecordChain? = nil, loss: String? = nil
    ) {
        self.cluster = cluster
        self.epoch = epoch
        self.position = position
        self.digests = digests.suffix(min(Self.digestCount, Int(clamping: position)))
        self.chain = chain
        self.leader = leader
        (self.hasResigned, self.isSealed) = (hasResigned, isSealed)
        self.origin = origin
        self.loss = loss
    }

    /// The same, of a local journal whose node has stopped.
    ///
    /// - Parameter loss: Why; at most 400 characters are kept.
    public func witnessing(_ loss: String?) -> LogReader {
        var reader = self
        reader.loss = loss.map { String($0.prefix(Self.lossLength)) }
        return reader
    }

    private static let lossLength = 400

    /// The same, of a local journal that begins here.
    var beginningHere: LogReader {
        var reader = self
        reader.origin = chain
        return reader
    }

    /// So high counts no cluster: what says more is no term, and counting never overflows.
    static let highestTerm = Int64.max / 2

    /// The newest term; 0 before the first.
    public var term: Int64 { leader?.term ?? 0 }
    /// So many messages are known again when they are read once more.
    public static let digestCount = 16

    /// Whether a message that was read before is another one now.
    ///
    /// - Parameter position: The message's. `false` for messages older than the remembered ones.
    func isOther(_ bytes: [UInt8], at position: Int64) -> Bool {
        let back = self.position - position
        guard back >= 0, back < digests.count else { return false }
        return digests[digests.count - 1 - Int(back)] != Self.digest(of: bytes)
    }

    /// Whether a batch is incomplete: some of its parts were read.
    public var isInBatch: Bool { parts != nil }

    /// Reads the message after ``position``.
    public mutating func read(_ bytes: [UInt8]) -> Reading {
        position += 1
        digests.append(Self.digest(of: bytes))
        if digests.count > Self.digestCount { digests.removeFirst() }
        let message: LogMessage
        do throws(BinaryError) {
            message = try LogMessage(decoding: bytes)
        } catch {
            return .void("message \(position) is not one of Telltale: \(error)")
        }
        guard message.cluster == cluster else {
            return .void("message \(position) is of the cluster \(shown(message.cluster))")
        }
        if let fault = lineageFault(of: message) { return .broken(fault) }
        guard message.term >= term else {
            return .void("message \(position) is of term \(message.term), and term \(term) leads")
        }
        if position == 1, chain.sequence == 0, message.sequence > 0 {
            return .broken(
                "this log begins behind record \(message.sequence), and no base that holds what is before was found")
        }
        guard (message.sequence, message.link) == (chain.sequence, chain.link) else {
            return .broken(
                "message \(position) of \(shown(message.node)) follows record \(message.sequence) (\(hex(message.link))), and the history here ends with record \(chain.sequence) (\(hex(chain.link)))"
            )
        }
        return readMessage(message)
    }

    /// A checksum of a message, whatever it is.
    public static func digest(of bytes: [UInt8]) -> UInt64 {
        var hash = StableHash(seed: 1)
        hash.combine(bytes.span)
        return hash.finalize()
    }

    private func lineageFault(of message: LogMessage) -> String? {
        if isSealed { return "message \(position) follows the seal of this log" }
        guard let epoch, message.epoch != epoch else { return nil }
        return "message \(position) is of epoch \(hex(message.epoch)), and the history here of \(hex(epoch))"
    }

    private mutating func readMessage(_ message: LogMessage) -> Reading {
        if case .term(let address, _) = message.body {
            parts = nil
            hasResigned = false
            successor = nil
            epoch = message.epoch
            if message.term == term, isOfLeader(message) { return .renewal }
            guard message.term > term else {
                return .broken(
                    "message \(position): \(shown(message.node)) takes term \(term), which another node has")
            }
            // A node takes the term after the newest that it has read. The first term of a log follows those of the log
            // that its history was in before.
            guard leader == nil ? message.term <= Self.highestTerm : message.term - 1 == term else {
                return .broken(
                    "message \(position) begins term \(message.term), and the history here is in term \(term)")
            }
            let next = Leader(
                term: message.term, node: message.node, instance: message.instance, address: address)
            leader = next
            return .term(next)
        }
        guard message.term == term, isOfLeader(message), !hasResigned else {
            return .broken(
                "message \(position) is of \(shown(message.node)) in term \(message.term), which it does not lead")
        }
        switch message.body {
        case .batch(let records):
            parts = nil
            return read(records)
        case .part(let number, let count, let bytes): return read(part: number, of: count, bytes)
        case .resign:
            parts = nil
            hasResigned = true
            return .resigned
        case .handOver(let node):
            parts = nil
            hasResigned = true
            successor = node
            return .resigned
        case .seal:
            parts = nil
            isSealed = true
            return .sealed
        case .term: return .renewal  // Taken above.
        }
    }

    private func isOfLeader(_ message: LogMessage) -> Bool {
        message.node == leader?.node && message.instance == leader?.instance
    }

    private mutating func read(_ records: [JournalRecord]) -> Reading {
        guard !records.isEmpty, chain.continues(with: records) else {
            return .broken("message \(position) holds records that do not follow record \(chain.sequence)")
        }
        chain.append(records)
        return .records(records)
    }

    /// Parts of a batch follow each other. A first part starts over: its leader gave up the previous attempt.
    private mutating func read(part number: Int, of count: Int, _ bytes: [UInt8]) -> Reading {
        guard count <= MessageLimits.partCount else {
            parts = nil
            return .broken(
                "message \(position) is a part of \(count), and a batch has at most \(MessageLimits.partCount)")
        }
        if number == 1 { parts = Parts(count: count, pieces: []) }
        guard var open = parts, open.count == count, number == open.pieces.count + 1, number <= count else {
            parts = nil
            return .broken("message \(position) is part \(number) of \(count), and the parts before it are missing")
        }
        open.pieces.append(bytes)
        guard number == count else {
            parts = open
            return .part
        }
        parts = nil
        do throws(BinaryError) {
            return read(try LogMessage.records(in: open.pieces.flatMap(\.self)))
        } catch {
            return .broken("message \(position) ends a batch that cannot be read: \(error)")
        }
    }

    private func hex(_ word: UInt64) -> String { String(word, radix: 16) }
    /// A name out of a message, for people: another program may have written it.
    private func shown(_ name: String) -> String { String(name.prefix(64)).harmless }
}
