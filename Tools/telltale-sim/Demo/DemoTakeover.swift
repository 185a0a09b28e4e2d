import Glibc
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import ToolSupport

/// The leader's end in the middle of the demo, and what its clients saw of it.
final class DemoTakeover {
    /// Has a file `NODE.pid` for each node.
    private let folder: String
    private var leader: String?
    private var killed: (node: String, afterEvents: Int, at: Int64)?
    private var next: String?
    /// Since the kill: the next event was answered, and each client was at the next leader.
    private var answeredAfter: Milliseconds?
    private var currentAfter: [String: Milliseconds] = [:]
    private var resetCount = 0
    private var orderSystemIsBack = false
    private var screenNames: Set<String> = []
    private var news: [String] = []

    init(_ folder: String) {
        self.folder = folder
    }

    // MARK: Clients

    func connected(_ client: String, to greeting: ServerGreeting) {
        guard let node = greeting.node, greeting.isLeading else { return }
        guard let killed else {
            if leader != node { news.append("\(node) leads; the other nodes repeat what it decides") }
            leader = node
            return
        }
        guard node != killed.node || next != nil else { return }
        if client == Self.orderSystem { orderSystemIsBack = true }
        if next == nil { news.append("\(node) leads, \(Self.text(since(killed.at))) after the kill") }
        next = node
    }

    static let orderSystem = "the order system"

    /// An event was answered.
    func answered() {
        guard let killed, orderSystemIsBack, answeredAfter == nil else { return }
        let span = since(killed.at)
        answeredAfter = span
        news.append("The next event is answered, \(Self.text(span)) after the kill")
    }

    /// A screen has all that it follows.
    func isCurrent(_ screen: String) {
        screenNames.insert(screen)
        guard let killed, next != nil, currentAfter[screen] == nil else { return }
        currentAfter[screen] = since(killed.at)
        guard currentAfter.count == screenNames.count else { return }
        news.append(
            "All screens have gone on at \(next ?? "-"), "
                + (resetCount == 0 ? "and none was told RESET" : "and there were \(resetCount) RESET"))
    }

    func wasReset(_ screen: String) {
        resetCount += 1
        news.append("\(screen) was told RESET")
    }

    // MARK: The kill

    /// Kills the leader when half of the events are answered.
    ///
    /// - Returns: Why it cannot be killed.
    func progress(_ answeredCount: Int, of count: Int) -> String? {
        guard killed == nil, answeredCount >= count / 2 else { return nil }
        guard let leader else { return "the daemon is no node of a cluster, so there is no leader to kill" }
        let file = "\(folder)/\(leader).pid"
        guard let bytes = try? NamedFile.read(file),
            let process = pid_t(String(decoding: bytes, as: UTF8.self).prefix { $0.isNumber }), process > 1
        else { return "\(file): holds no process to kill" }
        guard kill(process, SIGKILL) == 0 else { return "\(leader), process \(process), cannot be killed" }
        killed = (leader, answeredCount, EventLoop.monotonicMilliseconds())
        news.append("\(answeredCount) of \(count) events are answered. Now \(leader) is killed: kill -9 \(process)")
        return nil
    }

    private func since(_ time: Int64) -> Milliseconds { Milliseconds(EventLoop.monotonicMilliseconds() - time) }

    // MARK: Words

    /// Events since it was asked last, one line each.
    func takeNews() -> [String] {
        defer { news = [] }
        return news
    }

    /// One line for the head of the screens.
    var status: String {
        guard let killed else { return "\(leader ?? "No node") leads. In the middle of the orders it is killed." }
        guard let next else {
            return
                "\(killed.node) was killed \(Self.text(since(killed.at))) ago. No node leads; the screens stay as they are."
        }
        guard let answeredAfter, currentAfter.count == screenNames.count else {
            return "\(killed.node) was killed. \(next) leads; orders and screens go on there."
        }
        let resets = resetCount == 0 ? "No screen was told RESET." : "RESET was told \(resetCount) times."
        return "\(killed.node) was killed; \(next) answered the next event \(Self.text(answeredAfter)) later. \(resets)"
    }

    /// Whether another node went on, and every screen with it, without a `RESET`.
    var isRight: Bool {
        answeredAfter != nil && !screenNames.isEmpty && currentAfter.count == screenNames.count && resetCount == 0
    }

    var summary: [String] {
        guard let killed else { return ["no leader was killed: the events were over before"] }
        guard let next, let answeredAfter else {
            return ["\(killed.node) was killed after \(killed.afterEvents) events, and no other node answered"]
        }
        let slowest = currentAfter.values.max() ?? .zero
        return [
            "\(killed.node) was killed after \(killed.afterEvents) events; \(next) answered the next one \(Self.text(answeredAfter)) later",
            "\(currentAfter.count == screenNames.count ? "every screen" : "not every screen") went on there, the last one \(Self.text(slowest)) after the kill; RESET: \(resetCount)",
        ]
    }

    private static func text(_ span: Milliseconds) -> String {
        "\(span.count / 1000).\(span.count % 1000 / 100) s"
    }
}
