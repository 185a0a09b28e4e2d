internal import FoundationEssentials
internal import Gateway
internal import Metrics
internal import Synchronization
internal import TelltaleModel

/// The hooks in force, with their secrets, and the outcomes of the last deliveries.
final class HookTable: Sendable {
    struct Loaded: Sendable {
        var hook: Hook
        var secrets: [[UInt8]]
    }

    /// The outcome of one delivery, without its body and signature.
    struct Record: Sendable {
        var at: Timestamp
        var hook: String
        var topic: String
        var result: String
        var status: Int
        var requestID: String
        var key: String?
        var type: String?
        var verdict: String?
        var code: String?
        var title: String?
    }

    struct Faults: Error {
        var lines: [String]
    }

    static let recordLimit = 200

    private let hooks: Mutex<[String: Loaded]>
    private let records = Mutex<[Record]>([])

    /// - Parameter folder: Contains one `*.json` file for each hook; `nil` = no hooks.
    /// - Throws: ``Faults``, all of them.
    init(folder: String?) throws(Faults) {
        hooks = Mutex(try Self.load(folder))
        for name in names { Self.showFigures(of: name) }
    }

    /// Reads the folder again. If any file has a fault, the old hooks stay.
    func reload(_ folder: String?) throws(Faults) {
        let fresh = try Self.load(folder)
        hooks.withLock { $0 = fresh }
        for name in fresh.keys { Self.showFigures(of: name) }
    }

    // MARK: Figures

    static func counter(_ hook: String, _ result: String) -> Counter {
        Counter(label: "telltale_gateway_webhook_deliveries_total", dimensions: [("hook", hook), ("result", result)])
    }

    /// A counter that begins at its first increment hides that increment from Prometheus.
    private static func showFigures(of hook: String) {
        for result in ["posted", "unmatched", "refused", "bad_signature", "later"] {
            counter(hook, result).increment(by: 0)
        }
    }

    func find(_ name: String) -> Loaded? { hooks.withLock { $0[name] } }

    var names: [String] { hooks.withLock { $0.keys.sorted() } }

    func remember(_ record: Record) {
        records.withLock { records in
            if records.count >= Self.recordLimit { records.removeFirst() }
            records.append(record)
        }
    }

    /// The newest first.
    var history: [Record] { records.withLock { $0.reversed() } }

    // MARK: Files

    private static func load(_ folder: String?) throws(Faults) -> [String: Loaded] {
        guard let folder else { return [:] }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        } catch {
            throw Faults(lines: ["\(folder): cannot be read"])
        }
        var hooks: [String: Loaded] = [:]
        var faults: [String] = []
        for name in names where name.hasSuffix(".json") && !name.hasSuffix(".schema.json") && !name.hasPrefix(".") {
            guard let data = FileManager.default.contents(atPath: "\(folder)/\(name)") else {
                faults.append("\(name): cannot be read")
                continue
            }
            var reader = HookReader()
            guard let hook = reader.read(Array(data)) else {
                faults += reader.faults.map { "\(name): \($0)" }
                continue
            }
            if hooks[hook.name] != nil { faults.append("\(name): hook: another file is called \(hook.name) too") }
            var secrets: [[UInt8]] = []
            for reference in hook.secrets {
                if let secret = secret(reference, folder), !secret.isEmpty {
                    secrets.append(secret)
                } else {
                    faults.append("\(name): verify.secrets: \(reference) is not there, or empty")
                }
            }
            hooks[hook.name] = Loaded(hook: hook, secrets: secrets)
        }
        guard faults.isEmpty else { throw Faults(lines: faults) }
        return hooks
    }

    /// - Parameter folder: The folder that relative paths start from.
    static func secret(_ reference: SecretReference, _ folder: String) -> [UInt8]? {
        let environment = ProcessInfo.processInfo.environment
        let data: [UInt8]?
        switch reference {
        case .environment(let name): data = environment[name].map { Array($0.utf8) }
        case .credential(let name):
            data = environment["CREDENTIALS_DIRECTORY"].flatMap {
                FileManager.default.contents(atPath: "\($0)/\(name)")
            }
            .map { Array($0) }
        case .file(let path):
            let whole = path.hasPrefix("/") ? path : "\(folder)/\(path)"
            data = FileManager.default.contents(atPath: whole).map { Array($0) }
        }
        guard var data else { return nil }
        while let last = data.last, last == 0x0A || last == 0x0D { data.removeLast() }
        return data
    }
}
