public import Gateway
internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdHTTP2
internal import ListenerLimits
public import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
public import ServiceLifecycle
internal import Synchronization
public import TelltaleEventLoop
internal import TelltaleNIOClient
internal import UnixSignals

/// The whole gateway: both listeners and what they serve.
public struct GatewayServer: Service {
    private let settings: Settings
    private let log: Logger
    private let registry: MetricsRegistry
    private let state: GatewayState
    private let certificates: CertificateReloader?
    private let manager: ServiceManager
    private let shares: DescriptorShares

    /// Reads everything that the settings name.
    ///
    /// - Parameter manager: Notified when the gateway serves, reloads and stops, and that its loops are alive.
    /// - Throws: ``StartFault`` with all faults.
    public init(
        _ settings: Settings, registry: MetricsRegistry, log: Logger, openAPI: [UInt8], manager: ServiceManager
    ) throws {
        self.manager = manager
        self.settings = settings
        self.log = log
        self.registry = registry
        var faults: [String] = []
        let hooks = Self.attempt(&faults, "--hooks") { try HookTable(folder: settings.hooks) }
        let sessions = Self.attempt(&faults, "--state") {
            try Sessions(folder: settings.state, isTLS: settings.listen.isTLS)
        }
        let token = Self.attempt(&faults, "--token-file") { try settings.tokenFile.flatMap { try readToken($0) } }
        let connector = Self.attempt(&faults, "--connect") {
            guard let addresses = DaemonSocket.list(settings.connect) else {
                throw StartFault(lines: ["takes \(DaemonSocket.form), not \"\(settings.connect)\""])
            }
            return try DaemonConnector(to: addresses, trustRoots: settings.connectTrustRoots)
        }
        var certificates: CertificateReloader?
        if settings.listen.isTLS || settings.apns != nil, let certificate = settings.certificate,
            let key = settings.privateKey
        {
            certificates = Self.attempt(&faults, "--tls-cert") { try CertificateReloader(certificate, key) }
        }
        let pushes = Self.attempt(&faults, "--apns") {
            try settings.apns == nil && settings.apnsFile == nil
                ? nil : PushEndpoint(file: settings.apnsFile, state: settings.state, log: log)
        }
        guard faults.isEmpty, let hooks, let sessions, let connector, let token, let pushes else {
            throw StartFault(lines: faults)
        }
        self.certificates = certificates
        shares = .gateway(
            of: DescriptorLimit.raiseToMaximum(), callers: settings.connections, takesPushes: settings.apns != nil)
        let limit = shares.callers
        if limit < settings.connections {
            log.warning(
                "fewer connections are taken than --connections says",
                metadata: ["limit": "\(limit)", "why": "the limit of open files (ulimit -n)"])
        }
        let link = DaemonLink(connector, group: MultiThreadedEventLoopGroup.singleton, ownToken: token)
        state = GatewayState(
            link: link,
            origins: OriginPolicy(hosts: settings.hosts, origins: settings.origins, isTLS: settings.listen.isTLS),
            log: log, openAPI: openAPI, sessions: sessions, hooks: hooks, pushes: pushes,
            forwarder: settings.push.map { PushProxy($0, group: MultiThreadedEventLoopGroup.singleton) },
            hasExamples: settings.hasExamples, connections: ListenerConnections(limit: limit))
        state.certificateExpiry = certificates?.expiry
    }

    public struct StartFault: Error {
        public var lines: [String]
    }

    private static func attempt<Value>(_ faults: inout [String], _ place: String, _ body: () throws -> Value) -> Value?
    {
        do {
            return try body()
        } catch let fault as StartFault {
            faults += fault.lines.map { "\(place): \($0)" }
        } catch let fault as HookTable.Faults {
            faults += fault.lines.map { "\(place): \($0)" }
        } catch {
            faults.append("\(place): \(error)")
        }
        return nil
    }

    // MARK: Running

    /// Serves until it is asked to stop.
    ///
    /// - Parameter onReady: Called with the line that names the addresses served.
    public func run(onReady: @escaping @Sendable (String) -> Void) async throws {
        let ready = ReadyLine(daemon: settings.connect, takesPushes: settings.apns != nil) { [manager] line in
            onReady(line)
            manager.ready()
        }
        let services = try await services(ready)
        state.link.start()
        let watchdog = Task { await watch() }
        defer { watchdog.cancel() }
        let group = ServiceGroup(
            configuration: .init(
                services: services.map { .init(service: $0, successTerminationBehavior: .ignore) }
                    + [.init(service: self, successTerminationBehavior: .ignore)],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: log))
        try await group.run()
        state.link.close()
        state.lane.close()
    }

    private func services(_ ready: ReadyLine) async throws -> [any Service] {
        var quiet = log
        quiet.logLevel = max(log.logLevel, .warning)
        let connections = state.connections
        let http = HTTP1Channel.Configuration.bounded(connections)
        var server = HTTPServerBuilder { responder in
            CountedChannel(HTTP1Channel(responder: responder, configuration: http), in: connections)
        }
        if settings.listen.isTLS, let certificates {
            var tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: certificates.chain, privateKey: certificates.privateKey)
            tls.minimumTLSVersion = .tlsv12
            tls.sslContextCallback = certificates.callback
            server = HTTPServerBuilder { [tls] responder in
                CountedChannel(
                    PunctualChannel(
                        try HTTP2UpgradeChannel(
                            tlsConfiguration: tls,
                            configuration: .init(idleTimeout: .seconds(60), streamConfiguration: http),
                            responder: responder)),
                    in: connections)
            }
        }
        let application = Application(
            responder: GatewayResponder(gateway: state), server: server,
            configuration: .init(
                address: .hostname(settings.listen.host, port: settings.listen.port), serverName: nil, backlog: 1_024),
            onServerRunning: { ready.serving("http", $0.localAddress) }, logger: quiet)
        let operations = Application(
            responder: OpsResponder(gateway: state, registry: registry, figures: StatsCache()),
            server: HTTPServerBuilder { [operators = ListenerConnections(limit: shares.operators)] responder in
                CountedChannel(HTTP1Channel(responder: responder, configuration: .bounded(operators)), in: operators)
            },
            configuration: .init(address: .hostname(settings.ops.host, port: settings.ops.port), serverName: nil),
            onServerRunning: { ready.serving("ops", $0.localAddress) }, logger: quiet)
        guard let listener = settings.apns, let certificates, let pushes = state.pushes else {
            return [application, operations]
        }
        let taking = PushListener(
            host: listener.host, port: listener.port, certificates: certificates, endpoint: pushes, link: state.link,
            connections: ListenerConnections(limit: shares.senders)
        ) { ready.serving("apns", $0) }
        return [application, operations, taking]
    }

    /// How long listings may take to finish when the gateway stops.
    private static let listingPatience = TimeAmount.seconds(5)

    /// Does the work outside requests: idle connections, and shutdown.
    public func run() async throws {
        await withGracefulShutdownHandler {
            await cancelWhenGracefulShutdown {
                while !Task.isCancelled {
                    try? await Task.sleep(for: .seconds(5))
                    state.link.sweep()
                }
            }
        } onGracefulShutdown: {
            log.notice("shutting down")
            manager.stopping()
            state.streams.endAll()
            state.listings.close(in: Self.listingPatience, on: MultiThreadedEventLoopGroup.singleton.any())
        }
    }

    /// Sends watchdog notifications at the service manager's interval, after an answer from each event loop and from
    /// the threads that handle requests. If any of them hangs, none is sent.
    private func watch() async {
        guard let interval = manager.watchdogMilliseconds else { return }
        while !Task.isCancelled {
            for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
                try? await loop.submit {}.get()
            }
            manager.notify("WATCHDOG=1")
            try? await Task.sleep(for: .milliseconds(interval))
        }
    }

    /// Reloads hooks and certificates. If any of them has a fault, the old ones stay.
    public func reload() {
        guard manager.reloading() else { return }
        readAgain()
        manager.reloaded()
    }

    private func readAgain() {
        do {
            let fresh = try certificates?.read()
            let pushes = try state.pushes?.read(settings.apnsFile)
            try state.hooks.reload(settings.hooks)
            if let pushes { state.pushes?.use(pushes) }
            if let certificates, let fresh { certificates.use(fresh) }
            state.certificateExpiry = certificates?.expiry
            log.notice("read again", metadata: ["hooks": "\(state.hooks.names.count)"])
        } catch let faults as HookTable.Faults {
            for line in faults.lines { log.error("not read again", metadata: ["why": "\(line)"]) }
        } catch let faults as StartFault {
            for line in faults.lines { log.error("not read again", metadata: ["why": "\(line)"]) }
        } catch {
            log.error("not read again", metadata: ["why": "\(error)"])
        }
    }
}

/// Reports the addresses once all listeners are bound.
final class ReadyLine: Sendable {
    private let addresses = Mutex<[String: String]>([:])
    private let daemon: String
    private let takesPushes: Bool
    private let onReady: @Sendable (String) -> Void

    init(daemon: String, takesPushes: Bool, _ onReady: @escaping @Sendable (String) -> Void) {
        self.daemon = daemon
        self.takesPushes = takesPushes
        self.onReady = onReady
    }

    func serving(_ name: String, _ address: SocketAddress?) {
        let host = address?.ipAddress ?? "-"
        let text = "\(host.contains(":") ? "[\(host)]" : host):\(address?.port ?? 0)"
        let all = addresses.withLock { addresses in
            addresses[name] = text
            return addresses
        }
        guard let http = all["http"], let ops = all["ops"], !takesPushes || all["apns"] != nil else { return }
        onReady("ready http=\(http) apns=\(all["apns"] ?? "none") ops=\(ops) daemon=\(daemon)")
    }
}
