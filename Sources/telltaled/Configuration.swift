import FoundationEssentials
import Hub
import JournalSQLite
import Kinds
import Machines
import Server
import Surfaces
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire

/// Everything that can be set about a daemon, read once: defaults < file < environment < flags.
struct Configuration: Sendable {
    enum Sync: String, Sendable {
        case full, normal, off
    }

    var data = ""
    var kinds = ""
    /// Empty = the Unix socket alone.
    var listeners: [Endpoint] = [.tcp(host: "127.0.0.1", port: 7878)]
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
    /// It was given.
    var hasSync = false
    /// Milliseconds between two flushes while busy; 0 = flush at once.
    var pace = Pace.adaptive(upTo: .milliseconds(1))
    var clockSpeed = 1.0
    var logLevel = Log.Level.info
    var logFormat = Log.Format.text
    var lineLength = 65_536
    var subscriptions = 256
    /// 0 = 20 s, and 5 s in a cluster, where a client of a halted leader is to notice soon.
    var heartbeat = 0
    /// Milliseconds.
    var stuckReader = 30_000
    var activitiesPerApp = 5
    var activitiesPerAccount = 20
    /// Seconds.
    var eventIDAge = 604_800
    var eventIDsPerSource = 1_000_000
    /// Seconds.
    var retention = 604_800
    /// Seconds.
    var widgetFloor = 300
    var stackHold = 900
    var acceptsOldEnd = true
    var surfaces = SurfaceSettings()
    /// Rows of one widget a day to a device whose screen is off; `nil` = any number.
    var widgetBudget: Int? = 48
    var widgetBurst = 8
    var cluster = ClusterSettings()
    /// One warning for each variable that was ignored.
    var warnings: [String] = []

    mutating func setListeners(_ values: [String]) -> String? {
        if values == ["none"] {
            listeners = []
            return nil
        }
        var (plain, encrypted): ([Endpoint], [Endpoint]) = ([], [])
        for value in values {
            let scheme = ["plain://", "tls://"].first { value.hasPrefix($0) } ?? ""
            guard let endpoint = Endpoint(String(value.dropFirst(scheme.count))), case .tcp = endpoint else {
                return "takes HOST:PORT such as 127.0.0.1:7878, tls://HOST:PORT, or none, not \"\(value)\""
            }
            guard endpoint.isLocal || (auth != nil && !scheme.isEmpty) else {
                if auth != nil {
                    return
                        "may be an address of this machine alone (127.0.0.1, ::1, localhost), not \"\(value)\"; write tls://\(value), or plain://\(value) where something else encrypts in front of it"
                }
                return
                    "may be an address of this machine alone (127.0.0.1, ::1, localhost) without --auth FILE, not \"\(value)\"; for others use --auth FILE and tls://HOST:PORT"
            }
            if scheme == "tls://" { encrypted.append(endpoint) } else { plain.append(endpoint) }
        }
        (listeners, tlsListeners) = (plain, encrypted)
        return nil
    }

    var listenerOptions: Listener.Options {
        var options = Listener.Options()
        options.socketFileMode = socketMode
        return options
    }

    /// Where to listen, the Unix socket included.
    var endpoints: [Endpoint] { listeners + (socket.map { [.unix(path: $0)] } ?? []) }

    /// - Parameter isJournalImmediate: The journal answers at once, as one in memory does.
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
        hub.limits.heartbeat = Milliseconds(Int64(heartbeat > 0 ? heartbeat : cluster.isOn ? 5_000 : 20_000))
        hub.limits.stuckReader = Milliseconds(Int64(stuckReader))
        // A batch of a leader is one message of the log.
        if cluster.isOn { hub.limits.batchBytes = Limits.batchBytesInMessage }
        hub.surfaces = surfaces
        hub.surfaces.stackHold = .seconds(Int64(stackHold))
        hub.widgetRowsPerDay = widgetBudget
        hub.widgetBurst = widgetBurst
        hub.decisions.clockSpeed = clockSpeed
        hub.decisions.activityLimits.perApp = activitiesPerApp
        hub.decisions.activityLimits.perAccount = activitiesPerAccount
        hub.decisions.activities.acceptsOldEnd = acceptsOldEnd
        hub.decisions.eventIDAge = .seconds(Int64(eventIDAge))
        hub.decisions.eventIDsPerSource = eventIDsPerSource
        hub.decisions.retention = .seconds(Int64(retention))
        hub.decisions.widgetFloor = .seconds(Int64(widgetFloor))
        return hub
    }
}

/// Where values come from, the weakest first.
struct ConfigurationSources {
    /// The configuration file's content, parsed, and its name.
    var file: (name: String, content: JSON)?
    var environment: [String: String]
    var flags: [String: [String]]

    /// Reads everything, and tells every fault at once.
    ///
    /// - Throws: ``ConfigurationFaults``.
    func read() throws(ConfigurationFaults) -> Configuration {
        var configuration = Configuration()
        var faults: [String] = []
        if let file {
            guard case .object(let object) = file.content else {
                throw ConfigurationFaults(faults: ["\(file.name): holds no JSON object"])
            }
            for member in object where !Setting.all.contains(where: { $0.name == member.name }) {
                faults.append("\(file.name): \(member.name): no such setting; \(Self.suggestion(member.name))")
            }
        }
        let known = Set(
            Setting.all.map(\.variable) + [
                "TELLTALE_CONFIG", "TELLTALE_CONNECT", "TELLTALE_TOKEN", "TELLTALE_TOKEN_FILE",
                "TELLTALE_CA", "TELLTALE_CONTEXT", "TELLTALE_FAILPOINT", "TELLTALE_CLOCK", "TELLTALE_JOURNAL",
                "TELLTALE_SNAPSHOT_RECORDS", "TELLTALE_PART_RECORDS", "TELLTALE_LOG_BYTES", "TELLTALE_RECOVERY_RECORDS",
                "TELLTALE_BROKEN_LOG",
            ])
        for variable in environment.keys.sorted() where variable.hasPrefix("TELLTALE_") && !known.contains(variable) {
            if let source = InjectedVariables.source(of: variable, value: environment[variable] ?? "") {
                configuration.warnings.append("environment: \(variable) is passed over: \(source)")
            } else {
                faults.append("environment: \(variable): no such setting")
            }
        }
        if let journal = environment["TELLTALE_JOURNAL"], journal != "memory" {
            faults.append("environment: TELLTALE_JOURNAL: takes memory, for measurements, or is not set")
        }
        for setting in Setting.all {
            guard let (place, values) = value(of: setting, &faults) else { continue }
            guard !values.isEmpty, setting.isRepeatable || values.count == 1 else {
                faults.append("\(place): takes one value")
                continue
            }
            if let fault = setting.apply(&configuration, values) { faults.append("\(place): \(fault)") }
        }
        if configuration.data.isEmpty { faults.append("--data: name the folder that keeps the journal") }
        if configuration.kinds.isEmpty { faults.append("--kinds: name the folder that holds the kind files") }
        let hasCertificate = configuration.tlsCertificate != nil && configuration.tlsKey != nil
        if !configuration.tlsListeners.isEmpty, !hasCertificate {
            faults.append("--listen tls://: needs --tls-cert and --tls-key, PEM files")
        }
        if configuration.endpoints.isEmpty, configuration.tlsListeners.isEmpty {
            faults.append("--listen none: needs a --socket PATH to listen on")
        }
        faults += configuration.cluster.faults(
            hasSync: configuration.hasSync, isInMemory: environment["TELLTALE_JOURNAL"] != nil)
        guard faults.isEmpty else { throw ConfigurationFaults(faults: faults) }
        if let warning = configuration.cluster.advertisedElsewhere(
            than: configuration.endpoints + configuration.tlsListeners)
        {
            configuration.warnings.append(warning)
        }
        return configuration
    }

    /// The strongest source that has a value, named as people know it.
    private func value(of setting: Setting, _ faults: inout [String]) -> (place: String, values: [String])? {
        if let values = flags[setting.name], !values.isEmpty { return ("--\(setting.name)", values) }
        if let value = environment[setting.variable] {
            let values = setting.isRepeatable ? value.split(separator: ",").map(String.init) : [value]
            return ("environment: \(setting.variable)", values)
        }
        guard let file, let value = file.content[setting.name] else { return nil }
        let place = "\(file.name): \(setting.name)"
        switch value {
        case .string(let text): return (place, [text])
        case .integer, .number: return (place, [value.description])
        case .bool(let bool): return (place, [bool ? "yes" : "no"])
        case .array(let elements):
            let texts = elements.compactMap(\.string)
            guard texts.count == elements.count else {
                faults.append("\(place): takes an array of texts")
                return nil
            }
            return (place, texts)
        case .null, .object:
            faults.append("\(place): takes a text, a number or an array of texts")
            return nil
        }
    }

    private static func suggestion(_ name: String) -> String {
        "those that exist are \(Setting.all.map(\.name).joined(separator: ", "))"
    }
}

struct ConfigurationFaults: Error {
    var faults: [String]
}

extension ConfigurationSources {
    /// The content of a configuration file, parsed.
    static func readFile(_ path: String) throws(ConfigurationFaults) -> (name: String, content: JSON) {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationFaults(faults: ["--config \(path): the file cannot be read"])
        }
        do throws(JSONError) {
            return (path, try JSONParser().parse([UInt8](data).span))
        } catch {
            let place = JSONFault.first(in: [UInt8](data)).map { fault in
                "line \(fault.line), column \(fault.column): \(fault.message) (\(fault.advice))"
            }
            throw ConfigurationFaults(faults: ["--config \(path): \(place ?? "\(error)")"])
        }
    }
}
