public import ApplePush
internal import FoundationEssentials
public import Gateway
public import Logging
internal import TelltaleEventLoop
internal import TelltaleModel

/// All settings of `telltale-push`, read once from a file and from flags, which take precedence.
public struct PushSettings: Sendable {
    /// The sender of Web Pushes.
    public struct Web: Hashable, Sendable {
        /// A private key in PEM: a secret.
        public var key: String
        public var subject: String
        public var hosts: [String]
        public var trustRoots: String?
    }

    /// The address of an https service.
    public struct Place: Hashable, Sendable {
        public var host: String
        public var port: Int
    }

    public var connect = "unix:/run/telltale/telltaled.sock"
    public var connectTrustRoots: String?
    public var token: String?
    /// The folder of the registrations.
    public var state = ""
    public var listener = Settings.PushPlace.tcp(host: "127.0.0.1", port: 7884)
    /// The push service; `nil` = only Web Push.
    public var pushPlace: Place?
    /// The push service's channel management; `nil` = none.
    public var channelPlace: Place?
    public var trustRoots: String?
    public var team = ""
    public var keyID = ""
    /// A private key in PEM: a secret.
    public var key = ""
    /// The sender of Web Pushes; `nil` = none.
    public var web: Web?
    /// By kind.
    public var forms: [String: OutgoingPush.Form] = [:]
    public var logLevel = Logger.Level.info
    public var logFormat = StandardErrorLog.Format.text

    /// The settings that are texts in the file and also exist as flags.
    public static let names = [
        "connect", "connect-ca", "token-file", "state", "listen", "apns-url", "channels-url", "apns-ca", "team", "kid",
        "key",
        "log-level", "log-format",
    ]

    /// - Parameters:
    ///   - flags: By the names in ``names``; they take precedence over the file.
    /// - Returns: The settings and all faults; do not use the settings if there are any.
    public static func read(
        file: (path: String, bytes: [UInt8])?, flags: [String: String]
    ) -> (settings: PushSettings, faults: [String]) {
        var reader = PushSettingsReader(folder: file.map { folder(of: $0.path) } ?? ".")
        if let file { reader.read(file.path, file.bytes) }
        for (name, value) in flags.sorted(by: { $0.key < $1.key }) { reader.set(name, value, "--\(name)", folder: ".") }
        reader.checkWhole()
        return (reader.settings, reader.faults)
    }

    private static func folder(of path: String) -> String {
        let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        return folder.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : folder
    }
}

private struct PushSettingsReader {
    let folder: String
    var settings = PushSettings()
    var faults: [String] = []

    mutating func read(_ path: String, _ bytes: [UInt8]) {
        let object: JSONObject
        do throws(Problem) {
            object = try EventRequest.object(bytes.span)
        } catch {
            return faults.append("\(path): \(error.title)")
        }
        for member in object {
            let place = "\(path): \(member.name)"
            if member.name == "apps" {
                read(apps: member.value, place)
            } else if member.name == "web-push" {
                read(web: member.value, place)
            } else if PushSettings.names.contains(member.name) {
                guard let text = member.value.string else {
                    faults.append("\(place): takes a text")
                    continue
                }
                set(member.name, text, place, folder: folder)
            } else if member.name != "$schema" {
                let known = (PushSettings.names + ["apps", "web-push"]).joined(separator: ", ")
                faults.append("\(place): no such setting; those that exist are \(known)")
            }
        }
    }

    mutating func set(_ name: String, _ value: String, _ place: String, folder: String) {
        switch name {
        case "connect": settings.connect = value
        case "connect-ca": settings.connectTrustRoots = whole(value, folder)
        case "token-file":
            guard let text = text(ofFile: whole(value, folder), place) else { return }
            let words = text.split { $0 == " " || $0 == "\n" || $0 == "\r\n" || $0 == "\t" }
            guard words.count < 2 else { return faults.append("\(place): \(value) is to hold one token") }
            settings.token = words.first.map(String.init)
        case "state": settings.state = whole(value, folder)
        case "listen":
            guard let listener = Settings.PushPlace(value) else {
                return faults.append("\(place): takes unix:PATH or http://HOST:PORT, not \"\(value)\"")
            }
            settings.listener = listener
        case "apns-url", "channels-url":
            guard let service = Self.service(value) else {
                return faults.append("\(place): takes https://HOST or https://HOST:PORT, not \"\(value)\"")
            }
            if name == "apns-url" { settings.pushPlace = service } else { settings.channelPlace = service }
        case "apns-ca": settings.trustRoots = whole(value, folder)
        case "team", "kid":
            guard value.utf8.count == 10, value.utf8.allSatisfy({ Self.isAlphanumeric($0) }) else {
                return faults.append("\(place): takes 10 letters and digits, as Apple shows them beside the key")
            }
            if name == "team" { settings.team = value } else { settings.keyID = value }
        case "key":
            let path = value.hasPrefix("file:") ? String(value.dropFirst("file:".count)) : value
            guard let text = secret(path, place, folder) else { return }
            do {
                _ = try ProviderSigner(team: "", keyID: "", pem: text)
                settings.key = text
            } catch {
                faults.append("\(place): \(path) holds no private key of P-256 in PEM, as AuthKey_….p8 does")
            }
        case "log-level": note(choose(value, &settings.logLevel), place)
        case "log-format": note(choose(value, &settings.logFormat), place)
        default: faults.append("\(place): no such setting")
        }
    }

    private mutating func note(_ fault: String?, _ place: String) {
        if let fault { faults.append("\(place): \(fault)") }
    }

    private func whole(_ path: String, _ folder: String) -> String {
        path.hasPrefix("/") || folder == "." ? path : "\(folder)/\(path)"
    }

    private mutating func text(ofFile path: String, _ place: String) -> String? {
        guard let data = FileManager.default.contents(atPath: path), data.count <= 65_536,
            let text = String(validating: data, as: UTF8.self)
        else {
            faults.append("\(place): \(path) cannot be read")
            return nil
        }
        return text
    }

    private mutating func secret(_ path: String, _ place: String, _ folder: String) -> String? {
        if path.hasPrefix("credential:") {
            guard let root = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"] else {
                faults.append("\(place): \(path) needs LoadCredential= of a systemd unit")
                return nil
            }
            return text(ofFile: "\(root)/\(path.dropFirst("credential:".count))", place)
        }
        return text(ofFile: whole(path, folder), place)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }

    private static func service(_ text: String) -> PushSettings.Place? {
        guard text.hasPrefix("https://") else { return nil }
        var rest = text.dropFirst("https://".count)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard !rest.isEmpty, rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x2F }) else { return nil }
        if case .tcp(let host, let port)? = Endpoint(String(rest)), port > 0 {
            return .init(host: host, port: Int(port))
        }
        return rest.contains(":") ? nil : .init(host: String(rest), port: 443)
    }

    // MARK: Apps

    private mutating func read(apps value: JSON, _ place: String) {
        guard let apps = value.object else { return faults.append("\(place): takes an object of bundle ids") }
        for app in apps {
            guard let types = app.value.object else {
                faults.append("\(place).\(app.name): takes an object of attributes types")
                continue
            }
            for type in types { read(type, bundle: app.name, "\(place).\(app.name).\(type.name)") }
        }
    }

    private mutating func read(_ type: JSONObject.Member, bundle: String, _ place: String) {
        guard let object = type.value.object else { return faults.append("\(place): takes an object") }
        let known: Set<String> = ["kind", "content", "state", "start", "push-token"]
        for member in object where !known.contains(member.name) {
            let names = known.sorted().joined(separator: ", ")
            faults.append("\(place).\(member.name): no such member; those that exist are \(names)")
        }
        guard let kind = object["kind"]?.string, Key.isSegment(kind.utf8) else {
            return faults.append("\(place).kind: takes the name of a kind")
        }
        guard settings.forms[kind] == nil else {
            return faults.append("\(place).kind: \(kind) is another type's already")
        }
        var form = OutgoingPush.Form(bundle: bundle, attributesType: type.name)
        form.startAlert.title = kind
        if let value = object["content"] {
            guard let names = value.array?.compactMap(\.string), names.count == value.array?.count else {
                return faults.append("\(place).content: takes an array of members' names")
            }
            form.content = Set(names)
        }
        if let value = object["state"] {
            guard let name = value.string else { return faults.append("\(place).state: takes a member's name") }
            form.stateName = name
        }
        if let value = object["start"] {
            guard let title = value["title"]?.string else {
                return faults.append("\(place).start: takes {\"title\":TEXT,\"body\":TEXT}")
            }
            form.startAlert = .init(title: title, body: value["body"]?.string ?? "", sound: value["sound"]?.string)
        }
        if let value = object["push-token"] {
            guard let flag = value.bool else { return faults.append("\(place).push-token: takes true or false") }
            form.wantsToken = flag
        }
        settings.forms[kind] = form
    }

    private mutating func read(web value: JSON, _ place: String) {
        guard let object = value.object else { return faults.append("\(place): takes an object") }
        for member in object where !["key", "subject", "hosts", "ca"].contains(member.name) {
            faults.append("\(place).\(member.name): no such member; those that exist are ca, hosts, key, subject")
        }
        guard let path = object["key"]?.string, let key = secret(path, "\(place).key", folder) else {
            if object["key"]?.string == nil { faults.append("\(place).key: names the file of a key (VAPID)") }
            return
        }
        guard let subject = object["subject"]?.string, subject.hasPrefix("mailto:") || subject.hasPrefix("https:")
        else {
            return faults.append("\(place).subject: takes mailto:ADDRESS or an https URL, for the services")
        }
        guard let hosts = object["hosts"]?.array?.compactMap(\.string), !hosts.isEmpty,
            hosts.count == object["hosts"]?.array?.count
        else {
            return faults.append(
                "\(place).hosts: takes the services that pushes may go to, as [\"updates.push.services.mozilla.com\"]")
        }
        do {
            _ = try WebPushCipher(pem: key, subject: subject)
        } catch {
            return faults.append("\(place).key: \(path) holds no private key of P-256 in PEM")
        }
        settings.web = .init(
            key: key, subject: subject, hosts: hosts.map { $0.lowercased() },
            trustRoots: object["ca"]?.string.map { whole($0, folder) })
    }

    mutating func checkWhole() {
        guard faults.isEmpty else { return }
        if settings.state.isEmpty { faults.append("--state: names the folder of the registrations") }
        // With Web Push only, nothing of Apple's is needed.
        if settings.web != nil, settings.pushPlace == nil, settings.channelPlace == nil, settings.forms.isEmpty {
            return
        }
        if settings.pushPlace == nil {
            faults.append("--apns-url: says where pushes go, as https://api.sandbox.push.apple.com")
        }
        if settings.team.isEmpty { faults.append("--team: the 10 characters of the team") }
        if settings.keyID.isEmpty { faults.append("--kid: the 10 characters of the key") }
        if settings.key.isEmpty { faults.append("--key: the file of the key, as AuthKey_….p8") }
        if settings.forms.isEmpty {
            faults.append(
                "apps: names no app; {\"BUNDLE\":{\"ATTRIBUTES TYPE\":{\"kind\":KIND}}} of the configuration file")
        }
    }
}
