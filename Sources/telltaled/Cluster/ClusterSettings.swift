import Kinds
import Replication
import ReplicationNATS
import TelltaleEventLoop
import TelltaleModel

/// The settings of a daemon of a cluster.
struct ClusterSettings: Sendable {
    /// Empty = not in a cluster.
    var name = ""
    var node = ""
    /// Where clients reach this node, `HOST:PORT`.
    var advertise = ""
    var logStore: [String] = []
    var credentials: String?
    var monitors: [String] = []
    var isSyncTrusted = false
    /// It never leads.
    var isObserver = false
    var lease = Milliseconds.seconds(3)
    var giveUp = Milliseconds.seconds(12)
    /// The time between two checkpoints.
    var checkpointEvery = Milliseconds.hours(1)
    /// In mebibytes; 0 = no limit.
    var logLimit = 0
    /// The names of the settings that were set explicitly.
    var given: [String] = []

    var isOn: Bool { !name.isEmpty }
    /// Whether the log is a file, as in tests.
    var isFile: Bool { logStore.count == 1 && logStore[0].hasPrefix("file:") }

    /// Why clients may not reach this node at ``advertise``; `nil` if a listener fits. This is a warning, not a fault:
    /// a network may forward to another port or address.
    func advertisedElsewhere(than listeners: [Endpoint]) -> String? {
        guard isOn, let advertised = Endpoint(advertise), case .tcp(_, let port) = advertised else { return nil }
        let fits = listeners.contains { listener in
            guard case .tcp(let host, let ownPort) = listener, [0, port].contains(ownPort) else { return false }
            return ["0.0.0.0", "::"].contains(host) || listener.isLocal == advertised.isLocal
        }
        guard !fits else { return nil }
        return
            "--advertise \(advertise): no --listen fits it, so clients reach this node there only where the network forwards to it"
    }

    /// The faults of the settings taken together.
    ///
    /// - Parameters:
    ///   - hasSync: Whether `--sync` was given.
    ///   - isInMemory: Whether the journal keeps nothing.
    ///   - wrong: The settings already known to be wrong by themselves.
    func faults(hasSync: Bool, isInMemory: Bool, except wrong: Set<String>) -> [String] {
        guard isOn else {
            return wrong.contains("cluster") ? [] : given.map { "--\($0): belongs to --cluster NAME" }
        }
        var faults: [String] = []
        if node.isEmpty, !wrong.contains("node") {
            faults.append("--cluster: needs --node NAME, which no other node of the cluster has")
        }
        if advertise.isEmpty, !wrong.contains("advertise") {
            faults.append("--cluster: needs --advertise HOST:PORT, where clients reach this node")
        }
        if logStore.isEmpty, !wrong.contains("engine") {
            faults.append("--cluster: needs --engine URL[,URL…], the servers of the replicated log")
        }
        if giveUp < lease + lease, wrong.isDisjoint(with: ["lease", "give-up"]) {
            faults.append(
                "--give-up: is to be at least twice --lease, which is \(lease.count) ms, not \(giveUp.count) ms")
        }
        if hasSync {
            faults.append("--sync: belongs to a daemon by itself; in a cluster the engine's disks are what counts")
        }
        if isInMemory {
            faults.append("environment: TELLTALE_JOURNAL: a node of a cluster keeps a copy of the log on disk")
        }
        return faults
    }

    var replica: ReplicaSettings {
        var settings = ReplicaSettings()
        settings.lease = lease
        settings.giveUp = giveUp
        settings.isObserver = isObserver
        // A live leader then sends three heartbeats within a lease.
        settings.heartbeat = min(.seconds(1), Milliseconds(lease.count / 3))
        return settings
    }
}

extension ClusterSettings {
    /// - Parameter retention: The log keeps messages that are younger than this.
    func checkpoints(retention: Milliseconds) -> CheckpointSettings {
        var settings = CheckpointSettings()
        settings.every = checkpointEvery
        settings.retention = retention
        if logLimit > 0 { settings.logLimit = Int64(logLimit) << 20 }
        // A checkpoint every minute or so is for tests only.
        settings.checkInterval = min(settings.checkInterval, max(.seconds(1), settings.every))
        settings.turn = min(settings.turn, max(.seconds(2), settings.every))
        return settings
    }
}

extension ConfigurationSetting {
    static let cluster: [ConfigurationSetting] = [
        ConfigurationSetting(name: "cluster") { $0.cluster.setName($1[0], \.name) },
        ConfigurationSetting(name: "node") {
            $0.cluster.given.append("node")
            return $0.cluster.setName($1[0], \.node)
        },
        ConfigurationSetting(name: "role") { configuration, values in
            configuration.cluster.given.append("role")
            guard ["member", "observer"].contains(values[0]) else { return "takes member or observer" }
            configuration.cluster.isObserver = values[0] == "observer"
            return nil
        },
        ConfigurationSetting(name: "advertise") { configuration, values in
            configuration.cluster.given.append("advertise")
            guard case .tcp(let host, let port)? = Endpoint(values[0]), port > 0, !["0.0.0.0", "::"].contains(host)
            else {
                return "takes HOST:PORT, where clients reach this node, not \"\(values[0])\""
            }
            configuration.cluster.advertise = values[0]
            return nil
        },
        ConfigurationSetting(name: "engine", isRepeatable: true) { configuration, values in
            configuration.cluster.given.append("engine")
            configuration.cluster.logStore = values.flatMap { $0.split(separator: ",").map(String.init) }
            return nil
        },
        ConfigurationSetting(name: "engine-creds") {
            $0.cluster.given.append("engine-creds")
            $0.cluster.credentials = $1[0]
            return nil
        },
        ConfigurationSetting(name: "engine-monitor", isRepeatable: true) {
            $0.cluster.given.append("engine-monitor")
            $0.cluster.monitors = $1.flatMap { $0.split(separator: ",").map(String.init) }
            return nil
        },
        ConfigurationSetting(name: "engine-sync") { configuration, values in
            configuration.cluster.given.append("engine-sync")
            guard ["proven", "trusted"].contains(values[0]) else { return "takes proven or trusted" }
            configuration.cluster.isSyncTrusted = values[0] == "trusted"
            return nil
        },
        clusterSpan("lease", \.lease, Milliseconds(500) ... .minutes(1)),
        clusterSpan("give-up", \.giveUp, .seconds(1) ... .minutes(10)),
        clusterSpan("base-every", \.checkpointEvery, .seconds(1) ... .days(7)),
        ConfigurationSetting(name: "log-limit") { configuration, values in
            configuration.cluster.given.append("log-limit")
            guard let limit = Int(values[0]), (64...67_108_864).contains(limit) else {
                return "takes mebibytes, from 64 to 67108864, not \"\(values[0])\""
            }
            configuration.cluster.logLimit = limit
            return nil
        },
    ]

    private static func clusterSpan(
        _ name: String, _ member: any WritableKeyPath<ClusterSettings, Milliseconds> & Sendable,
        _ range: ClosedRange<Milliseconds>
    ) -> ConfigurationSetting {
        let setting = span(name, range, plain: nil) { $0.cluster[keyPath: member] = $1 }
        return ConfigurationSetting(name: name) { configuration, values in
            configuration.cluster.given.append(name)
            return setting.apply(&configuration, values).first
        }
    }
}

extension ClusterSettings {
    fileprivate mutating func setName(_ text: String, _ member: WritableKeyPath<ClusterSettings, String>) -> String? {
        guard Names.isValid(text) else {
            return "takes a name of 1 to 32 letters, digits, - and _, not \"\(String(text.prefix(64)))\""
        }
        self[keyPath: member] = text
        return nil
    }
}
