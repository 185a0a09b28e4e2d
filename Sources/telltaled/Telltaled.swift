import ArgumentParser
import FoundationEssentials
import Glibc
import Hub
import Journal
import Kinds
import Logging
import Machines
import Server
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire

@main
struct Telltaled: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telltaled",
        abstract: "The live-activity and control server.",
        usage: "telltaled --data DIR --kinds DIR [--listen HOST:PORT]... [OPTION]...",
        discussion: """
            Order systems post events to it; CarPlay screens, watches and desktops subscribe to it; it keeps every \
            activity and control as a state machine, in a journal in --data.

              telltaled --data /var/lib/telltale --kinds Protocols/Kinds/examples
              telltale watch --view carplay

            It prints one line that begins with "ready" when it serves, and logs to standard error. SIGTERM ends it in order, \
            SIGHUP reads the kinds, the file of --auth and certificates again.

            Every option is also an environment variable (--clock-speed is TELLTALE_CLOCK_SPEED) and a key of the \
            configuration file (JSON, "clock-speed"): defaults < file < environment < flags. A SPAN is 1500ms, 3s, 1m30s or \
            7d; a plain number counts milliseconds for --pace, --heartbeat and --stuck-reader, and seconds elsewhere.
            """,
        version: Release.version)

    @OptionGroup(title: "What it serves")
    var serving: ServingOptions

    @OptionGroup(title: "How it works")
    var running: RunningOptions

    @OptionGroup(title: "A node of a cluster")
    var clusterOptions: ClusterOptions

    @OptionGroup(title: "Limits and switches")
    var fine: FineOptions

    struct FineOptions: ParsableArguments {
        @Option(help: ArgumentHelp("The longest line. (default: 65536)", valueName: "BYTES"))
        var maxLine: String?
        @Option(help: ArgumentHelp("Subscriptions of one connection. (default: 256)", valueName: "N"))
        var maxSubscriptions: String?
        @Option(
            help: ArgumentHelp(
                "Silence after which the server says MARK. (default: 20s, in a cluster 5s)", valueName: "SPAN"))
        var heartbeat: String?
        @Option(
            help: ArgumentHelp(
                "Silence of a socket that takes no byte, after which its connection is closed. (default: 30s)",
                valueName: "SPAN"))
        var stuckReader: String?
        @Option(help: ArgumentHelp("Live activities of one person and one app. (default: 5)", valueName: "N"))
        var activitiesPerApp: String?
        @Option(help: ArgumentHelp("Live activities of one person. (default: 20)", valueName: "N"))
        var activitiesPerAccount: String?
        @Option(help: ArgumentHelp("How long event ids are remembered. (default: 7d)", valueName: "SPAN"))
        var eventIDAge: String?
        // The derived name would be "event-i-ds-per-source".
        @Option(
            name: .customLong("event-ids-per-source"),
            help: ArgumentHelp("How many event ids of one source are remembered. (default: 1000000)", valueName: "N"))
        var eventIDsPerSource: String?
        @Option(help: ArgumentHelp("How long a dismissed activity can be asked for. (default: 7d)", valueName: "SPAN"))
        var retention: String?
        @Option(help: ArgumentHelp("How far apart a widget asks its provider. (default: 5m)", valueName: "SPAN"))
        var widgetFloor: String?
        @Option(
            help: ArgumentHelp(
                "The edition of the rules that decides. (default: that of the history; a new one begins with \(DecisionRules.newest.number))",
                valueName: "N"))
        var rules: String?
        @Option(
            help: ArgumentHelp(
                "Whether an end older than the newest event ends all the same. (default: yes)", valueName: "yes|no"))
        var acceptOldEnd: String?
        @Option(
            help: ArgumentHelp("On CarPlay, watch and desktop. (default: relevance)", valueName: "relevance|alert"))
        var order: String?
        @Option(
            help: ArgumentHelp("The order of apps on the Lock Screen. (default: alert)", valueName: "relevance|alert"))
        var lockScreenOrder: String?
        @Option(help: ArgumentHelp("Which app has the Dynamic Island. (default: alert)", valueName: "relevance|alert"))
        var islandOrder: String?
        @Option(help: ArgumentHelp("CarPlay without a small view. (default: compact)", valueName: "compact|lockScreen"))
        var carplayFallback: String?
        @Option(
            help: ArgumentHelp("What OPEN shows on a desktop. (default: lockScreen)", valueName: "lockScreen|expanded"))
        var desktopSelection: String?
        @Option(help: ArgumentHelp("An alert opens a desktop's panel. (default: yes)", valueName: "yes|no"))
        var desktopPanel: String?
        @Option(help: ArgumentHelp("An alert fills a display in StandBy. (default: yes)", valueName: "yes|no"))
        var standbyAlert: String?
        @Option(help: ArgumentHelp("What has ended stays in StandBy. (default: yes)", valueName: "yes|no"))
        var standbyEnded: String?
        @Option(help: ArgumentHelp("Hides what is stale from its start. (default: yes)", valueName: "yes|no"))
        var hideStaleStart: String?
        @Option(help: ArgumentHelp("An always-on display hides private parts. (default: hide)", valueName: "hide|show"))
        var alwaysOnPrivate: String?
        @Option(help: ArgumentHelp("How long a smart stack keeps a choice. (default: 15m)", valueName: "SPAN"))
        var stackHold: String?
        @Option(
            help: ArgumentHelp("Where else than on the watch relevance shows widgets.", valueName: "PLACE,…|none"))
        var relevanceOn: String?
        @Option(help: ArgumentHelp("A widget's rows a day to a dark screen. (default: 48)", valueName: "N|off"))
        var widgetBudget: String?
        @Option(help: ArgumentHelp("How many of them may come at once. (default: 8)", valueName: "N"))
        var widgetBurst: String?
    }

    /// Faults of flags are reported like those of the file and the environment, with the same exit status.
    static func main() {
        StandardStream.occupyMissing()
        // Without SIGXFSZ, a file at its size limit looks like a full disk and does not kill the process.
        signal(SIGXFSZ, SIG_IGN)
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            let code = exitCode(for: error)
            guard code != .success else { exit(withError: error) }
            let message = fullMessage(for: error)
            if !message.isEmpty { StandardStream.error.write(message.harmlessLines + "\n") }
            exit(withError: code == .validationFailure ? ExitCode(78) : code)
        }
    }

    /// The flags that were given, by the names of their settings.
    ///
    /// The properties are found by reflection, as ArgumentParser finds them, so that an option is declared once.
    private var flags: [String: [String]] {
        var flags = ["listen": serving.listen]
        if serving.dev { flags["dev"] = ["yes"] }
        if !clusterOptions.engine.isEmpty { flags["engine"] = clusterOptions.engine }
        if !clusterOptions.engineMonitor.isEmpty { flags["engine-monitor"] = clusterOptions.engineMonitor }
        let groups: [Any] = [serving, running, clusterOptions, fine]
        for child in groups.flatMap({ Array(Mirror(reflecting: $0).children) }) {
            guard let option = child.value as? Option<String?>, let value = option.wrappedValue,
                let setting = ConfigurationSetting.all.first(where: { $0.isRead(byProperty: child.label ?? "") })
            else { continue }
            flags[setting.name] = [value]
        }
        return flags
    }

    mutating func run() throws {
        let environment = ProcessInfo.processInfo.environment
        let file = (running.config ?? environment["TELLTALE_CONFIG"]).map { ConfigurationSources.File($0) } ?? .none
        let reading = ConfigurationSources(file: file, environment: environment, flags: flags).read()
        let configuration = reading.configuration
        for fault in reading.faults { Self.complain(fault) }
        let log = Log(format: configuration.logFormat, logLevel: configuration.logLevel.level)
        let logger = Logger(label: "telltaled") { _ in log }
        for warning in configuration.warnings { logger.warning("\(warning)") }
        // Read even if a setting is wrong, so that all faults are reported at once.
        guard let files = NamedFiles(configuration, logger: logger), reading.faults.isEmpty else { throw ExitCode(78) }
        if running.checkConfig {
            StandardStream.output.write("the configuration is in order, with \(files.kinds.kinds.count) kinds\n")
            return
        }
        throw ExitCode(try Self.serve(configuration, files, logger: logger))
    }

    /// The contents of the files that the settings name, read at the start. Nothing is written or created.
    struct NamedFiles {
        var kinds = KindSet([])
        var folder: KindFolder
        var principals: Principals?
        var certificate: Certificate?

        /// Reports every fault of every file. `nil` if there is one.
        init?(_ configuration: Configuration, logger: Logger) {
            var isWhole = true
            func read(_ body: () throws -> Void) {
                do { try body() } catch { isWhole = false }
            }
            folder = KindFolder(path: configuration.kinds)
            if !configuration.kinds.isEmpty { read { kinds = try loadKinds(&folder, logger: logger) } }
            read { principals = try loadPrincipals(configuration) }
            read { certificate = try loadCertificate(configuration) }
            read { try checkLog(configuration.cluster) }
            guard isWhole else { return nil }
        }
    }

    static func loadKinds(_ folder: inout KindFolder, logger: Logger) throws -> KindSet {
        do {
            let (loaded, diagnostics) = try folder.load()
            for diagnostic in diagnostics {
                if diagnostic.severity == .warning {
                    logger.warning("\(diagnostic.logged)")
                } else {
                    complain("\(diagnostic)")
                }
            }
            guard let loaded else { throw ExitCode(78) }
            return loaded
        } catch let error as KindFolder.Unreadable {
            complain(error.description)
            throw ExitCode(78)
        }
    }

    private static func serve(_ configuration: Configuration, _ files: NamedFiles, logger: Logger) throws -> Int32 {
        guard !configuration.cluster.isOn else { return try serveInCluster(configuration, files, logger: logger) }
        do {
            let manager = ServiceManager()
            let startedAt = ContinuousClock.now
            let journal = try openJournal(configuration, logger: logger)
            try refuseCopy(journal, configuration)
            var hub = try Recovery.recover(
                journal, configuration: configuration.hub, logger: logger, manager: manager)
            if let reason = journal.opening.epochReplaced {
                logger.warning("the history may not be whole, so it has a new epoch: \(reason)")
            }
            let clock = Clock(
                speed: configuration.clockSpeed, lastRecord: hub.lastRecordTime, lastWall: hub.lastRecordWall)
            let kinds = configuration.isDeveloping ? hub.revised(files.kinds.kinds) : files.kinds.kinds
            try hub.adopt(kinds, configuration.hub.decisions)
            hub.restart()
            var server = Server(
                hub, configuration: configuration.server(isJournalImmediate: journal.isImmediate),
                snapshotSequence: journal.snapshot?.sequence ?? 0)
            if let records = firstBatch(of: &server, clock: clock) {
                let start = ContinuousClock.now
                let isWritten = try append(records, to: journal, logger: logger)
                let duration = ContinuousClock.now - start
                server.synced(isWritten ? .durable(duration: duration, wait: duration) : .full, at: clock.now)
            }
            let (epoch, entities) = (server.epoch, server.entityCount)
            _ = DescriptorLimit.raiseToMaximum()
            let recovered = ContinuousClock.now - startedAt

            let loop = try EventLoop()
            var status: Int32 = 0
            let daemon = try Daemon(
                loop: loop, server: server, journal: journal, clock: clock, configuration: configuration,
                files: files, logger: logger, manager: manager
            ) { status = $0 }
            do {
                try daemon.listen()
                try daemon.start()
            } catch {
                daemon.giveUp()
                throw error
            }
            daemon.reportRules()
            daemon.reportOlderRules()
            announce(daemon, epoch: epoch, entities: entities, recovered: recovered)
            manager.ready()
            _ = loop.run()
            return status
        } catch let error as ExitCode {
            throw error
        } catch {
            complain("\(error)")
            throw ExitCode(1)
        }
    }

    /// The kinds, settings and instances of the start. They are durable before any client is served.
    ///
    /// - Returns: `nil` if there is nothing new. The loop does the rest of the turn.
    private static func firstBatch(of server: inout Server, clock: Clock) -> [JournalRecord]? {
        guard !server.isIdle(at: clock.now) else { return nil }
        server.turn(at: clock.now)
        var records: [JournalRecord] = []
        while case .append(let part, let isLast)? = server.nextAction(at: clock.now) {
            records += part
            if isLast { return records }
        }
        return nil
    }

    /// - Returns: Whether there was room. If not, the daemon serves what it has, and the records are appended later.
    private static func append(_ records: [JournalRecord], to journal: any Journal, logger: Logger) throws -> Bool {
        do throws(JournalError) {
            if !records.isEmpty { try journal.append(records) }
            return true
        } catch {
            guard case .full = error else { throw error }
            logger.error("\(error)")
            return false
        }
    }

    /// Prints the one line on standard output, which says that the daemon serves.
    static func announce(
        _ daemon: Daemon, epoch: UInt64, entities: Int, recovered: Duration, role: String? = nil
    ) {
        var line = "ready"
        let tcp = daemon.endpoints.compactMap { if case .tcp = $0 { $0.description } else { nil } }
        if !tcp.isEmpty { line += " tcp=" + tcp.joined(separator: ",") }
        let encrypted = daemon.tlsEndpoints.map(\.description)
        if !encrypted.isEmpty { line += " tls=" + encrypted.joined(separator: ",") }
        for case .unix(let path) in daemon.endpoints { line += " unix=\(path)" }
        if let listener = daemon.operatorListener { line += " ops=\(listener.endpoint)" }
        let digits = String(epoch, radix: 16)
        line += " epoch=" + String(repeating: "0", count: 16 - digits.count) + digits
        let (seconds, attoseconds) = recovered.components
        line += " entities=\(entities) recovered_ms=\(seconds * 1_000 + attoseconds / 1_000_000_000_000_000)"
        if let role { line += " role=\(role)" }
        StandardStream.output.write(line + "\n")
    }

    static func complain(_ text: String) {
        StandardStream.error.write("telltaled: \(text)\n".harmlessLines)
    }
}
