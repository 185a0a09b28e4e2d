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

        init?(_ text: Substring, isTLS: Bool) {
            guard case .tcp(let host, let port)? = Endpoint(String(text.hasSuffix("/") ? text.dropLast() : text)),
                host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") })
            else { return nil }
            self.init(host: host, port: Int(port), isTLS: isTLS)
        }
    }

    /// Where `telltale-push` listens.
    public enum PushPlace: Hashable, Sendable {
        case unix(path: String)
        case tcp(host: String, port: Int)

        /// - Parameter text: unix:PATH or http://HOST:PORT.
        public init?(_ text: String) {
            if case .unix(let path)? = Endpoint(text), path.utf8.count <= Endpoint.pathLengthLimit {
                self = .unix(path: path)
            } else if text.hasPrefix("http://"), let listener = Listener(text.dropFirst("http://".count), isTLS: false)
            {
                self = .tcp(host: listener.host, port: listener.port)
            } else {
                return nil
            }
        }
    }

    /// The daemon's address, as ``GatewaySetting`` checks it.
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
    /// Whether `/examples` is served, a page that lets anybody post events of examples.
    public var hasExamples = false
    public var logLevel = Logger.Level.info
    public var logFormat = StandardErrorLog.Format.text

    public init() {}
}

/// One thing that can be set: a flag, an environment variable, a key of the configuration file.
struct GatewaySetting: Sendable {
    /// - Returns: What is wrong with the values.
    typealias Apply = @Sendable (inout Settings, [String]) -> String?

    let name: String
    let isRepeatable: Bool
    let apply: Apply

    private init(all name: String, _ apply: @escaping Apply) {
        (self.name, isRepeatable, self.apply) = (name, true, apply)
    }

    private init(_ name: String, _ apply: @escaping @Sendable (inout Settings, String) -> String?) {
        (self.name, isRepeatable) = (name, false)
        self.apply = { apply(&$0, $1[0]) }
    }

    /// A setting that takes any text.
    private init(_ name: String, _ place: any WritableKeyPath<Settings, String?> & Sendable) {
        self.init(name) { settings, value in
            settings[keyPath: place] = value
            return nil
        }
    }

    /// A setting that takes what `read` makes of a text.
    private init<Value>(
        _ name: String, _ place: any WritableKeyPath<Settings, Value> & Sendable, takes expectation: String,
        _ read: @escaping @Sendable (String) -> Value?
    ) {
        self.init(name) { settings, text in
            guard let value = read(text) else { return "takes \(expectation), not \"\(text)\"" }
            settings[keyPath: place] = value
            return nil
        }
    }

    var variable: String { "TELLTALE_GATEWAY_" + name.uppercased().split(separator: "-").joined(separator: "_") }

    static let all: [GatewaySetting] = [
        GatewaySetting("connect") { settings, value in
            settings.connect = value
            return nil
        },
        GatewaySetting("connect-ca", \.connectTrustRoots),
        GatewaySetting("listen", \.listen, takes: "http://HOST:PORT or https://HOST:PORT") { text in
            for (scheme, isTLS) in [("http://", false), ("https://", true)] where text.hasPrefix(scheme) {
                return Settings.Listener(text.dropFirst(scheme.count), isTLS: isTLS)
            }
            return nil
        },
        GatewaySetting("ops-listen", \.ops, takes: "HOST:PORT") { Settings.Listener($0[...], isTLS: false) },
        GatewaySetting("connections", \.connections, takes: "a number from 1 to 1000000") { text in
            Int(text).flatMap { (1...1_000_000).contains($0) ? $0 : nil }
        },
        GatewaySetting(all: "host") { settings, values in
            for name in values where name.isEmpty || !name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x2F }) {
                return "takes a host name, not \"\(name)\""
            }
            settings.hosts = values
            return nil
        },
        GatewaySetting(all: "cors") { settings, values in
            for origin in values where !OriginPolicy.isOrigin(origin) {
                return "takes an origin such as https://shop.example.com, without a path, not \"\(origin)\""
            }
            settings.origins = values
            return nil
        },
        GatewaySetting("tls-cert", \.certificate),
        GatewaySetting("tls-key", \.privateKey),
        GatewaySetting("token-file", \.tokenFile),
        GatewaySetting("hooks", \.hooks),
        GatewaySetting("state", \.state),
        GatewaySetting("examples", \.hasExamples, takes: "on or off") { ["on": true, "off": false][$0] },
        GatewaySetting("log-level") { settings, value in choose(value, &settings.logLevel) },
        GatewaySetting("log-format") { settings, value in choose(value, &settings.logFormat) },
        GatewaySetting("apns-listen", \.apns, takes: "HOST:PORT") { text in
            Settings.Listener(text[...], isTLS: true).map(Optional.some)
        },
        GatewaySetting("apns", \.apnsFile),
        GatewaySetting("push", \.push, takes: "unix:PATH or http://HOST:PORT") { text in
            guard let place = Settings.PushPlace(text) else { return nil }
            if case .tcp(_, port: 0) = place { return nil }
            return place
        },
    ]
}

/// - Returns: What is wrong with the text.
public func choose<Value: RawRepresentable<String> & CaseIterable>(_ text: String, _ place: inout Value) -> String? {
    guard let value = Value(rawValue: text) else {
        return "takes \(Value.allCases.map(\.rawValue).joined(separator: ", ")), not \"\(text)\""
    }
    place = value
    return nil
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
    public func read() -> (settings: Settings, faults: [String]) {
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
            for member in content where !GatewaySetting.all.contains(where: { $0.name == member.name }) {
                let names = GatewaySetting.all.map(\.name).joined(separator: ", ")
                faults.append("\(file.name): \(member.name): no such setting; those that exist are \(names)")
            }
        }
        let known = Set(GatewaySetting.all.map(\.variable) + ["TELLTALE_GATEWAY_CONFIG"])
        for variable in environment.keys.sorted()
        where variable.hasPrefix("TELLTALE_GATEWAY_") && !known.contains(variable) {
            faults.append("environment: \(variable): no such setting")
        }
        var wrong: Set<String> = []
        for setting in GatewaySetting.all {
            guard let (place, values) = values(of: setting, content, &faults) else { continue }
            guard !values.isEmpty, setting.isRepeatable || values.count == 1 else {
                faults.append("\(place): takes one value")
                continue
            }
            if let fault = setting.apply(&settings, values) {
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
        of setting: GatewaySetting, _ content: JSONObject, _ faults: inout [String]
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
