import Journal
import Replication
import ReplicationNATS
import TelltaleEventLoop
import TelltaleModel

/// A node as a daemon is one: a replica, its way to the log, and a loop.
final class TestNode {
    let name: String
    private(set) var replica: Replica
    let log: NATSLog
    private var timer: TimerHandle?
    /// Asked after each word of the log store, and each 20 ms.
    var onStep: ((TestNode) -> Void)?
    /// `false` drops a word of the log store.
    var isHeard: (LogEvent) -> Bool = { _ in true }
    /// Everything that is in the log, in its order, as this node knows it.
    private(set) var records: [JournalRecord] = []
    /// How many of them it has appended itself.
    private(set) var storedCount = 0
    private(set) var warnings: [String] = []
    private(set) var events: [LogEvent] = []
    private(set) var standDowns = 0
    private(set) var lastReason = ""
    /// Of the messages that it has appended.
    private(set) var longestAppend = 0
    private(set) var stop: String?
    private(set) var isFull = false
    private(set) var isAppending = false

    init(
        _ configuration: NATSLogConfiguration, on loop: EventLoop, settings: ReplicaSettings = ReplicaSettings()
    ) throws {
        name = configuration.node
        log = try NATSLog(configuration, on: loop)
        replica = Replica(
            node: configuration.node, address: "\(configuration.node):1", release: "1",
            reader: LogReader(cluster: configuration.cluster, epoch: nil), newEpoch: 9,
            instance: UInt64.random(in: 1...UInt64.max), settings: settings, at: Self.now)
        timer = try TimerHandle(on: loop) { [unowned self] _ in
            replica.tick(at: Self.now)
            perform()
        }
        timer?.scheduleRepeating(everyMilliseconds: 20)
        log.onEvent = { [unowned self] event in
            guard isHeard(event) else { return }
            events.append(event)
            replica.handleEvent(event, at: Self.now)
            perform()
        }
        perform()
    }

    static var now: MonotonicTime { MonotonicTime(nanoseconds: EventLoop.monotonicNanoseconds()) }

    var isLeading: Bool { replica.role == .leading }

    /// For the error of a test that waits in vain.
    var state: String {
        "\(name) is \(replica.role) in term \(replica.term) at \(replica.reader.position) with \(records.count) records, "
            + "\(storedCount) stored, \(standDowns) stand-downs, isAppending: \(isAppending), stop: \(stop ?? "none"), "
            + "warnings: \(warnings), log: \(log.status), last events: \(events.suffix(5).map { "\($0)".prefix(200) })"
    }

    /// - Parameter length: Of each record.
    func append(_ count: Int, length: Int = 300) {
        guard isLeading, !isAppending else { return }
        isAppending = true
        isFull = false
        let first = replica.reader.chain.sequence
        replica.append(
            (1...count).map { index in
                JournalRecord(
                    sequence: first + Int64(index), time: Timestamp(milliseconds: 1_700_000_000_000),
                    entity: "order/\(name)", previous: 0, body: [UInt8](repeating: 7, count: length))
            }, at: Self.now)
        perform()
    }

    func forgetLongestAppend() { longestAppend = 0 }

    func end() {
        timer = nil
        log.close()
    }

    private func perform() {
        while let action = replica.nextAction() {
            switch action {
            case .append(let bytes, let after, let token):
                longestAppend = max(longestAppend, bytes.count)
                log.append(bytes, after: after, token: token)
            case .read(let from): log.read(from: from)
            case .heartbeat(let heartbeat): log.heartbeat(heartbeat)
            case .replay(let more): records += more
            case .stored(let more):
                records += more
                storedCount += more.count
                isAppending = false
            case .full: (isFull, isAppending) = (true, false)
            case .standDown(let reason): (standDowns, lastReason, isAppending) = (standDowns + 1, reason, false)
            case .stop(let text, _): stop = text
            case .refuse(let duplicateNode): stop = "\(duplicateNode) has its name"
            case .warn(let text): warnings.append(text)
            case .lead, .beginsLater: break
            }
        }
        onStep?(self)
    }
}
