internal import ApplePush
internal import FoundationEssentials
internal import Gateway
internal import Glibc
internal import Hummingbird
internal import HummingbirdCore
internal import ListenerLimits
public import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
internal import TelltaleCrypto
public import TelltaleEventLoop
internal import TelltaleNIOClient
internal import UnixSignals

/// The whole of `telltale-push`: rows in, pushes out, and the listener for registrations.
public struct PushService: Sendable {
    private let settings: PushSettings
    private let log: Logger
    private let manager: ServiceManager
    private let connector: DaemonConnector
    private let desk: PushDispatcher
    private let connection: AppleConnection?
    /// The connection for channel management.
    private let channels: AppleConnection?
    private let shares: DescriptorShares

    public struct StartFault: Error {
        public var lines: [String]
    }

    private static let cryptography = PushCryptography(
        sha256: { SHA256.digest(of: $0) }, tag: { _ in [] }, verify: { _, _, _ in false })

    /// Opens everything that the settings name.
    ///
    /// - Parameter isDryRun: Whether to create and lock nothing on disk.
    /// - Throws: ``StartFault`` with all faults.
    public init(_ settings: PushSettings, log: Logger, manager: ServiceManager, isDryRun: Bool = false) throws {
        self.settings = settings
        self.log = log
        self.manager = manager
        shares = .push(of: DescriptorLimit.raiseToMaximum())
        let flightLimit = max(1, shares.services / PushState.browserFlights)
        connector = try Self.attempt("connect") {
            guard let addresses = DaemonSocket.list(settings.connect) else {
                throw StartFault(lines: ["takes \(DaemonSocket.form), not \"\(settings.connect)\""])
            }
            return try DaemonConnector(to: addresses, trustRoots: settings.connectTrustRoots)
        }
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let (connection, channels): (AppleConnection?, AppleConnection?) = try Self.attempt("apns-ca") {
            guard let place = settings.pushPlace else { return (nil, nil) }
            // Both share one token, because Apple limits how often a new one is made.
            let signer = try ProviderSigner(team: settings.team, keyID: settings.keyID, pem: settings.key)
            func connection(_ place: PushSettings.Place) throws -> AppleConnection {
                try Self.trusting(settings.trustRoots) {
                    try AppleConnection(to: place, trustRoots: settings.trustRoots, signer, log: log, on: loop)
                }
            }
            return (try connection(place), try settings.channelPlace.map(connection))
        }
        (self.connection, self.channels) = (connection, channels)
        let web: WebPushSender? = try Self.attempt("web-push") {
            guard let web = settings.web else { return nil }
            let cipher = try WebPushCipher(pem: web.key, subject: web.subject)
            return try Self.trusting(web.trustRoots) {
                try WebPushSender(
                    cipher, hosts: web.hosts, trustRoots: web.trustRoots, on: MultiThreadedEventLoopGroup.singleton)
            }
        }
        desk = try Self.attempt("state") {
            if !isDryRun {
                try FileManager.default.createDirectory(
                    atPath: settings.state, withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700])
            }
            let store = try PushStore(folder: isDryRun ? nil : settings.state)
            var ledger = PushState(forms: settings.forms, flightLimit: flightLimit, Self.cryptography)
            try store.restore(into: &ledger)
            return PushDispatcher(ledger, store, connection, web, Self.cryptography, log)
        }
    }

    private static func attempt<Value>(_ place: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let fault as StartFault {
            throw StartFault(lines: fault.lines.map { "--\(place): \($0)" })
        } catch {
            throw StartFault(lines: ["--\(place): \(error)"])
        }
    }

    /// Explains which certificates of authorities cannot be read, because TLS itself gives no reason.
    private static func trusting<Value>(_ file: String?, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            let remedy = "the certificates of the system cannot be read; install ca-certificates, or name a file"
            throw StartFault(lines: [file.map { "\($0) holds no certificates in PEM" } ?? remedy])
        }
    }

    /// Serves until it is asked to stop.
    ///
    /// - Parameter onReady: Called with the line that names the address served.
    public func run(onReady: @escaping @Sendable (String) -> Void) async throws {
        var quiet = log
        quiet.logLevel = max(log.logLevel, .warning)
        let group = MultiThreadedEventLoopGroup.singleton
        let address: BindAddress
        switch settings.listener {
        case .unix(let path):
            try? FileManager.default.removeItem(atPath: path)
            address = .unixDomainSocket(path: path)
        case .tcp(let host, let port): address = .hostname(host, port: port)
        }
        let (listener, manager) = (settings.listener, manager)
        var host = "localhost"
        if case .tcp(let name, _) = listener { host = name }
        let responder = PushResponder(
            desk: desk, channelService: channels, rights: CallerRights(connector: connector, group: group), host: host,
            cryptography: Self.cryptography)
        let application = Application(
            responder: responder,
            server: HTTPServerBuilder { [callers = ListenerConnections(limit: shares.callers)] responder in
                CountedChannel(HTTP1Channel(responder: responder, configuration: .bounded(callers)), in: callers)
            },
            configuration: .init(address: address, serverName: nil, backlog: 1_024),
            onServerRunning: { channel in
                let place: String
                switch listener {
                case .unix(let path):
                    // If the daemon has no tokens, anyone who can connect may register for any account.
                    _ = chmod(path, 0o660)
                    place = "unix:\(path)"
                case .tcp(let host, _): place = "\(host):\(channel.localAddress?.port ?? 0)"
                }
                onReady("ready http=\(place)")
                manager.ready()
            }, logger: quiet)
        let follower = PushFollower(connector, group: group, token: settings.token, desk, log)
        let following = Task { await follower.start() }
        let watchdog = Task { await watch() }
        defer { watchdog.cancel() }
        let services = ServiceGroup(
            configuration: .init(
                services: [.init(service: application)], gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet))
        try await services.run()
        manager.stopping()
        following.cancel()
        await desk.stop()
        await follower.stop()
        connection?.close()
        channels?.close()
    }

    /// Sends watchdog notifications at the service manager's interval, after an answer from each event loop and from
    /// the desk, which performs every decision. If any of them hangs, none is sent.
    private func watch() async {
        guard let interval = manager.watchdogMilliseconds else { return }
        while !Task.isCancelled {
            for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
                try? await loop.submit {}.get()
            }
            _ = await desk.generation
            manager.notify("WATCHDOG=1")
            try? await Task.sleep(for: .milliseconds(interval))
        }
    }

    /// Ends the process at once.
    static func exit(_ code: Int32) -> Never { Glibc._exit(code) }
}
