import ArgumentParser
import Replication
import ReplicationFile
import ReplicationNATS
import TelltaleEventLoop
import ToolSupport

/// The cluster and its log, by the names that the daemon's own options have.
struct EngineOptions: ParsableArguments {
    enum Sync: String, ExpressibleByArgument, CaseIterable {
        case proven, trusted
    }

    @Option(help: ArgumentHelp("The name of the cluster, as its nodes have it.", valueName: "name"))
    var cluster: String
    @Option(help: ArgumentHelp("The name of the node of which this is the folder.", valueName: "name"))
    var node: String
    @Option(
        help: ArgumentHelp(
            "The servers of the replicated log, commas between; file:PATH for tests on one machine.",
            valueName: "url"))
    var engine: [String]
    @Option(help: ArgumentHelp("The engine's credentials.", valueName: "file"))
    var engineCreds: String?
    @Option(
        help: ArgumentHelp(
            "The monitors of the engine's servers, which tell whether each syncs before it acknowledges.",
            valueName: "url"))
    var engineMonitor: [String] = []
    @Option(help: ArgumentHelp("trusted: you say that each server syncs.", valueName: "proven|trusted"))
    var engineSync = Sync.proven

    func validate() throws {
        for (option, name) in [("--cluster", cluster), ("--node", node)] where !Names.isValid(name) {
            throw ValidationError("\(option) is to be 1 to 32 letters, digits, - and _.")
        }
    }

    private var servers: [String] { engine.flatMap { $0.split(separator: ",").map(String.init) } }

    func open(epoch: UInt64?, on loop: EventLoop) throws -> any ReplicatedLog {
        if servers.count == 1, let server = servers.first, server.hasPrefix("file:") {
            return try FileLog(String(server.dropFirst("file:".count)), node: node, on: loop)
        }
        var configuration = NATSLogConfiguration(cluster: cluster, node: node, servers: servers)
        configuration.credentials = engineCreds
        configuration.monitors = engineMonitor.flatMap { $0.split(separator: ",").map(String.init) }
        configuration.isSyncTrusted = engineSync == .trusted
        configuration.epoch = epoch
        let faults = configuration.faults
        guard faults.isEmpty else {
            throw HistoryMove.Refusal(kind: .configuration, reason: "--engine: \(faults.joined(separator: "; "))")
        }
        return try NATSLog(configuration, on: loop)
    }
}
