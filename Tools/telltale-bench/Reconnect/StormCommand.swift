import ArgumentParser
import Foundation
import Histogram
import TelltaleEventLoop
import TelltaleModel

/// `telltale-bench storm`: all connections break, and all clients come back at once.
struct StormCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "storm", abstract: "How long until everybody who reconnects at once is up to date again.",
        discussion: """
            Connects --subscribers, each with --per subscriptions of the --keys, breaks all their connections, posts \
            --changed events, and connects all of them at once, each with its cursors. The time runs from the first \
            connect until the last has been told LIVE for its last subscription, by which it has the newest state of \
            all that it follows; that is checked. Exit status 1 when the median is longer than --limit seconds, or when \
            somebody was not up to date.
            """)

    @Option(help: "Connections.") var subscribers = 10_000
    @Option(help: "Live activities.") var keys = 10_000
    @Option(help: "Subscriptions of each connection.") var per = 10
    @Option(help: "Events that everybody misses.") var changed = 1_000
    @Option(help: "Repetitions.") var rounds = 3
    @Option(help: "Seconds that it may take. (default: 2; with --tls 6)") var limit: Double?
    @Flag(help: "Over TLS, with session tickets; and one calm screen, whose p99 may be 5 ms.") var tls = false
    @Option(help: "memory, off, normal or full.") var journal = "memory"
    @Flag(help: "Without cursors: everything is sent again.") var fresh = false
    @Option(help: "A folder for the files; it is removed afterwards.") var data = "telltale-bench-storm"
    @Flag(help: "Print one JSON object.") var json = false

    /// Milliseconds.
    private static let calmLimit = 5.0

    private var shape: FanOutLoad.Shape { .init(subscribers: subscribers, keys: keys, each: per) }

    func validate() throws {
        guard shape.isEven, rounds > 0, changed >= 0, (1...256).contains(per) else {
            throw ValidationError("subscribers * per must be a multiple of keys, and per at most keys and 256")
        }
    }

    func run() throws {
        Processors.takeLoadProcessor()
        DescriptorLimit.raiseToMaximum()
        var settings = TelltaleScreens.Settings()
        settings.journal = journal
        settings.isEncrypted = tls
        let shape = shape
        let limit = limit ?? (tls ? 6 : 2)
        let screens = try TelltaleScreens(settings, data: data)
        let storm = try Reconnection(screens, shape, view: settings.view) {
            shape.keys(of: $0).map { "tally/" + FanOutMessage.digits($0) }
        }
        var calm: [Double] = []
        var tickets = 0
        var times = Sample()
        var processor = Sample()
        var isCurrent = true
        for _ in 0..<rounds {
            let screen = tls ? try CalmScreen(screens) : nil
            if screen != nil { Processors.giveWay() }
            screen?.begin()
            let result = try storm.run(changed: changed, atOnce: subscribers, resumes: !fresh)
            if let screen { calm.append(Double(try screen.end().valueAtPercentile(99)) / 1e6) }
            tickets += result.resumedHandshakes
            times.values.append(result.seconds)
            processor.values.append(result.processorTime / Double(subscribers) / 1e3)
            isCurrent = isCurrent && result.currentCount == subscribers
        }
        let calmest = calm.max() ?? 0
        let isKept = times.median <= limit && isCurrent && calmest <= Self.calmLimit
        if json {
            var report = JSONObject()
            report["seconds"] = times.json
            report["server_cpu_us_per_connection"] = processor.json
            report["all_current"] = .bool(isCurrent)
            if tls {
                report["calm_p99_ms"] = .array(calm.map { JSON($0) })
                report["tickets_used"] = .integer(Int64(tickets))
            }
            report["kept"] = .bool(isKept)
            print(JSON.object(report))
        } else {
            print(
                """
                \(subscribers) connections with \(per) subscriptions each \(fresh ? "start anew" : "resume"), \
                \(changed) events missed: \(times.text(2)) s, \(isCurrent ? "all" : "NOT ALL") up to date
                server CPU \(processor.text()) us a connection; the limit, \(Sample.text(limit, 1)) s: \
                \(isKept ? "kept" : "NOT KEPT")
                """)
            if tls {
                let texts = calm.map { Sample.text($0, 2) }.joined(separator: ", ")
                print(
                    "over TLS, \(tickets) of \(rounds * subscribers) handshakes with a ticket; a calm screen's p99: "
                        + "\(texts) ms, from before the storm to its end; the limit, 5 ms")
            }
        }
        if !isKept { throw ExitCode.failure }
    }
}
