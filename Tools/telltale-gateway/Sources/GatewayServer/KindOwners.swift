internal import Gateway
internal import NIOCore
internal import Synchronization
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

/// Whose each kind is: its `app`, which the type of a CloudEvent may begin with. Asked of the daemon, and kept for a moment.
final class KindOwners: Sendable {
    private struct Known {
        var apps: [String: String] = [:]
        var asked: NIODeadline?
    }

    private let known = Mutex(Known())
    private static let span = TimeAmount.seconds(5)

    /// - Parameter token: The caller's, for a daemon that does not tell the gateway itself.
    func app(of kind: String, _ link: DaemonLink, token: String?) async -> String? {
        let (apps, asked) = known.withLock { ($0.apps, $0.asked) }
        if let asked, NIODeadline.now() - asked < Self.span { return apps[kind] }
        var answer = try? await link.askForSelf(.kinds)
        if answer == nil { answer = try? await link.ask(.kinds, token: token) }
        // Without an answer the last one is good for as long.
        var fresh = apps
        for item in answer?.items ?? [] {
            if let name = item["name"] { fresh[name] = item.tail?["app"]?.string }
        }
        known.withLock {
            $0.apps = fresh
            $0.asked = .now()
        }
        return fresh[kind]
    }
}
