internal import ApplePush
internal import Logging
internal import NIOCore
internal import TelltaleClient
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

/// Follows the rows that the registrations need: for each account and kind the full view, and the alerts of its phone.
///
/// Everything but the clients' callbacks runs in one task at a time.
actor PushFollower {
    private let connector: DaemonConnector
    private let group: any EventLoopGroup
    private let token: String?
    private let desk: PushDispatcher
    private let log: Logger
    private var clients: [(client: AsyncClient, count: Int)] = []
    private var tasks: [PushState.Watch: (tasks: [Task<Void, Never>], client: Int)] = [:]
    private var wanted: [PushState.Watch] = []
    private var generation = 0
    private var epoch: String?
    private var isBeginning = false
    private var isStopped = false

    /// Each watch has two subscriptions, and the daemon allows 256 on a connection.
    private static let watchesPerClient = 120

    init(_ connector: DaemonConnector, group: any EventLoopGroup, token: String?, _ desk: PushDispatcher, _ log: Logger)
    {
        self.connector = connector
        self.group = group
        self.token = token
        self.desk = desk
        self.log = log
    }

    func start() async {
        await desk.follow { [weak self] watches in Task { await self?.want(watches) } }
        await begin()
    }

    func stop() {
        isStopped = true
        closeAll()
    }

    private func closeAll() {
        for entry in tasks.values { for task in entry.tasks { task.cancel() } }
        tasks = [:]
        for (client, _) in clients { client.close() }
        clients = []
    }

    /// Waits for the daemon, and reports its history to the desk before any row arrives.
    private func begin() async {
        guard !isBeginning else { return }
        isBeginning = true
        defer { isBeginning = false }
        closeAll()
        epoch = nil
        var pause = Duration.milliseconds(100)
        while !isStopped {
            let client = makeClient()
            do {
                let greeting = try await client.ready()
                generation = try await desk.begin(epoch: greeting.epoch)
                epoch = greeting.epoch
                clients = [(client, 0)]
                log.info("following the daemon", metadata: ["epoch": "\(greeting.epoch)"])
                update()
                return
            } catch {
                log.error("cannot follow the daemon", metadata: ["why": "\(error)"])
                client.close()
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(10))
            }
        }
    }

    private func makeClient() -> AsyncClient {
        var configuration = ClientConfiguration(name: "telltale-push", eventIDPrefix: "push")
        configuration.token = token
        configuration.heartbeat = .seconds(20)
        // What is sent may be drawn on a locked screen, so it has no private parts.
        configuration.traits = [Attribute(name: "locked", value: "yes")]
        let client = AsyncClient(
            to: connector, configuration: configuration, on: group.next(),
            onGreeting: { [weak self] greeting, _ in Task { await self?.greeted(greeting.epoch) } })
        client.start()
        return client
    }

    /// Handles a daemon with another history: everything followed so far is void.
    private func greeted(_ fresh: String) async {
        guard let epoch, epoch != fresh, !isStopped else { return }
        await begin()
    }

    private func lost(_ generation: Int) async {
        guard generation == self.generation, !isStopped, !isBeginning else { return }
        log.error("the daemon has ended the subscriptions; is the token good?")
        await begin()
    }

    private func want(_ watches: [PushState.Watch]) {
        wanted = watches
        update()
    }

    private func update() {
        guard epoch != nil, !isStopped else { return }
        let fresh = Set(wanted)
        for watch in tasks.keys where !fresh.contains(watch) {
            guard let entry = tasks.removeValue(forKey: watch) else { continue }
            for task in entry.tasks { task.cancel() }
            clients[entry.client].count -= 1
        }
        for watch in wanted where tasks[watch] == nil { follow(watch) }
    }

    private func follow(_ watch: PushState.Watch) {
        var number = clients.firstIndex { $0.count < Self.watchesPerClient }
        if number == nil {
            clients.append((makeClient(), 0))
            number = clients.count - 1
        }
        guard let number, let pattern = Pattern("\(watch.kind)/*") else { return }
        clients[number].count += 1
        let client = clients[number].client
        var alerts = SubscribeCommand(pattern: pattern)
        alerts.view = .surface(.phone)
        alerts.account = watch.account.isEmpty ? nil : watch.account
        var rows = alerts
        rows.view = .full
        let (alertSequence, rowSequence) = (client.follow(alerts), client.follow(rows))
        let (desk, generation, log) = (desk, generation, log)
        tasks[watch] = (
            [
                Task { for await followed in alertSequence { await Self.hear(followed, watch, generation, desk) } },
                Task { [weak self] in
                    var isRefused = false
                    for await followed in rowSequence {
                        if case .refused = followed.event { isRefused = true }
                        await Self.handleRow(followed, watch, generation, desk, log)
                    }
                    // A connection that the daemon refuses ends all of its subscriptions.
                    if !isRefused, !Task.isCancelled { await self?.lost(generation) }
                },
            ], number
        )
    }

    private static func hear(_ followed: Followed, _ watch: PushState.Watch, _ generation: Int, _ desk: PushDispatcher)
        async
    {
        if case .snapshot(let row) = followed.event {
            return await desk.surface(row.body, of: row.key, rev: row.rev, in: watch, generation)
        }
        if case .update(let row) = followed.event {
            return await desk.surface(row.body, of: row.key, rev: row.rev, in: watch, generation)
        }
        guard case .alert(let key, let rev, let body) = followed.event else { return }
        let alert = OutgoingPush.Alert(
            title: body["title"]?.string ?? "", body: body["body"]?.string ?? "", sound: body["sound"]?.string)
        await desk.alert(alert, of: key, rev: rev, in: watch, generation)
    }

    private static func handleRow(
        _ followed: Followed, _ watch: PushState.Watch, _ generation: Int, _ desk: PushDispatcher, _ log: Logger
    ) async {
        switch followed.event {
        case .snapshot(let row), .update(let row):
            await desk.row(row.body, of: row.key, rev: row.rev, in: watch, generation)
        case .deletion(let key, let rev, _): await desk.deletion(of: key, rev: rev, in: watch, generation)
        case .live: await desk.live(watch, generation)
        case .refused(let line):
            log.error(
                "the daemon refuses the rows of an account",
                metadata: [
                    "kind": "\(watch.kind)", "code": "\(line["code"] ?? "-")",
                    "need": "\(line.tail?["need"]?.string ?? "-")",
                ])
        case .milestone, .alert, .changed, .reset: break
        }
    }
}
