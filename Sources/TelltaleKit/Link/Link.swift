internal import Synchronization
internal import TelltaleClientProtocol
internal import TelltaleModel
internal import TelltaleWire

/// Performs one ``ClientProtocol``: its successive connections, its deadlines, and the tasks that wait for answers.
///
/// ``run()`` has three child tasks, which end with it: one connects and reads, one writes, and one waits for deadlines.
actor Link {
    /// The server's whole answer to one request.
    struct Answer: Sendable {
        var items: [ServerLine]
        var line: ServerLine
    }

    struct Waiting {
        var items: [ServerLine] = []
        var eid: String?
        var deadline: Timestamp?
        var continuation: CheckedContinuation<Result<Answer, TelltaleError>, Never>
    }

    /// An event for a provider.
    enum ServiceEvent: Sendable {
        /// `HELLO` was answered, for the first time or again.
        case ready(ServerGreeting)
        case action(ProviderAction)
        case refused(Refusal)
    }

    private let transport: TransportSource
    private let token: TokenSource?
    private let origin = ContinuousClock.now
    var core: ClientProtocol
    var connection: (any TransportConnection)?
    var waiting: [RequestID: Waiting] = [:]
    /// The reason of the end, once it is known.
    var end: TelltaleError?
    var lastReason: String?
    /// The deadline that the third task waits for.
    private var armed: Timestamp?

    var subscription: SubscriptionID?
    var queue = ChangeQueue()
    var lastCursor: String?
    var service: [ServiceEvent] = []
    private nonisolated let isEnded = Atomic(false)
    /// Whether nothing follows.
    nonisolated var hasEnded: Bool { isEnded.load(ordering: .relaxed) }

    // One task waits for each.
    private let dialing = Wakeup()
    private let aborting = Wakeup()
    private let reading = Wakeup()
    private let writing = Wakeup()
    private let timing = Wakeup()
    let news = Wakeup()

    /// The most bytes that are buffered before the connection takes them.
    private static let outputByteCount = 65_536
    /// The most events that wait for a provider. The server gives up on those that are not answered in time.
    static let serviceLimit = 1_024

    init(_ configuration: ClientConfiguration, transport: @escaping TransportSource, token: TokenSource?) {
        core = ClientProtocol(configuration)
        self.transport = transport
        self.token = token
    }

    private var now: Timestamp {
        let (seconds, attoseconds) = origin.duration(to: .now).components
        return Timestamp(milliseconds: seconds &* 1_000 &+ attoseconds / 1_000_000_000_000_000)
    }

    // MARK: Its life
    /// Connects and serves until the client has ended, or the task is cancelled.
    nonisolated func run() async {
        await begin()
        await withDiscardingTaskGroup { group in
            group.addTask { await self.connectAndRead() }
            group.addTask { await self.write() }
            group.addTask { await self.keepTime() }
        }
        await finish()
    }

    private func begin() {
        core.start()
        pump()
    }

    private func finish() {
        connection?.close()
        connection = nil
        if !core.isOver {
            end = end ?? .closed
            core.leave()
            core.disconnected(reason: "closed", at: now, random: 0)
        }
        pump()
    }

    private var isDone: Bool { Task.isCancelled || core.isOver }
    // MARK: Asking

    /// Sends a request, again after a reconnect, and waits for the whole answer.
    func ask(_ command: Command, eid: String? = nil, timeout: Duration?) async throws(TelltaleError) -> Answer {
        if let end { throw end }
        guard !core.isOver else { throw .closed }
        let id = core.request(command)
        let deadline = timeout.map { now + $0.milliseconds }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiting[id] = Waiting(eid: eid, deadline: deadline, continuation: continuation)
                pump()
            }
        } onCancel: {
            Task { await self.giveUp(id) }
        }
        let answer = try result.get()
        guard answer.line.verb != "ERR" else {
            throw .refused(Refusal(answer.line, eid: eid))
        }
        return answer
    }

    private func giveUp(_ id: RequestID) {
        core.withdraw(id)
        settle(id) { _ in .failure(.closed) }
        pump()
    }

    func settle(_ id: RequestID, _ result: (Waiting) -> Result<Answer, TelltaleError>) {
        guard let waiting = waiting.removeValue(forKey: id) else { return }
        waiting.continuation.resume(returning: result(waiting))
    }

    private func expire(at now: Timestamp) {
        for (id, waiting) in waiting {
            guard let deadline = waiting.deadline, deadline <= now else { continue }
            let wasSent = core.withdraw(id)
            let reason = lastReason ?? "it did not greet"
            settle(id) { .failure(wasSent ? .outcomeUnknown(eid: $0.eid) : .unreachable(reason)) }
        }
    }

    // MARK: Following

    /// Subscribes, once.
    func follow(_ command: SubscribeCommand) {
        guard subscription == nil, !core.isOver else { return }
        lastCursor = command.from?.description
        subscription = core.subscribe(command)
        pump()
    }

    /// The next change; `nil` at the end, and when the task is cancelled.
    func nextChange() async throws(TelltaleError) -> ChangeQueue.Entry? {
        while true {
            if Task.isCancelled { return nil }
            if let entry = queue.take() {
                reading.signal()
                return entry
            }
            if core.isOver {
                if let end, end != .closed { throw end }
                return nil
            }
            await news.wait()
        }
    }

    /// The next event for a provider; `nil` at the end, and when the task is cancelled.
    func nextServiceEvent() async throws(TelltaleError) -> ServiceEvent? {
        while true {
            if Task.isCancelled { return nil }
            if !service.isEmpty { return service.removeFirst() }
            if core.isOver {
                if let end, end != .closed { throw end }
                return nil
            }
            await news.wait()
        }
    }

    /// While the reader is slow, nothing is read, so that the server folds. But while a request waits for its answer,
    /// reading continues.
    private var isPaused: Bool { queue.isFull && waiting.isEmpty && core.isReady }

    // MARK: The three tasks

    private func connectAndRead() async {
        while !isDone {
            guard core.wantsConnection else {
                await dialing.wait()
                continue
            }
            core.connecting(at: now)
            pump()
            switch await dial() {
            case .success(let (connection, token)) where !core.wantsClose && !isDone:
                core.renew(token: token)
                self.connection = connection
                core.connected(at: now)
                pump()
                await read(connection)
            case .success(let (connection, _)):
                connection.close()
                lost(core.closeReason ?? "given up")
            case .failure(let error): refuseOrRetry(error)
            }
        }
    }

    /// Makes one attempt to connect, until the protocol gives it up.
    private func dial() async -> Result<(any TransportConnection, String?), any Error> {
        typealias Outcome = Result<(any TransportConnection, String?), any Error>
        let (transport, token) = (transport(core.address), token)
        return await withTaskGroup(of: Outcome?.self) { group in
            group.addTask {
                do {
                    let secret = try await token?.read()
                    return .success((try await transport.connect(), secret))
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                await self.waitForAbort()
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            while let late = await group.next() {
                if first == nil, case .success(let (connection, _))? = late { connection.close() }
            }
            return first ?? .failure(TransportError.failed("given up"))
        }
    }

    private func waitForAbort() async {
        while !core.wantsClose, !isDone { await aborting.wait() }
    }

    private func refuseOrRetry(_ error: any Error) {
        switch error {
        case TransportError.untrusted(let reason): end = .untrusted(reason)
        case TransportError.unsupported(let reason): end = .invalidRequest(reason)
        case let error as TelltaleError: end = error
        default: return lost(core.closeReason ?? "\(error)")
        }
        core.leave()
        lost("\(error)")
    }

    private func read(_ connection: any TransportConnection) async {
        while !isDone {
            if isPaused, !core.wantsClose {
                await reading.wait()
                continue
            }
            let bytes = (try? await connection.receive()) ?? []
            guard !bytes.isEmpty, !core.wantsClose else { break }
            received(bytes)
        }
        lost(core.closeReason ?? "the server closed the connection")
    }

    private func write() async {
        while !isDone {
            if let connection, !core.wantsClose {
                let bytes = core.takeOutput(limit: Self.outputByteCount, at: now)
                if core.hasEvents { pump() }
                if !bytes.isEmpty {
                    // The reader notices the end.
                    do { try await connection.send(bytes) } catch { connection.close() }
                    continue
                }
            }
            await writing.wait()
        }
    }

    private func keepTime() async {
        while !isDone {
            armed = nextDeadline
            await timing.wait(until: armed.map { origin.advanced(by: .milliseconds($0.milliseconds)) })
            let now = now
            if isPaused { core.notReading(at: now) }
            core.deadlineReached(at: now)
            expire(at: now)
            pump()
        }
        connection?.close()  // Nothing else wakes a task that waits for bytes.
        reading.signal()
    }

    private var nextDeadline: Timestamp? {
        (waiting.values.compactMap(\.deadline) + [core.deadline].compactMap(\.self)).min()
    }

    // MARK: Bytes
    /// Takes one line at a time, so that each change has the cursor after it.
    private func received(_ bytes: [UInt8]) {
        let now = now
        let span = bytes.span
        var start = 0
        while start < span.count {
            let end = min(span.firstIndex(of: UInt8(ascii: "\n"), from: start) + 1, span.count)
            core.received(span.extracting(start..<end), at: now)
            start = end
            handleEvents()
            guard let subscription, let cursor = core.cursor(of: subscription), cursor != lastCursor else { continue }
            lastCursor = cursor
            put(nil)
        }
        pump()
    }

    /// Performs the protocol's actions. Call it after each input.
    private func pump() {
        handleEvents()
        if core.wantsClose {
            connection?.close()
            aborting.signal()
            reading.signal()
        }
        if core.isOver {
            isEnded.store(true, ordering: .relaxed)
            for id in waiting.keys.sorted() { settle(id) { _ in .failure(end ?? .closed) } }
            for wakeup in [dialing, aborting, reading, writing, timing] { wakeup.signal() }
            news.signal()
            return
        }
        if core.wantsConnection { dialing.signal() }
        writing.signal()
        if !isPaused { reading.signal() }
        if let next = nextDeadline, armed.map({ next < $0 }) ?? true { timing.signal() }
    }

    private func lost(_ reason: String) {
        connection?.close()
        connection = nil
        if Task.isCancelled {
            end = end ?? .closed
            core.leave()
        }
        core.disconnected(reason: reason, at: now, random: UInt64.random(in: .min ... .max))
        pump()
    }

    // MARK: The protocol's events, for the tasks that wait

    func handleEvents() {
        while core.hasEvents {
            let events = core.takeEvents()
            for (index, event) in events.enumerated() { handle(event, isLast: index == events.count - 1) }
        }
    }

    /// - Parameter isLast: Whether this is the last event of its line. The line's cursor stands after all of them.
    private func handle(_ event: ClientEvent, isLast: Bool) {
        switch event {
        case .ready(let greeting, _):
            put(.connected)
            notify(.ready(greeting))
        case .item(let id, let line): waiting[id]?.items.append(line)
        case .restarted(let id): waiting[id]?.items = []
        case .reply(let id, let reply):
            settle(id) {
                reply.isFromServer
                    ? .success(Answer(items: $0.items, line: reply.line))
                    : .failure(.invalidRequest(reply.line.message ?? "the request is too long"))
            }
        case .lost(let id):
            let failure = end ?? .connectionLost(lastReason ?? "closed")
            settle(id) { _ in .failure(failure) }
        case .refused(let reason, let line):
            end = if let line, line.verb == "ERR" { .refused(Refusal(line)) } else { .incompatible(reason) }
        case .disconnected(let reason, let retry):
            lastReason = reason
            if let retry { put(.disconnected(reason: reason, retryAfter: retry)) }
        case .subscription(_, .refused(let line)):
            end = .refused(Refusal(line))
            core.leave()
            connection?.close()
        case .subscription(let id, let event):
            if isLast { lastCursor = core.cursor(of: id) }
            put(PendingChange(event))
        case .action(let action): notify(.action(action))
        case .serviceRefused(_, let line): notify(.refused(Refusal(line)))
        case .farewell(let line): lastReason = line.message ?? line["code"]
        case .violation(let text): lastReason = text
        case .traitsRefused: break
        }
    }

    func put(_ change: PendingChange?) {
        guard subscription != nil else { return }
        queue.put(change, cursor: lastCursor)
        news.signal()
    }

    private func notify(_ event: ServiceEvent) {
        guard subscription == nil, service.count < Self.serviceLimit else { return }
        service.append(event)
        news.signal()
    }
}
