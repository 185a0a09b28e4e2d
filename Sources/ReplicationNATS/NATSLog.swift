internal import Journal
public import Replication
public import TelltaleEventLoop
internal import TelltaleModel

/// The log of a cluster on NATS JetStream.
///
/// It connects immediately, and reports ``LogEvent/connection(isUp:text:)`` when it can be used, or
/// ``LogEvent/unusable(_:)``. Until then it keeps only the newest requested read, and sends heartbeats that may not be
/// stored. The library's threads never call back: their messages go through a mailbox of the loop.
@safe public final class NATSLog: ReplicatedLog {
    public var onEvent: ((LogEvent) -> Void)? {
        didSet { settle() }
    }
    private var dialogue: Dialogue
    private var events: [LogEvent] = []
    private var isDelivering = false
    private var isReady = false
    /// A read requested before the log was ready. Otherwise a starting node would wait for its next heartbeat.
    private var firstRead: Int64?
    private var isClosed = false
    private let worker: Worker
    private let configuration: NATSLogConfiguration
    private var mailbox: Mailbox<Worker.Word>?
    private var timer: TimerHandle?

    public init(_ configuration: NATSLogConfiguration, on loop: EventLoop) throws(UVError) {
        var generator = SystemRandomNumberGenerator()
        let names = Names(cluster: configuration.cluster)
        let inbox = "_INBOX.tt\(String(generator.next(), radix: 16))"
        dialogue = Dialogue(names: names, node: configuration.node, inbox: inbox)
        if !configuration.monitors.isEmpty {
            dialogue.watch = ProofWatch(isTrusted: configuration.isSyncTrusted, every: configuration.proofInterval)
        }
        self.configuration = configuration
        worker = Worker(configuration, names: names, inbox: inbox, context: generator.next())
        let mailbox = try Mailbox<Worker.Word>(on: loop) { [weak self] words in
            for word in words { self?.handleWord(word) }
        }
        self.mailbox = mailbox
        timer = try TimerHandle(on: loop) { [weak self] _ in self?.tick() }
        worker.start(reporting: mailbox.sender)
    }

    deinit {
        worker.close()
    }

    public var status: LogStoreStatus { dialogue.status }

    public func append(_ bytes: [UInt8], after position: Int64, token: Int64) {
        guard isReady else { return }
        dialogue.append(bytes, after: position, token: token, at: Self.now)
        settle()
    }

    public func read(from position: Int64) {
        guard isReady else {
            firstRead = position
            return
        }
        dialogue.read(from: position, at: Self.now)
        settle()
    }

    public func hold(_ isHeld: Bool) {
        dialogue.hold(isHeld, at: Self.now)
        settle()
    }

    /// A starting node announces itself before it can use the streams.
    public func heartbeat(_ heartbeat: Heartbeat) {
        dialogue.heartbeat(heartbeat, at: Self.now)
        settle()
    }

    public func queryServers(_ request: CheckpointRequest) {
        guard isReady else { return }
        dialogue.checkpoints.ask(request)
        settle()
    }

    public func close() {
        isClosed = true
        events = []
        timer = nil
        mailbox = nil
        worker.close()
    }

    private static var now: MonotonicTime { MonotonicTime(nanoseconds: EventLoop.monotonicNanoseconds()) }

    private func handleWord(_ word: Worker.Word) {
        guard !isClosed else { return }
        switch word {
        case .message(let message): dialogue.received(message, at: Self.now)
        case .change(let isUp, let text):
            guard isReady else { break }
            dialogue.changed(isUp: isUp, text: text, at: Self.now)
        case .proof(let proof):
            let (sync, reasons) = proof.sync(isTrusted: configuration.isSyncTrusted)
            dialogue.proved(sync, reasons, at: Self.now)
        case .denial(let denial): dialogue.denied(denial)
        case .limit(let count): dialogue.limited(to: count)
        case .tooLong(let answer): dialogue.tooLong(answer)
        case .waiting(let text): events.append(.connection(isUp: false, text: text))
        case .unusable(let faults): events.append(.unusable(faults))
        case .ready(let version, let isSyncProven, let text, let warnings):
            isReady = true
            dialogue.prepared(version: version)
            dialogue.allowed()
            dialogue.changed(isUp: true, text: text, at: Self.now)
            let sync = configuration.isSyncTrusted ? LogStoreSync.trusted : isSyncProven ? .proven : .unknown
            dialogue.proved(sync, warnings, at: Self.now)
            if let firstRead { dialogue.read(from: firstRead, at: Self.now) }
            firstRead = nil
        }
        settle()
    }

    private func tick() {
        dialogue.tick(at: Self.now)
        settle()
    }

    /// Performs the dialogue's requests and delivers its events, one at a time, even if a handler makes further
    /// requests.
    private func settle() {
        for request in dialogue.takeRequests() { worker.post(request) }
        if let servers = dialogue.takeServers() { queryServers(servers) }
        events += dialogue.takeEvents()
        guard !isDelivering, !isClosed else { return }
        isDelivering = true
        while let onEvent, !isClosed, !events.isEmpty { onEvent(events.removeFirst()) }
        isDelivering = false
        arm()
    }

    /// Queries the monitors on a separate thread, because each may take seconds to answer.
    private func queryServers(_ servers: [Preparation.Replica]) {
        guard let sender = mailbox?.sender else { return }
        let monitors = configuration.monitors
        startThread {
            let reported = SyncProof.queryMonitors(monitors) { MonitorClient.varz($0) }
            _ = sender.post(.proof(SyncProof(of: servers, reported: reported)))
        }
    }

    private func arm() {
        guard let deadline = dialogue.deadline else {
            timer?.cancel()
            return
        }
        let wait = max(0, deadline.milliseconds(since: Self.now).count)
        timer?.schedule(afterMilliseconds: wait &+ 1)
    }
}
