import ArgumentParser
import Foundation
import Gateway
import GatewayServer
import Launch
import Logging
import Metrics
import TelltaleEventLoop
import TelltaleWire

@main
struct TelltaleGateway: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telltale-gateway",
        abstract: "HTTP, event streams and webhooks in front of a telltale daemon.",
        usage: "telltale-gateway [--connect ADDRESS] [--listen http://HOST:PORT] [OPTION]...",
        discussion: """
            It translates and decides nothing: states, verdicts and rights are the daemon's. It prints one line that begins \
            with "ready" when it serves, whether or not the daemon is there yet, and logs to standard error.

            Every option is also an environment variable (--ops-listen is TELLTALE_GATEWAY_OPS_LISTEN) and a key of the \
            configuration file (JSON, "ops-listen"): defaults < file < environment < flags. What is wrong is told at \
            once, all of it, with exit code 78.

            SIGTERM ends it in order, SIGHUP reads the hooks, the certificates and the file of --apns again.

              telltale-gateway --connect unix:/run/telltale/telltaled.sock
              curl -d '{"attributes":{"item":"Flat white"}}' \\
                http://127.0.0.1:7880/coffee-order/7/start
            """,
        version: Release.version, subcommands: [Hooks.self, Serve.self])

    @OptionGroup(title: "What it serves")
    var options: ServeOptions

    static func main() async { await launch(Self.self) }

    func run() async throws { try await options.serve() }
}

/// The command of the first releases, which does what the program does without a subcommand.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serve. What is done without a subcommand.", shouldDisplay: false)

    @OptionGroup var options: ServeOptions

    func run() async throws { try await options.serve() }
}

/// A configuration that cannot be used (sysexits.h).
let configurationExit = ExitCode(78)

struct ServeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where the daemon listens. (default: 127.0.0.1:7878)", valueName: "unix:PATH|HOST:PORT|tls://HOST:PORT"))
    var connect: [String] = []
    @Option(
        name: .customLong("connect-ca"),
        help: ArgumentHelp("Certificates (PEM) to trust for a tls:// daemon.", valueName: "FILE"))
    var connectCA: [String] = []
    @Option(
        help: ArgumentHelp(
            "Where the API is served. Port 0 is any free one. (default: http://127.0.0.1:7880)",
            valueName: "http(s)://HOST:PORT"))
    var listen: [String] = []
    @Option(
        help: ArgumentHelp(
            "Where /metrics, /healthz and /readyz are served. (default: 127.0.0.1:7883)", valueName: "HOST:PORT"))
    var opsListen: [String] = []
    @Option(help: ArgumentHelp("Connections of callers at once. (default: 8192)", valueName: "N"))
    var connections: [String] = []
    @Option(
        help: ArgumentHelp(
            "A name of this gateway beside localhost, where there is no authentication. May be repeated.",
            valueName: "NAME"))
    var host: [String] = []
    @Option(help: ArgumentHelp("An origin whose pages may ask. May be repeated.", valueName: "ORIGIN"))
    var cors: [String] = []
    @Option(help: ArgumentHelp("The certificate chain (PEM) of an https or APNs listener.", valueName: "FILE"))
    var tlsCert: [String] = []
    @Option(help: ArgumentHelp("Its private key (PEM).", valueName: "FILE"))
    var tlsKey: [String] = []
    @Option(help: ArgumentHelp("Holds the gateway's own token, for hooks and figures.", valueName: "FILE"))
    var tokenFile: [String] = []
    @Option(help: ArgumentHelp("The webhooks: a file each.", valueName: "FOLDER"))
    var hooks: [String] = []
    @Option(
        help: ArgumentHelp("Keeps the keys of sessions and device tokens, and the push channels.", valueName: "FOLDER"))
    var state: [String] = []
    @Option(help: ArgumentHelp("Whether /examples is served, pages to copy. (default: off)", valueName: "on|off"))
    var examples: [String] = []
    @Option(help: ArgumentHelp("A configuration file (JSON).", valueName: "FILE"))
    var config: String?
    @Option(
        help: ArgumentHelp("trace, debug, info, notice, warning, error or critical. (default: info)", valueName: "L"))
    var logLevel: [String] = []
    @Option(help: ArgumentHelp("text or json. (default: text)", valueName: "F"))
    var logFormat: [String] = []
    @Option(
        help: ArgumentHelp(
            "Where Apple's push requests are taken, HTTP/2 in TLS. (default: nowhere)", valueName: "HOST:PORT"))
    var apnsListen: [String] = []
    @Option(help: ArgumentHelp("The keys and the apps of Apple's push requests (JSON).", valueName: "FILE"))
    var apns: [String] = []
    @Option(
        help: ArgumentHelp(
            "Where telltale-push takes registrations. (default: none)", valueName: "unix:PATH|http://HOST:PORT"))
    var push: [String] = []
    @Flag(help: "Only check the configuration and what it names.")
    var check = false

    private var flags: [String: [String]] {
        [
            "connect": connect, "connect-ca": connectCA, "listen": listen, "ops-listen": opsListen,
            "connections": connections, "host": host, "cors": cors, "tls-cert": tlsCert, "tls-key": tlsKey,
            "token-file": tokenFile, "hooks": hooks, "state": state, "examples": examples, "log-level": logLevel,
            "log-format": logFormat,
            "apns-listen": apnsListen,
            "apns": apns, "push": push,
        ]
    }

    func serve() async throws {
        signal(SIGPIPE, SIG_IGN)
        let environment = ProcessInfo.processInfo.environment
        var file: (name: String, bytes: [UInt8])?
        if let path = config ?? environment["TELLTALE_GATEWAY_CONFIG"] {
            guard let data = FileManager.default.contents(atPath: path) else {
                throw Self.refuse(["\(path): cannot be read"])
            }
            file = (path, Array(data))
        }
        let (settings, faults) = SettingSources(file: file, environment: environment, flags: flags).read()
        let hasPriorities = environment["JOURNAL_STREAM"] != nil
        LoggingSystem.bootstrap { _ in
            StandardErrorLog(settings.logFormat, level: settings.logLevel, hasPriorities: hasPriorities)
        }
        let registry = MetricsRegistry(descriptions: metricDescriptions)
        MetricsSystem.bootstrap(registry)
        let log = Logger(label: "telltale-gateway")
        let server: GatewayServer
        do {
            server = try GatewayServer(
                settings, registry: registry, log: log, openAPI: OpenAPIDocument.bytes, manager: ServiceManager())
        } catch let fault as GatewayServer.StartFault {
            throw Self.refuse(faults + fault.lines)
        }
        guard faults.isEmpty else { throw Self.refuse(faults) }
        if check { return print("the configuration is good") }
        let reloading = Self.onHangUp { server.reload() }
        defer { reloading.cancel() }
        Self.limitShutdown()
        do {
            try await server.run { line in
                FileHandle.standardOutput.write(Data("\(line)\n".utf8))
            }
        } catch {
            log.critical("cannot serve", metadata: ["why": "\(error)"])
            throw ExitCode(1)
        }
    }

    private static func refuse(_ faults: [String]) -> ExitCode {
        for fault in faults {
            FileHandle.standardError.write(Data("telltale-gateway: \(fault)\n".utf8))
        }
        return configurationExit
    }

    private static func onHangUp(_ body: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
        signal(SIGHUP, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: .global())
        source.setEventHandler(handler: body)
        source.resume()
        return source
    }

    /// Ends the process within ten seconds of SIGTERM, even if a reader takes nothing.
    private static func limitShutdown() {
        let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        source.setEventHandler {
            DispatchQueue.global().asyncAfter(deadline: .now() + 9) { Foundation.exit(0) }
        }
        source.resume()
        shutdownSources.append(source)
    }

    nonisolated(unsafe) private static var shutdownSources: [any DispatchSourceSignal] = []
}

/// The meaning of each metric of the gateway.
let metricDescriptions = [
    "telltale_gateway_http_requests_total": "Requests, by route, method and status.",
    "telltale_gateway_http_request_duration_seconds":
        "From a request's head to its answer, in seconds; of a stream to its beginning.",
    "telltale_gateway_streams": "Streams that are open.",
    "telltale_gateway_stream_events_total": "Events written to streams.",
    "telltale_gateway_connections": "Connections of callers that are open.",
    "telltale_gateway_body_bytes": "Memory of bodies of requests that have not come whole.",
    "telltale_gateway_connections_refused_total":
        "Connections that were closed because there were too many: the longest idle ones, else new ones.",
    "telltale_gateway_long_answers": "Lists, histories and long reads of rows in progress.",
    "telltale_gateway_daemon_connections": "Connections to the daemon, those of streams, lists and histories included.",
    "telltale_gateway_daemon_reconnects_total": "Connections to the daemon that were made again.",
    "telltale_gateway_webhook_deliveries_total": "Deliveries of webhooks, by what became of them.",
    "telltale_gateway_apns_pushes_total": "Requests to the APNs-shaped endpoint, by status and reason.",
]
