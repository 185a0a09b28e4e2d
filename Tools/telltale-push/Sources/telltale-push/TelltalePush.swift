import ArgumentParser
import Foundation
import Gateway
import Launch
import Logging
import PushServer
import TelltaleEventLoop
import TelltaleWire

@main
struct TelltalePush: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "telltale-push",
        abstract: "Sends the state of a telltale daemon to real devices by Apple's push service, and to browsers.",
        discussion: """
            It follows the rows of the activities that apps registered for, and sends each device the newest state: \
            starts, updates and ends of Live Activities, and reloads of widgets and controls. It keeps its registrations \
            in --state, prints one line that begins with "ready" when it serves, logs to standard error, and connects to \
            the daemon, to --apns-url, --channels-url and the hosts of "web-push" alone.

            The configuration file (JSON) holds the same options without their dashes, and the apps:

              { "apns-url": "https://api.sandbox.push.apple.com", "team": "ABCDE12345", "kid": "KEY1234567",
                "key": "AuthKey_KEY1234567.p8", "state": "/var/lib/telltale-push",
                "apps": { "com.example.coffee": { "CoffeeAttributes": { "kind": "coffee-order", "state": "status" } } } }

            An app hands in the tokens of its device:

              curl -X PUT -d '{"account":"alice","kind":"coffee-order","token":"80a1…"}' \\
                http://127.0.0.1:7884/v1/push/targets/alice-phone
              curl http://127.0.0.1:7884/v1/push/sent

            Protocols/HTTP/push.md says the rest, and how browsers register ("web-push"). What is wrong is told at once, with exit code 78.
            """,
        version: Release.version)

    static func main() async { await launch(Self.self) }

    @Option(help: ArgumentHelp("The configuration file (JSON).", valueName: "FILE"))
    var config: String?
    @Option(
        help: ArgumentHelp(
            "Where the daemon listens. (default: unix:/run/telltale/telltaled.sock)",
            valueName: "unix:PATH|HOST:PORT|tls://HOST:PORT"))
    var connect: String?
    @Option(
        name: .customLong("connect-ca"),
        help: ArgumentHelp("Certificates (PEM) to trust for a tls:// daemon.", valueName: "FILE"))
    var connectCA: String?
    @Option(help: ArgumentHelp("Holds this program's token: read:* of any account.", valueName: "FILE"))
    var tokenFile: String?
    @Option(help: ArgumentHelp("Keeps the registrations.", valueName: "FOLDER"))
    var state: String?
    @Option(
        help: ArgumentHelp(
            "Where apps register. Port 0 is any free one. (default: http://127.0.0.1:7884)",
            valueName: "unix:PATH|http://HOST:PORT"))
    var listen: String?
    @Option(
        help: ArgumentHelp("Where pushes go, and nowhere else.", valueName: "https://HOST[:PORT]"))
    var apnsURL: String?
    @Option(
        help: ArgumentHelp(
            "Where the push service manages broadcast channels. (default: nowhere)", valueName: "https://HOST[:PORT]"))
    var channelsURL: String?
    @Option(
        name: .customLong("apns-ca"),
        help: ArgumentHelp("Certificates (PEM) to trust for --apns-url. (default: the system's)", valueName: "FILE"))
    var apnsCA: String?
    @Option(help: ArgumentHelp("The 10 characters of Apple's team.", valueName: "TEAM"))
    var team: String?
    @Option(help: ArgumentHelp("The 10 characters of its key.", valueName: "KID"))
    var kid: String?
    @Option(help: ArgumentHelp("The file of the key, as AuthKey_KEY1234567.p8.", valueName: "FILE"))
    var key: String?
    @Option(
        help: ArgumentHelp("trace, debug, info, notice, warning, error or critical. (default: info)", valueName: "L"))
    var logLevel: String?
    @Option(help: ArgumentHelp("text or json. (default: text)", valueName: "F"))
    var logFormat: String?
    @Flag(help: "Only check the configuration and what it names.")
    var checkConfig = false

    private var flags: [String: String] {
        [
            "connect": connect, "connect-ca": connectCA, "token-file": tokenFile, "state": state, "listen": listen,
            "apns-url": apnsURL, "channels-url": channelsURL, "apns-ca": apnsCA, "team": team, "kid": kid, "key": key,
            "log-level": logLevel,
            "log-format": logFormat,
        ].compactMapValues { $0 }
    }

    func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        var file: (path: String, bytes: [UInt8])?
        if let config {
            guard let data = FileManager.default.contents(atPath: config) else {
                throw Self.refuse(["--config: \(config) cannot be read"])
            }
            file = (config, Array(data))
        }
        let (settings, faults) = PushSettings.read(file: file, flags: flags)
        guard faults.isEmpty else { throw Self.refuse(faults) }
        let hasPriorities = ProcessInfo.processInfo.environment["JOURNAL_STREAM"] != nil
        LoggingSystem.bootstrap { _ in
            StandardErrorLog(settings.logFormat, level: settings.logLevel, hasPriorities: hasPriorities)
        }
        let log = Logger(label: "telltale-push")
        let service: PushService
        do {
            service = try PushService(settings, log: log, manager: ServiceManager(), isDryRun: checkConfig)
        } catch let fault as PushService.StartFault {
            throw Self.refuse(fault.lines)
        }
        if checkConfig { return print("the configuration is good") }
        do {
            try await service.run { line in FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
        } catch {
            log.critical("cannot serve", metadata: ["why": "\(error)"])
            throw ExitCode(1)
        }
    }

    private static func refuse(_ faults: [String]) -> ExitCode {
        for fault in faults { FileHandle.standardError.write(Data("telltale-push: \(fault)\n".utf8)) }
        // A configuration that cannot be used (sysexits.h).
        return ExitCode(78)
    }
}
