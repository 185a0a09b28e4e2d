import Foundation
import TelltaleEventLoop

/// Our own daemon: each key an activity whose state changes with every event, each subscriber a screen.
final class TelltaleScreens: FanOutTarget {
    let name: String
    let daemon: BenchDaemon
    let port: UInt16
    let tlsPort: UInt16?
    let message: FanOutMessage
    private let view: String
    /// What every connection says first.
    let introduction: String

    /// A small state machine, and a small view that shows the event's content.
    static let kind = """
        {"kind": "tally", "type": "activity", "version": 1, "app": "com.example.bench", "title": "Tally",
         "startsOn": ["tick"], "maxActive": "365d", "supplementalFamilies": ["small"],
         "machine": {"initial": "odd", "states": {
            "odd": {"progress": 0.25, "on": {"tick": "even", "stop": "stopped"}},
            "even": {"progress": 0.75, "on": {"tick": "odd", "stop": "stopped"}},
            "stopped": {"type": "final"}}},
         "views": {"small": {"title": "{{content.n}}", "progress": true}}}
        """

    /// How the daemon is to run.
    struct Settings {
        /// `memory`, or a value of `--sync`.
        var journal = "memory"
        var pace = PaceArgument.auto
        var view = "carplay"
        /// Of a row's JSON.
        var bytes = 200
        /// Whether subscribers speak TLS.
        var isEncrypted = false
        /// Whether every connection needs a token.
        var isGuarded = false
        /// Kinds beside its own, by the names of their files.
        var furtherKinds: [String: String] = [:]
    }

    init(_ settings: Settings, data: String, name: String = "telltale") throws {
        self.name = name
        view = settings.view
        let calm = Self.kind.replacingOccurrences(of: "\"tally\"", with: "\"calm\"")
        let kinds = ["tally.json": Self.kind, "calm.json": calm].merging(settings.furtherKinds) { own, _ in own }
        let folder = try BenchFolder(data, kinds: kinds)
        var listeners = settings.isEncrypted ? try BenchCertificate.listener(in: folder) : []
        if settings.isGuarded { listeners += try BenchTokens.arguments(in: folder) }
        introduction = settings.isGuarded ? "HELLO token=\(BenchTokens.token)\n" : ""
        let isInMemory = settings.journal == "memory"
        daemon = try BenchDaemon(
            ["--pace", "\(settings.pace)", "--sync", isInMemory ? "off" : settings.journal] + listeners, in: folder,
            environment: isInMemory ? ["TELLTALE_JOURNAL": "memory"] : [:], processor: Processors.server)
        guard case .tcp(_, let port) = daemon.endpoint else {
            throw ServerProcess.StartFailure(description: "telltaled listens on no port")
        }
        self.port = port
        tlsPort = daemon.ready["tls"]?.split(separator: ":").last.flatMap { UInt16($0) }
        let least = try Self.rowByteCount(daemon.endpoint, introduction, view: settings.view)
        guard settings.bytes >= least else {
            throw ServerProcess.StartFailure(
                description: "a row of the view \(settings.view) has \(least) bytes at least")
        }
        message = Self.event(note: settings.bytes - least)
    }

    var process: ServerProcess { daemon.process }
    var publisherOpening: [UInt8] { Array(introduction.utf8) }
    var publisherReadiness: [UInt8] { Array((introduction.isEmpty ? "TELLTALE " : "OK conn=").utf8) }
    var readiness: [UInt8] { Array("LIVE sub=".utf8) }
    var answersEachKey: Bool { true }
    var hasState: Bool { true }

    func opening(_ keys: [Int]) -> [UInt8] {
        Array(introduction.utf8)
            + Array(keys.map { "SUB tally/\(FanOutMessage.digits($0)) view=\(view)\n" }.joined().utf8)
    }

    /// A load of one screen that follows one activity of its own, beside another load.
    func makeCalmLoad() throws -> FanOutLoad {
        let load = try FanOutLoad(port: port, tlsPort: tlsPort, .init(subscribers: 1))
        let key = "calm/\(FanOutMessage.digits(0))"
        let event = String(decoding: message.bytes, as: UTF8.self).replacingOccurrences(of: "tally/", with: "calm/")
        try load.connectPublisher(
            opening: publisherOpening, readiness: publisherReadiness, message: FanOutMessage(event))
        try load.post(1)
        load.prepareSubscribers(readiness: readiness, times: 1) { _ in
            Array((introduction + "SUB \(key) view=\(view)\n").utf8)
        }
        try load.connect()
        return load
    }

    /// - Parameter note: The bytes of its content beside the number.
    static func event(note: Int) -> FanOutMessage {
        let text = FanOutMessage.number + String(repeating: "x", count: note)
        return FanOutMessage(
            "EVT tally/\(FanOutMessage.key) type=tick {\"content-state\":{\"n\":\"\(text)\"}}\n")
    }

    /// The bytes of a row's JSON without anything that we could leave out.
    private static func rowByteCount(_ endpoint: Endpoint, _ introduction: String, view: String) throws -> Int {
        let event = String(decoding: event(note: 0).bytes, as: UTF8.self)
            .replacingOccurrences(of: FanOutMessage.key, with: FanOutMessage.digits(0))
        let answer = try Exchange.ask(
            endpoint, introduction + event + "GET tally/\(FanOutMessage.digits(0)) view=\(view)\nPING\n", until: "PONG")
        guard let row = answer.split(separator: "\n").first(where: { $0.hasPrefix("OK key=") }),
            let start = row.firstIndex(of: "{")
        else { throw ServerProcess.StartFailure(description: "telltaled shows no row: \(answer)") }
        return row[start...].utf8.count
    }
}
