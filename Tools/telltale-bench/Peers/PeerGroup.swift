import Foundation

/// The servers that are compared, and how each is started.
struct PeerGroup {
    static let names = ["telltale", "plain", "nats", "redis", "mosquitto"]

    private let only: [String]
    private(set) var settings: TelltaleScreens.Settings
    let data: String

    init(only: [String], settings: TelltaleScreens.Settings, data: String) {
        self.only = only
        self.settings = settings
        self.data = data
    }

    /// The same at another pace, in milliseconds; `nil` = its own.
    func paced(_ pace: Int?) -> PeerGroup {
        var group = self
        if let pace { group.settings.pace.milliseconds = pace }
        return group
    }

    private static let programs = ["nats": "nats-server", "redis": "redis-server", "mosquitto": "mosquitto"]

    private var wanted: [String] { Self.names.filter { only.isEmpty || only.contains($0) } }

    /// Wanted, but not on this machine.
    var missing: [String] {
        wanted.compactMap { Self.programs[$0] }.filter { PeerProgram.find($0) == nil }
    }

    var names: [String] {
        wanted.filter { name in Self.programs[name].map { PeerProgram.find($0) != nil } ?? true }
    }

    /// Starts one.
    ///
    /// - Parameter lineByteCount: How long Telltale's whole line is, for the plain relay.
    func start(_ name: String, lineByteCount: Int = 0, suffix: String = "") throws -> any FanOutTarget {
        let folder = "\(data)-\(name)\(suffix)"
        func program() throws -> String {
            guard let path = Self.programs[name].flatMap({ PeerProgram.find($0) }) else {
                throw ServerProcess.StartFailure(description: "there is no \(name)")
            }
            return path
        }
        switch name {
        case "nats": return try Broker.nats(program(), data: folder, bytes: settings.bytes)
        case "redis": return try Broker.redis(program(), data: folder, bytes: settings.bytes)
        case "mosquitto": return try Broker.mosquitto(program(), data: folder, bytes: settings.bytes)
        case "plain":
            return try Broker.plain(
                data: folder, bytes: max(lineByteCount, settings.bytes), pace: settings.pace.milliseconds ?? 0)
        default:
            return try TelltaleScreens(settings, data: folder, name: suffix.isEmpty ? "telltale" : "again")
        }
    }
}
