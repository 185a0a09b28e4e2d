import FoundationEssentials
import Hub
import Kinds
import Machines
import Server
import Surfaces
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire

/// All settings of the daemon, read once. Later sources win: defaults < file < environment < flags.
struct Configuration: Sendable {
    enum Sync: String, Sendable {
        case full, normal, off
    }

    var data = ""
    var kinds = ""
    /// Empty = the Unix socket only.
    var listeners: [Endpoint] = [.tcp(host: "127.0.0.1", port: 7878)]
    /// Where operators read figures by HTTP; `nil` = nowhere.
    var operatorListener: Endpoint?
    /// The listeners of encrypted connections.
    var tlsListeners: [Endpoint] = []
    /// PEM files of the chain and its key.
    var tlsCertificate: String?
    var tlsKey: String?
    var socket: String?
    var socketMode: UInt16 = 0o600
    static let socketModes: [String: UInt16] = ["0600": 0o600, "0660": 0o660, "0666": 0o666]
    /// The file of principals; `nil` = no connection needs a token.
    var auth: String?
    var sync = Sync.full
    /// Whether `sync` was set explicitly.
    var hasSync = false
    /// Milliseconds between two flushes while busy; 0 = flush at once.
    var pace = Pace.adaptive(upTo: .milliseconds(1))
    var clockSpeed = 1.0
    var logLevel = Log.Level.info
    var logFormat = Log.Format.text
    var lineLength = 65_536
    var subscriptions = 256
    /// `nil` = 20 s, and 5 s in a cluster, where a client of a halted leader is to notice soon.
    var heartbeat: Milliseconds?
    var stuckReader = Milliseconds.seconds(30)
    var activitiesPerApp = 5
    var activitiesPerAccount = 20
    var eventIDAge = Milliseconds.days(7)
    var eventIDsPerSource = 1_000_000
    var retention = Milliseconds.days(7)
    var widgetFloor = Milliseconds.minutes(5)
    var stackHold = Milliseconds.minutes(15)
    /// `nil` = those of the history.
    var rules: DecisionRules?
    var acceptsOldEnd = true
    var surfaces = SurfaceSettings()
    /// Rows of one widget a day to a device whose screen is off; `nil` = any number.
    var widgetBudget: Int? = 48
    var widgetBurst = 8
    var cluster = ClusterSettings()
    /// Whether the folder of kinds is followed, and its files need no new version.
    var isDeveloping = false
    /// One warning for each variable that was ignored.
    var warnings: [String] = []

    /// - Returns: A fault for each value that is wrong or conflicts with another one.
    mutating func setListeners(_ values: [String]) -> [String] {
        if values == ["none"] {
            listeners = []
            return []
        }
        var (plain, encrypted): ([Endpoint], [Endpoint]) = ([], [])
        var faults: [String] = []
        for value in values {
            let scheme = ["plain://", "tls://"].first { value.hasPrefix($0) } ?? ""
            guard let endpoint = Endpoint(String(value.dropFirst(scheme.count))), case .tcp = endpoint else {
                faults.append("takes HOST:PORT such as 127.0.0.1:7878, tls://HOST:PORT, or none, not \"\(value)\"")
                continue
            }
            if !endpoint.isLocal, auth == nil || scheme.isEmpty {
                faults.append(remoteFault(value))
            } else if let other = (plain + encrypted).first(where: { $0.takesPlace(of: endpoint) }) {
                faults.append("\"\(value)\" takes the port that \(other) has; leave one of them out")
            } else if scheme == "tls://" {
                encrypted.append(endpoint)
            } else {
                plain.append(endpoint)
            }
        }
        (listeners, tlsListeners) = (plain, encrypted)
        return faults
    }

    private func remoteFault(_ value: String) -> String {
        guard auth != nil else {
            return
                "may be an address of this machine alone (127.0.0.1, ::1, localhost) without --auth FILE, not \"\(value)\"; for others use --auth FILE and tls://HOST:PORT"
        }
        return
            "may be an address of this machine alone (127.0.0.1, ::1, localhost), not \"\(value)\"; write tls://\(value), or plain://\(value) where something else encrypts in front of it"
    }

    var listenerOptions: Listener.Options {
        var options = Listener.Options()
        options.socketFileMode = socketMode
        return options
    }

    /// Where to listen, the Unix socket included.
    var endpoints: [Endpoint] { listeners + (socket.map { [.unix(path: $0)] } ?? []) }

    /// - Parameter isJournalImmediate: Whether the journal answers immediately, as one in memory does.
    func server(isJournalImmediate: Bool) -> ServerConfiguration {
        var server = ServerConfiguration()
        server.pace = pace
        server.isJournalImmediate = isJournalImmediate
        server.recordsPerPart = FailPoint.recordsPerPart
        if let count = FailPoint.recordsBetweenSnapshots { server.recordsBetweenSnapshots = count }
        return server
    }

    var hub: HubConfiguration {
        var hub = HubConfiguration()
        hub.serverVersion = Release.version
        hub.limits.lineLength = lineLength
        hub.limits.subscriptionsPerConnection = subscriptions
        hub.limits.heartbeat = heartbeat ?? .seconds(cluster.isOn ? 5 : 20)
        hub.limits.stuckReader = stuckReader
        // A batch of a leader is one message of the log.
        if cluster.isOn { hub.limits.batchBytes = Limits.batchBytesInMessage }
        hub.surfaces = surfaces
        hub.surfaces.stackHold = stackHold
        hub.widgetRowsPerDay = widgetBudget
        hub.widgetBurst = widgetBurst
        hub.decisions.clockSpeed = clockSpeed
        hub.decisions.activityLimits.perApp = activitiesPerApp
        hub.decisions.activityLimits.perAccount = activitiesPerAccount
        hub.decisions.activities.acceptsOldEnd = acceptsOldEnd
        hub.decisions.eventIDAge = eventIDAge
        hub.decisions.eventIDsPerSource = eventIDsPerSource
        hub.decisions.retention = retention
        hub.decisions.rules = rules
        hub.decisions.widgetFloor = widgetFloor
        return hub
    }
}

extension Endpoint {
    /// Whether listeners here and at `other` cannot both be bound.
    fileprivate func takesPlace(of other: Endpoint) -> Bool {
        guard case .tcp(let host, let port) = self, case .tcp(let otherHost, let otherPort) = other else {
            return self == other
        }
        // Port 0 takes a free port each time.
        guard port == otherPort, port != 0 else { return false }
        // A wildcard takes all addresses of its family; the IPv6 wildcard takes IPv4 too.
        let hosts = [host, otherHost]
        return host == otherHost || hosts.contains("::")
            || hosts.contains("0.0.0.0") && !hosts.contains { $0.contains(":") }
    }
}

/// The sources of values, weakest first.
struct ConfigurationSources {
    /// The configuration file.
    enum File {
        case none
        case read(name: String, content: JSON)
        case unreadable(fault: String)
    }

    var file: File
    var environment: [String: String]
    var flags: [String: [String]]

    /// The configuration and all its faults. A wrong setting keeps its default.
    struct Reading {
        var configuration = Configuration()
        var faults: [String] = []
        /// The settings with wrong values. What follows from them is not reported as another fault.
        var wrong: Set<String> = []
    }

    func read() -> Reading {
        var reading = Reading()
        checkNames(&reading)
        for setting in ConfigurationSetting.all {
            guard let (place, values) = value(of: setting, &reading) else { continue }
            var faults = ["takes one value"]
            if !values.isEmpty, setting.isRepeatable || values.count == 1 {
                faults = setting.apply(&reading.configuration, values)
            }
            if !faults.isEmpty { reading.wrong.insert(setting.name) }
            reading.faults += faults.map { "\(place): \($0)" }
        }
        // An unreadable file may contain what seems to be missing.
        if case .unreadable = file { return reading }
        checkWhole(&reading)
        if let warning = reading.configuration.cluster.advertisedElsewhere(
            than: reading.configuration.endpoints + reading.configuration.tlsListeners)
        {
            reading.configuration.warnings.append(warning)
        }
        return reading
    }

    /// Reports names in the file and in the environment that are not settings.
    private func checkNames(_ reading: inout Reading) {
        switch file {
        case .none: break
        case .unreadable(let fault): reading.faults.append(fault)
        case .read(let name, let content):
            guard case .object(let object) = content else {
                reading.faults.append("\(name): holds no JSON object")
                break
            }
            for member in object where !ConfigurationSetting.all.contains(where: { $0.name == member.name }) {
                reading.faults.append("\(name): \(member.name): no such setting; \(Self.suggestion(member.name))")
            }
        }
        let known = Set(
            ConfigurationSetting.all.map(\.variable) + [
                "TELLTALE_CONFIG", "TELLTALE_CONNECT", "TELLTALE_TOKEN", "TELLTALE_TOKEN_FILE",
                "TELLTALE_CA", "TELLTALE_CONTEXT", "TELLTALE_FAILPOINT", "TELLTALE_CLOCK", "TELLTALE_JOURNAL",
                "TELLTALE_SNAPSHOT_RECORDS", "TELLTALE_PART_RECORDS", "TELLTALE_LOG_BYTES", "TELLTALE_RECOVERY_RECORDS",
                "TELLTALE_BROKEN_LOG",
            ])
        for variable in environment.keys.sorted() where variable.hasPrefix("TELLTALE_") && !known.contains(variable) {
            if let source = InjectedVariables.source(of: variable, value: environment[variable] ?? "") {
                reading.configuration.warnings.append("environment: \(variable) is passed over: \(source)")
            } else {
                reading.faults.append("environment: \(variable): no such setting")
            }
        }
        if let journal = environment["TELLTALE_JOURNAL"], journal != "memory" {
            reading.faults.append("environment: TELLTALE_JOURNAL: takes memory, for measurements, or is not set")
        }
    }

    /// Reports what is missing, and settings that conflict.
    private func checkWhole(_ reading: inout Reading) {
        let (configuration, wrong) = (reading.configuration, reading.wrong)
        var faults: [String] = []
        if configuration.data.isEmpty, !wrong.contains("data") {
            faults.append("--data: name the folder that keeps the journal")
        }
        if configuration.kinds.isEmpty, !wrong.contains("kinds") {
            faults.append("--kinds: name the folder that holds the kind files")
        }
        switch (configuration.tlsCertificate, configuration.tlsKey) {
        case (nil, nil):
            if !configuration.tlsListeners.isEmpty {
                faults.append("--listen tls://: needs --tls-cert and --tls-key, PEM files")
            }
        case (_?, nil): faults.append("--tls-cert: needs --tls-key FILE, the key of the certificate")
        case (nil, _?): faults.append("--tls-key: needs --tls-cert FILE, the certificate of the key")
        case (_?, _?):
            if configuration.tlsListeners.isEmpty, !wrong.contains("listen") {
                faults.append("--tls-cert: no listener uses it; add --listen tls://HOST:PORT, or leave it out")
            }
        }
        if configuration.endpoints.isEmpty, configuration.tlsListeners.isEmpty,
            wrong.isDisjoint(with: ["listen", "socket"])
        {
            faults.append("--listen none: needs a --socket PATH to listen on")
        }
        if configuration.isDeveloping, configuration.cluster.isOn {
            faults.append(
                "--dev: belongs to a daemon by itself; in a cluster each node needs the same text of a version")
        }
        faults += configuration.cluster.faults(
            hasSync: configuration.hasSync, isInMemory: environment["TELLTALE_JOURNAL"] != nil, except: wrong)
        reading.faults += faults
    }

    /// The strongest source with a value, named for messages.
    private func value(of setting: ConfigurationSetting, _ reading: inout Reading) -> (place: String, values: [String])?
    {
        if let values = flags[setting.name], !values.isEmpty { return ("--\(setting.name)", values) }
        if let value = environment[setting.variable] {
            let values = setting.isRepeatable ? value.split(separator: ",").map(String.init) : [value]
            return ("environment: \(setting.variable)", values)
        }
        guard case .read(let name, let content) = file, let value = content[setting.name] else { return nil }
        let place = "\(name): \(setting.name)"
        switch value {
        case .string(let text): return (place, [text])
        case .integer, .number: return (place, [value.description])
        case .bool(let bool): return (place, [bool ? "yes" : "no"])
        case .array(let elements):
            let texts = elements.compactMap(\.string)
            if texts.count == elements.count { return (place, texts) }
            reading.faults.append("\(place): takes an array of texts")
        case .null, .object: reading.faults.append("\(place): takes a text, a number or an array of texts")
        }
        reading.wrong.insert(setting.name)
        return nil
    }

    private static func suggestion(_ name: String) -> String {
        "those that exist are \(ConfigurationSetting.all.map(\.name).joined(separator: ", "))"
    }
}

struct ConfigurationFaults: Error {
    var faults: [String]
}

extension ConfigurationSources.File {
    init(_ path: String) {
        guard let data = FileManager.default.contents(atPath: path) else {
            self = .unreadable(fault: "--config \(path): the file cannot be read")
            return
        }
        do throws(JSONError) {
            self = .read(name: path, content: try JSONParser().parse([UInt8](data).span))
        } catch {
            let place = JSONFault.first(in: [UInt8](data)).map { fault in
                "line \(fault.line), column \(fault.column): \(fault.message) (\(fault.advice))"
            }
            self = .unreadable(fault: "--config \(path): \(place ?? "\(error)")")
        }
    }
}
