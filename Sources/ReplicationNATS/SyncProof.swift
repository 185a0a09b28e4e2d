internal import Replication
internal import TelltaleModel

/// What the servers of the log report: whether each syncs before it acknowledges.
struct SyncProof: Hashable, Sendable {
    /// The version of the server checked last.
    private(set) var version = ""
    /// Servers that are too old, and those that do not sync, one line each.
    private(set) var tooOld: [String] = []
    private(set) var unsynced: [String] = []
    /// Servers that no monitor reports on.
    private(set) var silent: [Preparation.Replica] = []
    private(set) var isProven = false

    /// - Parameter reported: The `/varz` answer of each monitor, by the name of its server.
    init(of replicas: [Preparation.Replica], reported: [String: JSONObject]) {
        for replica in replicas {
            guard let varz = reported[replica.name] else {
                silent.append(replica)
                continue
            }
            let version = varz["version"]?.string ?? ""
            self.version = String(version.prefix(32)).harmless
            if !Preparation.isRecent(version) {
                tooOld.append(
                    "the engine's server \(replica.shown) is nats-server \(self.version), and 2.12.3 is the oldest that keeps what it acknowledged"
                )
            }
            if varz["jetstream"]?["config"]?["sync_always"]?.bool != true {
                unsynced.append(
                    "the engine's server \(replica.shown) does not sync before it acknowledges (jetstream { sync_interval: always })"
                )
            }
        }
        isProven = tooOld.isEmpty && unsynced.isEmpty && silent.isEmpty && !replicas.isEmpty
    }

    /// Queries the monitors one after another.
    static func queryMonitors(_ monitors: [String], _ monitor: (MonitorAddress) -> [UInt8]?) -> [String: JSONObject] {
        var reported: [String: JSONObject] = [:]
        for address in monitors.compactMap(MonitorAddress.init) {
            guard let bytes = monitor(address), let varz = (try? JSONParser().parse(bytes.span))?.object,
                let name = varz["server_name"]?.string
            else { continue }
            reported[name] = varz
        }
        return reported
    }

    /// The outcome, with its reasons, for people.
    ///
    /// - Parameter isTrusted: Whether an operator vouches for the log store.
    func sync(isTrusted: Bool) -> (LogStoreSync, [String]) {
        let reasons = tooOld + unsynced + silent.map(\.doubt)
        if isTrusted { return (.trusted, reasons) }
        if !tooOld.isEmpty || !unsynced.isEmpty { return (.refuted, reasons) }
        return (isProven ? .proven : .unknown, reasons)
    }
}

extension Preparation.Replica {
    /// Its name, for people.
    var shown: String { String(name.prefix(64)).harmless }

    var doubt: String {
        isOffline
            ? "the engine's server \(shown) is away: whether it syncs is not known"
            : "no monitor tells of the engine's server \(shown): whether it syncs is not known"
    }
}

/// When to ask the servers again: they may restart with another configuration at any time.
struct ProofWatch {
    /// Whether an operator vouches for the log store. Then answers are reported, but have no effect.
    let isTrusted: Bool
    /// The time between two checks; a tenth of it after an answer that proved nothing.
    let interval: Milliseconds
    private var next: MonotonicTime?
    /// When the log store's list of the log's servers is given up on; `nil` = none is awaited.
    private var listDue: MonotonicTime?
    private var areMonitorsAsked = false
    private var wasLeading = false
    /// The outcome reported last.
    private var reported: [String] = []
    private var sync: LogStoreSync?

    static let patience = Milliseconds.seconds(5)

    init(isTrusted: Bool, every interval: Milliseconds) {
        self.isTrusted = isTrusted
        self.interval = interval
    }

    /// Called at each heartbeat. A new leader checks immediately.
    mutating func isDue(isLeading: Bool, at now: MonotonicTime) -> Bool {
        if isLeading, !wasLeading { next = nil }
        wasLeading = isLeading
        guard !areMonitorsAsked, listDue.map({ now >= $0 }) ?? true, next.map({ now >= $0 }) ?? true else {
            return false
        }
        listDue = now + Self.patience
        next = now + interval
        return true
    }

    /// The client has reconnected, maybe to another server.
    mutating func reconnected() { (next, listDue) = (nil, nil) }

    /// The log store has listed the servers.
    ///
    /// - Returns: Whether to query the monitors now.
    mutating func listed() -> Bool {
        guard listDue != nil, !areMonitorsAsked else { return false }
        (listDue, areMonitorsAsked) = (nil, true)
        return true
    }

    /// Takes an outcome.
    ///
    /// - Returns: Whether it is new.
    mutating func settled(_ sync: LogStoreSync, _ reasons: [String], at now: MonotonicTime) -> Bool {
        areMonitorsAsked = false
        next = now + (sync == .proven || isTrusted ? interval : Milliseconds(interval.count / 10))
        defer { (self.sync, reported) = (sync, reasons) }
        return self.sync != sync || reported != reasons
    }
}

extension Dialogue {
    /// Requests the list of the log's servers if a check is due.
    mutating func askForServers(_ heartbeat: Heartbeat, at now: MonotonicTime) {
        guard watch?.isDue(isLeading: heartbeat.role == .leading, at: now) == true else { return }
        requests.append(
            NATSRequest(
                lane: .servers, subject: "$JS.API.STREAM.INFO.\(names.log)", answer: "s", expected: nil, bytes: []))
    }

    mutating func takeServers(_ message: Incoming) {
        guard message.status == 0, let answer = NATSAnswer(message.bytes) else { return }
        let replicas = Preparation.replicas(of: answer)
        guard !replicas.isEmpty, watch?.listed() == true else { return }
        servers = replicas
    }

    /// Returns the servers whose monitors to query now.
    mutating func takeServers() -> [Preparation.Replica]? { servers.take() }

    mutating func proved(_ sync: LogStoreSync, _ reasons: [String], at now: MonotonicTime) {
        status.sync = sync
        if watch?.settled(sync, reasons, at: now) ?? true { events.append(.sync(sync, reasons)) }
    }
}
