internal import CTelltaleNATS
internal import Glibc
internal import Journal
internal import Synchronization
internal import TelltaleEventLoop

/// The thread that talks to the library: it connects, prepares the streams, and publishes.
///
/// The library's calls may block on a socket, so the loop's thread makes none.
final class Worker: Sendable {
    /// A message to the loop.
    enum Word: Sendable {
        case message(Incoming)
        case change(isUp: Bool, text: String)
        case waiting(String)
        case proof(SyncProof)
        case denial(Denial)
        /// The longest message that the server accepts, headers included. Sent before anything is published, and after
        /// each change.
        case limit(Int)
        /// A message was too long and was not published. `answer` is the token of its answer.
        case tooLong(answer: String?)
        case unusable([String])
        case ready(version: String, isSyncProven: Bool, text: String, warnings: [String])
    }

    private struct Work: Sendable {
        /// At most one for each lane.
        var requests: [NATSRequest] = []
        var isClosed = false
        /// What the server has denied since the preparation began.
        var denials: [Denial] = []
    }

    private let work = Monitor(Work())
    private let configuration: NATSLogConfiguration
    private let names: Names
    private let inbox: String
    /// The number passed to the library's callbacks, which may come after this worker is gone.
    private let context: UInt64

    /// How long to wait for a connection, and for an answer from JetStream, in milliseconds.
    private static let patience: Int64 = 2_000

    init(_ configuration: NATSLogConfiguration, names: Names, inbox: String, context: UInt64) {
        self.configuration = configuration
        self.names = names
        self.inbox = inbox
        self.context = context
    }

    func post(_ request: NATSRequest) {
        work.change { work in
            work.requests.removeAll { $0.lane == request.lane }
            work.requests.append(request)
        }
    }

    func close() { work.change { $0.isClosed = true } }

    func start(reporting sender: Mailbox<Word>.Sender) {
        routes.withLock { $0[context] = LaneRoute(worker: self, sender: sender) }
        startThread { [self] in
            run { _ = sender.post($0) }
            routes.withLock { $0[context] = nil }
        }
    }

    // MARK: The thread

    private func run(_ report: @escaping (Word) -> Void) {
        let faults = configuration.faults
        guard faults.isEmpty else { return report(.unusable(faults)) }
        do {
            try NATSConnection.load(configuration.library)
        } catch {
            return report(
                .unusable(["the library of NATS cannot be loaded: \(error.text) (Debian: apt-get install libnats3.4)"]))
        }
        var connection = connect(report)
        var longest = connection?.longestMessage
        while let current = connection, let requests = next() {
            // The limit may change with a reconnect, or when the server reloads its configuration.
            if longest != current.longestMessage {
                longest = current.longestMessage
                report(.limit(current.longestMessage))
            }
            for request in requests { publish(request, on: current, report) }
            guard current.isClosed else { continue }
            // A server has refused the credentials twice, or closed the connection because a message was too long. Try
            // again: the credentials may be renewed, or another server may accept them.
            current.close()
            connection = connect(isAgain: true, report)
            longest = connection?.longestMessage
        }
        connection?.close()
    }

    /// Connects and prepares, and retries while the log store is unreachable. `nil` if it cannot be used, or is not needed
    /// any more.
    ///
    /// - Parameter isAgain: Whether the log store has accepted the credentials before.
    private func connect(isAgain: Bool = false, _ report: (Word) -> Void) -> NATSConnection? {
        var last = ""
        while true {
            switch attempt(isAgain: isAgain, report) {
            case .connection(let connection): return connection
            case .ended: return nil
            case .later(let text):
                if text != last { report(.waiting(text)) }
                last = text
            }
            guard pause() else { return nil }
        }
    }

    /// - Returns: `false` if the log is not needed any more.
    private func pause() -> Bool {
        for _ in 0..<5 {
            guard !work.waitAndChange({ _ in true }, { $0.isClosed }) else { return false }
            usleep(50_000)
        }
        return true
    }

    private enum Attempt {
        case connection(NATSConnection)
        case later(String)
        case ended
    }

    private func attempt(isAgain: Bool, _ report: (Word) -> Void) -> Attempt {
        let connection: NATSConnection
        do {
            connection = try NATSConnection(configuration, context: context, patience: Self.patience)
        } catch {
            guard error.isRefusal else { return .later(error.text) }
            guard !isAgain else { return .later("it refuses the credentials of this node") }
            report(.unusable(["the engine refuses the credentials of this node"]))
            return .ended
        }
        report(.limit(connection.longestMessage))
        work.change { $0.denials = [] }
        guard connection.subscribe(inbox + ".>"), connection.subscribe(names.hintSubject),
            connection.subscribe(names.heartbeatSubjects)
        else {
            connection.close()
            return .later("the engine takes no subscription")
        }
        let outcome = prepare(on: connection, report)
        switch outcome {
        case .ready(let version, let isSyncProven, let warnings):
            // By the contract, earlier requests are lost.
            work.change { $0.requests = [] }
            report(
                .ready(
                    version: version, isSyncProven: isSyncProven, text: "connected to \(connection.server)",
                    warnings: warnings))
            return .connection(connection)
        case .later(let text):
            connection.close()
            return .later(text)
        case .refused(let faults):
            connection.close()
            // A running node waits until the log store is repaired, as it does on an open connection.
            guard !isAgain else { return .later(faults.joined(separator: "; ")) }
            report(.unusable(faults))
            return .ended
        }
    }

    /// Prepares the streams, with several attempts over one connection. Meanwhile each node hears which others run.
    private func prepare(on connection: NATSConnection, _ report: (Word) -> Void) -> Preparation.Outcome {
        var outcome = Preparation.Outcome.later("")
        for patience in Self.answerPatiences {
            let requests = work.waitAndChange({ _ in true }) { work in
                defer { work.requests = [] }
                return work.requests
            }
            for request in requests where request.lane == .heartbeat { publish(request, on: connection, report) }
            outcome = Preparation(
                configuration: configuration, names: names, longestMessage: connection.longestMessage,
                ask: { connection.request($0, $1, milliseconds: patience) },
                probe: { connection.request($0, header: NATSRequest.refusal, [], milliseconds: patience) != nil },
                denials: { [work] in work.waitAndChange({ _ in true }) { $0.denials } },
                monitor: { MonitorClient.varz($0) }
            ).run()
            guard case .later = outcome, pause() else { break }
        }
        return outcome
    }

    /// How long each attempt over one connection waits for JetStream's answers, in milliseconds. A stream without a
    /// leader does not answer, and a new leader does not know earlier requests, so the first attempts are short. The
    /// last one allows for a slow log store.
    private static let answerPatiences = [500, 500, 500, patience]

    private func next() -> [NATSRequest]? {
        work.waitAndChange({ $0.isClosed || !$0.requests.isEmpty }) { work in
            guard !work.isClosed else { return nil }
            defer { work.requests = [] }
            return work.requests
        }
    }

    private func publish(_ request: NATSRequest, on connection: NATSConnection, _ report: (Word) -> Void) {
        let outcome = connection.publish(
            request.subject, answer: request.answer.map { "\(inbox).\($0)" }, header: request.header, request.bytes)
        switch outcome {
        case .sent: break
        // The message may as well have been lost on its way; the end of the connection is reported separately.
        case .notSent: break
        case .tooLong: report(.tooLong(answer: request.answer))
        }
    }

    fileprivate func note(_ denial: Denial) {
        work.change { work in
            if !work.denials.contains(denial), work.denials.count < Self.denialLimit { work.denials.append(denial) }
        }
    }

    private static let denialLimit = 16
}

private struct LaneRoute {
    var worker: Worker
    var sender: Mailbox<Worker.Word>.Sender
}

/// The workers of this process, by the number passed to the library's callbacks.
private let routes = Mutex<[UInt64: LaneRoute]>([:])

extension Worker {
    /// Called by the library's threads.
    static func received(_ word: Word, context: UInt64) {
        // Used outside the lock, because every thread of every connection takes it.
        guard let route = routes.withLock({ $0[context] }) else { return }
        if case .denial(let denial) = word { route.worker.note(denial) }
        _ = route.sender.post(word)
    }
}
