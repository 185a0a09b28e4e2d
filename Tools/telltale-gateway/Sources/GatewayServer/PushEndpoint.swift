internal import ApplePush
internal import FoundationEssentials
internal import Gateway
internal import Logging
internal import Metrics
internal import NIOCore
internal import Synchronization
internal import TelltaleClient
internal import TelltaleCrypto
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

/// The state of the endpoint for Apple's push requests: its file, channels and budgets, and the last requests.
final class PushEndpoint: Sendable {
    /// A file that was read, with the keys that it names.
    struct Loaded: Sendable {
        var file: PushFile
        var keys: [String: P256Key]

        var rules: PushRules {
            PushRules(
                policy: file.policy,
                teams: Dictionary(file.keys.map { ($0.id, $0.team) }, uniquingKeysWith: { first, _ in first }),
                apps: Dictionary(
                    file.keys.compactMap { key in key.apps.map { (key.id, $0) } },
                    uniquingKeysWith: { first, _ in first }))
        }
    }

    let log: Logger
    let channels: ChannelStore
    let history = PushHistory()
    private let loaded: Mutex<Loaded>
    private let secret: [UInt8]
    private let verified = Mutex<Set<[UInt8]>>([])
    private let budgets = Mutex<[String: PushBudget]>([:])
    private let directory = Mutex<(value: PushDirectory, asked: NIODeadline)?>(nil)

    private static let directorySpan = TimeAmount.seconds(5)
    private static let budgetLimit = 10_000
    private static let verifiedLimit = 256

    /// - Parameters:
    ///   - file: `nil` = accept every team, and use the kinds as attributes types.
    ///   - state: The folder for the channels and the key of device tokens; `nil` = both end with this process.
    init(file: String?, state: String?, log: Logger) throws {
        self.log = log
        secret = try StateFolder.key("push.key", in: state)
        channels = try ChannelStore(folder: state)
        loaded = Mutex(try Self.load(file))
    }

    // MARK: The file

    func read(_ file: String?) throws -> Loaded { try Self.load(file) }

    func use(_ fresh: Loaded) {
        loaded.withLock { $0 = fresh }
        verified.withLock { $0 = [] }
        directory.withLock { $0 = nil }
    }

    private static func load(_ path: String?) throws -> Loaded {
        guard let path else { return Loaded(file: PushFile(), keys: [:]) }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw GatewayServer.StartFault(lines: ["\(path): cannot be read"])
        }
        let (file, faults) = PushFile.read(Array(data))
        var lines = faults.map { "\(path): \($0)" }
        var keys: [String: P256Key] = [:]
        let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        for key in file.keys {
            guard let bytes = HookTable.secret(key.key, folder.isEmpty ? "." : folder),
                let text = String(validating: bytes, as: UTF8.self), let read = publicKey(text)
            else {
                lines.append("\(path): keys: \(key.key) is no P-256 key in PEM")
                continue
            }
            keys[key.id] = read
        }
        guard lines.isEmpty else { throw GatewayServer.StartFault(lines: lines) }
        return Loaded(file: file, keys: keys)
    }

    /// Parses a public key, or the private key that Apple issues.
    private static func publicKey(_ pem: String) -> P256Key? {
        (try? P256Key.publicKey(pem: pem)) ?? (try? P256Key.privateKey(pem: pem))
    }

    var rules: PushRules { loaded.withLock { $0.rules } }

    // MARK: Cryptography

    var cryptography: PushCryptography {
        PushCryptography(
            sha256: { SHA256.digest(of: $0) },
            tag: { [secret] in MessageCode.code(of: $0, key: secret) },
            verify: { [self] in verify($0, $1, $2) })
    }

    /// Caches the result, because a token is sent with every push for an hour.
    private func verify(_ keyID: String, _ message: [UInt8], _ signature: [UInt8]) -> Bool {
        guard let key = loaded.withLock({ $0.keys[keyID] }) else { return false }
        let name = SHA256.digest(of: Array(keyID.utf8) + message + signature)
        if verified.withLock({ $0.contains(name) }) { return true }
        guard key.isValid(signature, of: message) else { return false }
        verified.withLock { known in
            if known.count >= Self.verifiedLimit { known = [] }
            known.insert(name)
        }
        return true
    }

    // MARK: Apps

    /// The apps of the kinds in force.
    ///
    /// - Throws: If the daemon does not list them.
    func apps(_ link: DaemonLink) async throws(Problem) -> PushDirectory {
        let last = directory.withLock { $0 }
        if let last, NIODeadline.now() - last.asked < Self.directorySpan { return last.value }
        do throws(Problem) {
            let fresh = try await askApps(link)
            directory.withLock { $0 = (fresh, .now()) }
            return fresh
        } catch {
            // Without an answer the last list is used: the daemon decides again about every event.
            if let last { return last.value }
            throw error
        }
    }

    private func askApps(_ link: DaemonLink) async throws(Problem) -> PushDirectory {
        let configured = loaded.withLock { $0.file.apps }
        var directory = PushDirectory()
        var kinds: Set<String> = []
        for item in try await link.askForSelf(.kinds).items {
            guard let kind = item["name"], let app = item.tail?["app"]?.string else { continue }
            kinds.insert(kind)
            directory.apps[app, default: .init()].kinds.insert(kind)
        }
        for (bundle, activities) in configured {
            for (type, activity) in activities where kinds.contains(activity.kind) {
                var activity = activity
                if activity.eventPath != nil { activity.startsOn = try await startingEvents(of: activity.kind, link) }
                directory.apps[bundle, default: .init()].activities[type] = activity
                directory.apps[bundle]?.kinds.insert(activity.kind)
            }
        }
        return directory
    }

    private func startingEvents(of kind: String, _ link: DaemonLink) async throws(Problem) -> Set<String> {
        let definition = try await link.askForSelf(.kind(kind)).reply.line.tail
        var events = Set(definition?["startsOn"]?.array?.compactMap(\.string) ?? [])
        for renamed in definition?["accept"]?.object ?? JSONObject() {
            if let name = renamed.value.string, events.contains(name) { events.insert(renamed.name) }
        }
        return events
    }

    // MARK: Budgets

    /// Counts a push of priority 10.
    ///
    /// - Returns: A note if the device may hold it back.
    func spend(_ push: DevicePush, at now: Timestamp) -> String? {
        guard push.priority == 10 else { return nil }
        let isWithin = budgets.withLock { budgets in
            if budgets.count >= Self.budgetLimit, budgets[push.tokenText] == nil {
                for (token, budget) in budgets {
                    var budget = budget
                    if budget.isFull(at: now) { budgets[token] = nil }
                }
                if budgets.count >= Self.budgetLimit { budgets = [:] }
            }
            return budgets[push.tokenText, default: PushBudget(isFrequent: push.token.isFrequent, at: now)]
                .spend(at: now)
        }
        guard !isWithin else { return nil }
        let size = push.token.isFrequent ? PushBudget.frequent : PushBudget.standard
        return "priority 10 beyond \(size) an hour; a device may hold it back"
    }

    static func counter(_ status: Int, _ reason: String) -> Counter {
        Counter(
            label: "telltale_gateway_apns_pushes_total",
            dimensions: [("status", String(status)), ("reason", reason)])
    }
}
