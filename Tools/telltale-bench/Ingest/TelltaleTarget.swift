import TelltaleEventLoop

/// Our own daemon, with activities of one small machine.
final class TelltaleTarget: IngestTarget {
    let name: String
    private let daemon: BenchDaemon
    private let event: IngestEvent

    /// An activity that anything starts, and that takes every event.
    static let kind = """
        {"kind": "tally", "type": "activity", "version": 1, "app": "com.example.bench", "title": "Tally",
         "startsOn": ["tick"], "maxActive": "365d",
         "machine": {"initial": "counting", "states": {
            "counting": {"on": {"tick": {}, "stop": "stopped"}}, "stopped": {"type": "final"}}}}
        """

    /// - Parameter folder: With ``kind`` in it, and the data of an earlier daemon or none.
    init(_ event: IngestEvent, in folder: BenchFolder, sync: String) throws {
        name = sync == "full" ? "telltale" : "telltale --sync \(sync)"
        self.event = event
        daemon = try BenchDaemon(["--sync", sync], in: folder)
    }

    /// - Parameter aggregates: Kinds of widgets that report all activities together.
    static func makeFolder(_ path: String, aggregates: Int = 0) throws -> BenchFolder {
        var kinds = ["tally.json": kind]
        for number in 0..<aggregates { kinds["all-\(number).json"] = BenchAggregate.kind(number) }
        return try BenchFolder(path, kinds: kinds)
    }

    /// The attributes of the daemon's `ready` line.
    var ready: [String: String] { daemon.ready }

    var process: ServerProcess { daemon.process }
    var endpoint: Endpoint { daemon.endpoint }

    func opening(_ connection: Int) -> [UInt8] { [] }

    func append(_ number: Int, connection: Int, to bytes: inout [UInt8]) {
        event.append(number, connection: connection, to: &bytes)
    }

    func meaning(of line: Span<UInt8>) -> IngestAnswer {
        if line.has("OK verdict=applied ", at: 0) { return .acknowledged }
        return line.has("MARK ", at: 0) ? .nothing : .refused
    }
}
