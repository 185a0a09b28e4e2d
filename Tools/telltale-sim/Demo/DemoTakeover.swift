import Glibc
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import ToolSupport

/// The leader's end in the middle of the demo, and what the screens, each at a node of its own, saw of it.
final class DemoTakeover {
    /// Where a screen is, and what the kill did to it.
    private struct Place {
        var node: String?
        /// Its node at the kill.
        var before: String?
        /// Since the kill.
        var hasLostConnection = false
        /// From the kill until it had all rows again, at another node.
        var currentAfter: Milliseconds?
    }

    static let orderSystem = "the order system"
    private static let startSpan = Duration.seconds(30)
    private static let pause: UInt32 = 100_000

    /// Has a file `NODE.pid` for each node.
    private let folder: String
    private let link: ToolClient
    private let screens: [String]
    private var places: [String: Place] = [:]
    private var killed: (node: String, afterEvents: Int, at: Int64)?
    private var next: String?
    /// Since the kill: the next event was answered.
    private var answeredAfter: Milliseconds?
    private var isOrderSystemBack = false
    private var resetCount = 0
    private var hasToldPlaces = false
    private var hasToldEnd = false
    private var news: [String] = []

    /// - Parameters:
    ///   - folder: Has a file `NODE.pid` for each node.
    ///   - screens: The names of those that are spread over the nodes.
    init(_ folder: String, link: ToolClient, screens: [String]) {
        (self.folder, self.link, self.screens) = (folder, link, screens)
    }

    // MARK: Nodes

    private func configuration(_ nodes: NodeChoice) -> ClientConfiguration {
        var configuration = ClientConfiguration(name: "demo-operator", eventIDPrefix: "demo-operator").through(link)
        configuration.nodes = nodes
        return configuration
    }

    /// Waits until each node serves screens: one that has just begun sends them to the leader.
    func waitForNodes() {
        let end = ContinuousClock.now + Self.startSpan
        var waiting = link.endpoint.endpoints
        while !waiting.isEmpty, ContinuousClock.now < end {
            waiting.removeAll { endpoint in
                let client = try? BlockingClient(to: endpoint, configuration: configuration(.any), timeout: .seconds(2))
                return client?.greeting.map { $0.isLeading || $0.serves } == true
            }
            if !waiting.isEmpty { usleep(Self.pause) }
        }
    }

    /// Asks which node leads now. Connections stay where another one leads, so no client may have noticed.
    ///
    /// - Throws: A text that says why none is known.
    private func leader() throws(DemoFault) -> String {
        do throws(ClientFailure) {
            let client = try BlockingClient(
                to: link.endpoint, configuration: configuration(.leader), timeout: .seconds(10))
            if let node = client.greeting?.node { return node }
        } catch {
            throw DemoFault(description: "no node of the cluster leads: \(error)")
        }
        throw DemoFault(description: "the daemon is no node of a cluster, so there is no leader to kill")
    }

    // MARK: Clients

    func connected(_ client: String, to greeting: ServerGreeting) {
        guard let node = greeting.node else { return }
        if screens.contains(client) { places[client, default: Place()].node = node }
        guard let killed, greeting.isLeading, node != killed.node || next != nil else { return }
        if client == Self.orderSystem { isOrderSystemBack = true }
        if next == nil { news.append("\(node) leads, \(Self.text(since(killed.at))) after the kill") }
        next = node
    }

    func disconnected(_ client: String) { if killed != nil { places[client]?.hasLostConnection = true } }

    /// An event was answered.
    func answered() {
        guard let killed, isOrderSystemBack, answeredAfter == nil else { return }
        let span = since(killed.at)
        answeredAfter = span
        news.append("The next event is answered, \(Self.text(span)) after the kill")
    }

    /// A screen has all that it follows.
    func isCurrent(_ screen: String) {
        guard let killed, let place = places[screen], place.hasLostConnection, place.currentAfter == nil,
            place.node != killed.node
        else { return }
        let span = since(killed.at)
        places[screen]?.currentAfter = span
        news.append("\(screen) goes on at \(place.node ?? "-"), and is current \(Self.text(span)) after the kill")
    }

    func wasReset(_ screen: String) {
        resetCount += 1
        news.append("\(screen) was told RESET")
    }

    // MARK: The kill

    /// Kills the leader when half of the events are answered.
    ///
    /// - Throws: Why it cannot be killed.
    func progress(_ answeredCount: Int, of count: Int) throws(DemoFault) {
        if !hasToldPlaces, screens.allSatisfy({ places[$0]?.node != nil }) {
            hasToldPlaces = true
            news.append(
                "Each screen is at a node: " + screens.map { "\($0) at \(node(of: $0))" }.joined(separator: ", "))
        }
        if !hasToldEnd, isRight {
            hasToldEnd = true
            news.append("\(keptText), and no screen was told RESET")
        }
        guard killed == nil, answeredCount >= count / 2 else { return }
        let leader = try leader()
        let file = "\(folder)/\(leader).pid"
        guard let bytes = try? NamedFile.read(file),
            let process = pid_t(String(decoding: bytes, as: UTF8.self).prefix { $0.isNumber }), process > 1
        else { throw DemoFault(description: "\(file): holds no process to kill") }
        for screen in screens {
            let node = places[screen]?.node
            places[screen]?.before = node
        }
        guard kill(process, SIGKILL) == 0 else {
            throw DemoFault(description: "\(leader), process \(process), cannot be killed")
        }
        killed = (leader, answeredCount, EventLoop.monotonicMilliseconds())
        news.append(
            "\(answeredCount) of \(count) events are answered. Now \(leader), which leads, is killed: kill -9 \(process)"
        )
    }

    private func since(_ time: Int64) -> Milliseconds { Milliseconds(EventLoop.monotonicMilliseconds() - time) }

    /// The screens that were at the node that was killed, and those that were not.
    private var moved: [String] { screens.filter { places[$0]?.before == killed?.node } }
    private var others: [String] { screens.filter { places[$0]?.before != killed?.node } }

    // MARK: Words

    /// Events since it was asked last, one line each.
    func takeNews() -> [String] {
        defer { news = [] }
        return news
    }

    private func node(of screen: String) -> String { places[screen]?.node ?? "-" }

    private static func list(_ names: [String]) -> String {
        names.count < 2
            ? names.joined() : names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
    }

    /// What became of the screens at the other nodes.
    private var keptText: String {
        let lost = others.filter { places[$0]?.hasLostConnection == true }
        let kept = others.filter { !lost.contains($0) }
        let named = Self.list(kept.map { "\($0) (at \(node(of: $0)))" })
        let keptText =
            kept.isEmpty
            ? "no screen kept its connection"
            : "\(named) kept \(kept.count == 1 ? "its connection" : "their connections")"
        return lost.isEmpty ? keptText : "\(keptText), but \(Self.list(lost)) did not"
    }

    private func movedText(_ killed: String) -> [String] {
        moved.map { screen in
            guard let span = places[screen]?.currentAfter else {
                return "\(screen) was at \(killed), and came back nowhere"
            }
            return
                "\(screen) was at \(killed): it went on at \(node(of: screen)), current \(Self.text(span)) after the kill"
        }
    }

    /// One line for the head of the screens.
    var status: String {
        guard let killed else {
            return screens.map { "\($0) at \(node(of: $0))" }.joined(separator: ", ")
                + ". In the middle of the orders the node that leads is killed."
        }
        guard let next else {
            return
                "\(killed.node), which led, was killed \(Self.text(since(killed.at))) ago. \(Self.list(others)) keep their connections; no node leads yet."
        }
        guard let answeredAfter, isRight else {
            return "\(killed.node) was killed. \(next) leads; orders and screens go on."
        }
        return
            "\(killed.node) was killed; \(next) answered the next event \(Self.text(answeredAfter)) later. \(keptText). No RESET."
    }

    /// Whether another node went on, the screens of the killed node are at others, and all other connections were kept: without a
    /// `RESET`.
    var isRight: Bool {
        answeredAfter != nil && resetCount == 0 && moved.allSatisfy { places[$0]?.currentAfter != nil }
            && others.allSatisfy { places[$0]?.hasLostConnection != true }
    }

    var summary: [String] {
        guard let killed else { return ["no leader was killed: the events were over before"] }
        guard let next, let answeredAfter else {
            return [
                "\(killed.node), which led, was killed after \(killed.afterEvents) events, and no other node answered"
            ]
        }
        return [
            "\(killed.node), which led, was killed after \(killed.afterEvents) events; \(next) answered the next one \(Self.text(answeredAfter)) later"
        ] + movedText(killed.node) + [
            keptText,
            resetCount == 0
                ? "no screen was told RESET: none had to begin again" : "RESET was told \(resetCount) times",
        ]
    }

    private static func text(_ span: Milliseconds) -> String {
        "\(span.count / 1000).\(span.count % 1000 / 100) s"
    }
}
