import ArgumentParser
import Foundation
import Replication
import ReplicationFile
import ReplicationNATS
import TelltaleEventLoop
import TelltaleModel

/// The cluster and its log, by the names that the daemon's own options have.
struct LogStoreOptions: ParsableArguments {
    enum Sync: String, ExpressibleByArgument, CaseIterable {
        case proven, trusted
    }

    @Option(
        help: ArgumentHelp(
            "The configuration file of the node, for each of the options below that is not given.", valueName: "file"))
    var config: String?
    @Option(help: ArgumentHelp("The name of the cluster, as its nodes have it.", valueName: "name"))
    var cluster: String?
    @Option(help: ArgumentHelp("The name of the node of which this is the folder.", valueName: "name"))
    var node: String?
    @Option(
        help: ArgumentHelp(
            "The servers of the replicated log, commas between; file:PATH for tests on one machine.",
            valueName: "url"))
    var engine: [String] = []
    @Option(help: ArgumentHelp("The engine's credentials.", valueName: "file"))
    var engineCreds: String?
    @Option(
        help: ArgumentHelp(
            "The monitors of the engine's servers, which tell whether each syncs before it acknowledges.",
            valueName: "url"))
    var engineMonitor: [String] = []
    @Option(help: ArgumentHelp("trusted: you say that each server syncs.", valueName: "proven|trusted"))
    var engineSync: Sync?

    func validate() throws {
        for (option, name) in [("--cluster", cluster), ("--node", node)] {
            if let name, !Names.isValid(name) { throw ValidationError(Self.fault(option)) }
            if name == nil, config == nil { throw ValidationError("\(option) is missing; --config FILE may have it.") }
        }
        if engine.isEmpty, config == nil { throw ValidationError("--engine is missing; --config FILE may have it.") }
    }

    private static func fault(_ option: String) -> String {
        "\(option) is to be 1 to 32 letters, digits, - and _."
    }

    /// The options, completed from the configuration file.
    func place() throws(HistoryMove.Refusal) -> LogStorePlace {
        let file = try config.map(ConfigurationFile.init(path:))
        func name(_ option: String, _ value: String?) throws(HistoryMove.Refusal) -> String {
            if let value { return value }
            guard let file, let value = try file.texts(option)?.first else {
                throw refusal("--\(option) is missing, and \(config ?? "the file") has no \(option)")
            }
            guard Names.isValid(value) else { throw refusal("\(file.path): \(Self.fault(option))") }
            return value
        }
        func list(_ option: String, _ values: [String]) throws(HistoryMove.Refusal) -> [String] {
            let all = try values.isEmpty ? file?.texts(option) ?? [] : values
            return all.flatMap { $0.split(separator: ",").map(String.init) }
        }
        let servers = try list("engine", engine)
        guard !servers.isEmpty else {
            throw refusal("--engine is missing, and \(config ?? "the file") has no engine")
        }
        var isTrusted = engineSync == .trusted
        if engineSync == nil, let reported = try file?.texts("engine-sync")?.first {
            guard let sync = Sync(rawValue: reported) else {
                throw refusal("\(config ?? ""): engine-sync: takes proven or trusted")
            }
            isTrusted = sync == .trusted
        }
        var credentials = engineCreds
        if credentials == nil { credentials = try file?.texts("engine-creds")?.first }
        return LogStorePlace(
            cluster: try name("cluster", cluster), node: try name("node", node), servers: servers,
            credentials: credentials,
            monitors: try list("engine-monitor", engineMonitor), isSyncTrusted: isTrusted)
    }
}

/// The configuration file of a daemon, of which a command reads a few names.
private struct ConfigurationFile {
    let path: String
    private let content: JSON

    init(path: String) throws(HistoryMove.Refusal) {
        self.path = path
        guard let data = FileManager.default.contents(atPath: path) else {
            throw refusal("--config \(path): the file cannot be read")
        }
        do throws(JSONError) {
            content = try JSONParser().parse([UInt8](data).span)
        } catch {
            throw refusal("--config \(path): \(error)")
        }
    }

    /// A text, or several.
    func texts(_ name: String) throws(HistoryMove.Refusal) -> [String]? {
        switch content[name] {
        case nil: return nil
        case .string(let text)?: return [text]
        case .array(let elements)?:
            let texts = elements.compactMap(\.string)
            if texts.count == elements.count { return texts }
        case _: break
        }
        throw refusal("--config \(path): \(name): takes a text or an array of texts")
    }
}

private func refusal(_ reason: String) -> HistoryMove.Refusal {
    HistoryMove.Refusal(kind: .configuration, reason: reason)
}

/// A node of a cluster, and where its log is.
struct LogStorePlace {
    let cluster: String
    let node: String
    let servers: [String]
    let credentials: String?
    let monitors: [String]
    let isSyncTrusted: Bool

    func open(epoch: UInt64?, on loop: EventLoop) throws -> any ReplicatedLog {
        if servers.count == 1, let server = servers.first, server.hasPrefix("file:") {
            return try FileLog(String(server.dropFirst("file:".count)), node: node, on: loop)
        }
        var configuration = NATSLogConfiguration(cluster: cluster, node: node, servers: servers)
        configuration.credentials = credentials
        configuration.monitors = monitors
        configuration.isSyncTrusted = isSyncTrusted
        configuration.epoch = epoch
        let faults = configuration.faults
        guard faults.isEmpty else { throw refusal("--engine: \(faults.joined(separator: "; "))") }
        return try NATSLog(configuration, on: loop)
    }
}
