import ArgumentParser
import TelltaleEventLoop
import TelltaleModel

/// `telltale-bench idle`: the daemon's memory for connections to which nothing happens.
struct IdleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "idle", abstract: "The daemon's memory for each idle connection.",
        discussion: """
            Connections with ten subscriptions each, of activities that exist, and the daemon's resident memory before \
            and after them. What the kernel holds for a socket is not in it. Exit status 1 when it is more than \
            --limit bytes a connection.
            """)

    @Option(help: "Connections.") var connections = 10_000
    @Option(help: "Bytes that one may cost. (default: 1536; with --tls 22528)") var limit: Int?
    @Flag(help: "Over TLS.") var tls = false
    @Option(
        help: """
            Seconds that nothing happens before the memory is looked at: the daemon gives some back at a session's \
            heartbeat, every 20 s, and its allocator over the ten seconds after that.
            """) var settling = 50.0
    @Option(help: "A folder for the files; it is removed afterwards.") var data = "telltale-bench-idle"
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        guard (1...100_000).contains(connections) else { throw ValidationError("connections: 1 to 100000") }
        guard (0...3_600).contains(settling) else { throw ValidationError("settling: 0 to 3600 seconds") }
    }

    func run() throws {
        Processors.takeLoadProcessor()
        DescriptorLimit.raiseToMaximum()
        var settings = TelltaleScreens.Settings()
        settings.isEncrypted = tls
        let limit = limit ?? (tls ? 22_528 : 1_536)
        let row = try IdleMemory.measure(
            TelltaleScreens(settings, data: data), connections: connections, settling: settling)
        if json {
            var report = JSONObject()
            report["bytes_per_connection"] = .integer(Int64(row.byteCount))
            report["kept"] = .bool(row.byteCount <= limit)
            print(JSON.object(report))
        } else {
            print(
                """
                \(connections) idle connections\(tls ? " over TLS" : ""), ten subscriptions each: \(row.byteCount) bytes a connection \
                (\(row.before >> 20) to \(row.after >> 20) MiB); the limit, \(limit): \
                \(row.byteCount <= limit ? "kept" : "NOT KEPT")
                """)
        }
        if row.byteCount > limit { throw ExitCode.failure }
    }
}
