public import Logging
internal import TelltaleEventLoop
internal import TelltaleModel

/// All settings of the gateway, read once. Later sources win: defaults < file < environment < flags.
public struct Settings: Sendable {
    /// The address of the public listener.
    public struct Listener: Hashable, Sendable {
        public var host: String
        /// 0 = any free one.
        public var port: Int
        public var isTLS: Bool

        public init(host: String, port: Int, isTLS: Bool) {
            self.host = host
            self.port = port
            self.isTLS = isTLS
        }
    }

    /// Where a program listens.
    public enum PushPlace: Hashable, Sendable {
        case unix(path: String)
        case tcp(host: String, port: Int)
    }

    /// The daemon's address, as ``Setting`` checks it.
    public var connect = "127.0.0.1:7878"
    public var connectTrustRoots: String?
    public var listen = Listener(host: "127.0.0.1", port: 7880, isTLS: false)
    public var ops = Listener(host: "127.0.0.1", port: 7883, isTLS: false)
    /// The address that accepts Apple's push requests; `nil` = none. Always TLS.
    public var apns: Listener?
    /// The file for Apple's push requests.
    public var apnsFile: String?
    /// Where `telltale-push` accepts registrations; `nil` = there is none.
    public var push: PushPlace?
    /// The most simultaneous connections of the public listener.
    public var connections = 8_192
    public var hosts: [String] = []
    public var origins: [String] = []
    public var certificate: String?
    public var privateKey: String?
    public var tokenFile: String?
    public var hooks: String?
    public var state: String?
    public var logLevel = Logger.Level.info
    public var logFormat = StandardErrorLog.Format.text

    public init() {}
}

/// One thing that can be set: a flag, an environment variable, a key of the configuration file.
public struct Setting: Sendable {
    public var name: String
    public var value: String
    public var summary: String
    public var isRepeatable = false
    let apply: @Sendable (inout Settings, [String]) -> String?

    public var variable: String { "TELLTALE_GATEWAY_" + name.uppercased().split(separator: "-").joined(separator: "_") }

    public static let all: [Setting] = [
        Setting(
            name: "connect", value: "unix:PATH|HOST:PORT|tls://HOST:PORT",
            summary: "where the daemon listens (127.0.0.1:7878)"
        ) { settings, values in
            settings.connect = values[0]
            return nil
        },
        Setting(
            name: "connect-ca", value: "FILE",
            summary: "certificates (PEM) to trust for a tls:// daemon, instead of the system's"
        ) { settings, values in
            settings.connectTrustRoots = values[0]
            return nil
        },
        Setting(
            name: "listen", value: "http(s)://HOST:PORT", summary: "where the API is served (http://127.0.0.1:7880)"
        ) { settings, values in
            for (scheme, isTLS) in [("http://", false), ("https://", true)] where values[0].hasPrefix(scheme) {
                guard let listener = listener(values[0].dropFirst(scheme.count), isTLS: isTLS) else { break }
                settings.listen = listener
                return nil
            }
            return "takes http://HOST:PORT or https://HOST:PORT, not \"\(values[0])\""
        },
        Setting(
            name: "ops-listen", value: "HOST:PORT",
            summary: "where /metrics, /healthz and /readyz are served (127.0.0.1:7883)"
        ) { settings, values in
            guard let listener = listener(values[0][...], isTLS: false) else {
                return "takes HOST:PORT, not \"\(values[0])\""
            }
            settings.ops = listener
            return nil
        },
        Setting(name: "connections", value: "N", summary: "connections of callers at once, from 1 (8192)") {
            settings, values in
            guard let count = Int(values[0]), (1...1_000_000).contains(count) else {
                return "takes a number from 1 to 1000000, not \"\(values[0])\""
            }
            settings.connections = count
            return nil
        },
        Setting(
            name: "host", value: "NAME",
            summary: "a name of this gateway beside localhost, where it has no authentication",
            isRepeatable: true
        ) { settings, values in
            for name in values where name.isEmpty || !name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x2F }) {
                return "takes a host name, not \"\(name)\""
            }
            settings.hosts = values
            return nil
        },
        Setting(
            name: "cors", value: "ORIGIN", summary: "an origin whose pages may ask, as https://shop.example.com",
            isRepeatable: true
        ) { settings, values in
            for origin in values where !OriginPolicy.isOrigin(origin) {
                return "takes an origin such as https://shop.example.com, without a path, not \"\(origin)\""
            }
            settings.origins = values
            return nil
        },
        Setting(name: "tls-cert", value: "FILE", summary: "the certificate chain (PEM) of an https or APNs listener") {
            settings, values in
            settings.certificate = values[0]
            return nil
        },
        Setting(name: "tls-key", value: "FILE", summary: "its private key (PEM)") { settings, values in
            settings.privateKey = values[0]
            return nil
        },
        Setting(
            name: "token-file", value: "FILE",
            summary: "holds the gateway's own token (post:* stats), for hooks and figures; empty = none"
        ) { settings, values in
            settings.tokenFile = values[0]
            return nil
        },
        Setting(name: "hooks", value: "FOLDER", summary: "the webhooks: a file each") { settings, values in
            settings.hooks = values[0]
            return nil
        },
        Setting(
            name: "state", value: "FOLDER",
            summary: "keeps the keys of sessions and device tokens, and the push channels"
        ) {
            settings, values in
            settings.state = values[0]
            return nil
        },
        Setting(
            name: "log-level", value: "trace|debug|info|notice|warning|error|critical",
            summary: "the least that is logged (info)"
        ) { settings, values in
            guard let level = Logger.Level(rawValue: values[0]) else {
                return "takes \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")), not \"\(values[0])\""
            }
            settings.logLevel = level
            return nil
        },
        Setting(name: "log-format", value: "text|json", summary: "of the log on standard error (text)") {
            settings, values in
            guard let format = StandardErrorLog.Format(rawValue: values[0]) else {
                return "takes text or json, not \"\(values[0])\""
            }
            settings.logFormat = format
            return nil
        },
        Setting(
            name: "apns-listen", value: "HOST:PORT",
            summary: "where Apple's push requests are taken, HTTP/2 in TLS (nowhere)"
        ) { settings, values in
            guard let listener = listener(values[0][...], isTLS: true) else {
                return "takes HOST:PORT, not \"\(values[0])\""
            }
            settings.apns = listener
            return nil
        },
        Setting(name: "apns", value: "FILE", summary: "the keys and the apps of Apple's push requests") {
            settings, values in
            settings.apnsFile = values[0]
            return nil
        },
        Setting(
            name: "push", value: "unix:PATH|http://HOST:PORT", summary: "where telltale-push takes registrations (none)"
        ) { settings, values in
            if case .unix(let path)? = Endpoint(values[0]), path.utf8.count <= Endpoint.pathLengthLimit {
                settings.push = .unix(path: path)
                return nil
            }
            guard values[0].hasPrefix("http://"),
                let listener = listener(values[0].dropFirst("http://".count), isTLS: false), listener.port > 0
            else { return "takes unix:PATH or http://HOST:PORT, not \"\(values[0])\"" }
            settings.push = .tcp(host: listener.host, port: listener.port)
            return nil
        },
    ]

    private static func listener(_ text: Substring, isTLS: Bool) -> Settings.Listener? {
        guard case .tcp(let host, let port)? = Endpoint(String(text.hasSuffix("/") ? text.dropLast() : text)),
            host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") })
        else { return nil }
        return Settings.Listener(host: host, port: Int(port), isTLS: isTLS)
    }
}

/// Where values come from, the weakest first.
public struct SettingSources {
    /// The configuration file's name and bytes.
    public var file: (name: String, bytes: [UInt8])?
    public var environment: [String: String]
    public var flags: [String: [String]]

    public init(file: (name: String, bytes: [UInt8])?, environment: [String: String], flags: [String: [String]]) {
        self.file = file
        self.environment = environment
        self.flags = flags
    }

    /// Reads everything, and reports all faults at once.
    ///
    /// - Parameter checks: Further checks of values, by the setting's name.
    public func read(
        checking checks: [String: (Settings) -> String?] = [:]
    ) -> (settings: Settings, faults: [String]) {
        var settings = Settings()
        var faults: [String] = []
        var content = JSONObject()
        if let file {
            do {
                if case .object(let object) = try SharedJSONParser.parse(file.bytes.span) {
                    content = object
                } else {
                    faults.append("\(file.name): holds no JSON object")
                }
            } catch {
                faults.append("\(file.name): \(error)")
            }
            for member in content where !Setting.all.contains(where: { $0.name == member.name }) {
                let names = Setting.all.map(\.name).joined(separator: ", ")
                faults.append("\(file.name): \(member.name): no such setting; those that exist are \(names)")
            }
        }
        let known = Set(Setting.all.map(\.variable) + ["TELLTALE_GATEWAY_CONFIG"])
        for variable in environment.keys.sorted()
        where variable.hasPrefix("TELLTALE_GATEWAY_") && !known.contains(variable) {
            faults.append("environment: \(variable): no such setting")
        }
        var wrong: Set<String> = []
        for setting in Setting.all {
            guard let (place, values) = values(of: setting, content, &faults) else { continue }
            guard !values.isEmpty, setting.isRepeatable || values.count == 1 else {
                faults.append("\(place): takes one value")
                continue
            }
            if let fault = setting.apply(&settings, values) ?? checks[setting.name]?(settings) {
                faults.append("\(place): \(fault)")
                wrong.insert(setting.name)
            }
        }
        return (settings, faults + Self.certificateFaults(of: settings, except: wrong))
    }

    /// A certificate has its key and a listener, and an encrypted listener has both.
    ///
    /// - Parameter wrong: The settings already known to be wrong by themselves.
    private static func certificateFaults(of settings: Settings, except wrong: Set<String>) -> [String] {
        var faults: [String] = []
        let needs = "needs --tls-cert FILE and --tls-key FILE"
        switch (settings.certificate, settings.privateKey) {
        case (nil, nil):
            if settings.listen.isTLS { faults.append("--listen https://…: \(needs)") }
            if settings.apns != nil { faults.append("--apns-listen: \(needs)") }
        case (_?, nil): faults.append("--tls-cert: needs --tls-key FILE, the key of the certificate")
        case (nil, _?): faults.append("--tls-key: needs --tls-cert FILE, the certificate of the key")
        case (_?, _?):
            if !settings.listen.isTLS, settings.apns == nil, wrong.isDisjoint(with: ["listen", "apns-listen"]) {
                faults.append(
                    "--tls-cert: no listener uses it; give an https:// --listen or --apns-listen, or leave it out")
            }
        }
        return faults
    }

    /// The strongest source that has a value, named as people know it.
    private func values(
        of setting: Setting, _ content: JSONObject, _ faults: inout [String]
    ) -> (place: String, values: [String])? {
        if let values = flags[setting.name], !values.isEmpty { return ("--\(setting.name)", values) }
        if let value = environment[setting.variable] {
            let values = setting.isRepeatable ? value.split(separator: ",").map(String.init) : [value]
            return ("environment: \(setting.variable)", values)
        }
        guard let file, let value = content[setting.name] else { return nil }
        let place = "\(file.name): \(setting.name)"
        switch value {
        case .string(let text): return (place, [text])
        case .integer, .number: return (place, [value.description])
        case .array(let elements):
            let texts = elements.compactMap(\.string)
            if texts.count == elements.count { return (place, texts) }
        case .bool, .null, .object: break
        }
        faults.append("\(place): takes a text\(setting.isRepeatable ? ", or an array of texts" : "")")
        return nil
    }
}
