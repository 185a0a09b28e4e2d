import ArgumentParser
import Glibc
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

struct ClusterHandoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "handover", abstract: "Lets another node lead, in order.",
        discussion: """
            The leader answers what it has decided, says in the log that it leads no more, and goes on as a standby; its \
            clients go to the next leader. It needs the scope admin. A leader that is to end needs no command: SIGTERM hands \
            over too. Exit codes: 0 another node leads, 1 not so, 69 no node answers.
            """)

    @Argument(help: "The node that is to lead; without it, the standby that has read most.") var node: String?
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    private static let patience = Duration.seconds(15)
    private static let lease = Duration.seconds(3)

    func validate() throws { try WireValue.check("NODE", node) }

    func run() throws {
        var (endpoints, configuration) = try daemon.connection()
        configuration.nodes = .leader
        let start: ContinuousClock.Instant
        let before: ServerGreeting
        var others: [Endpoint] = []
        do throws(ClientFailure) {
            let client = try BlockingClient(to: endpoints, configuration: configuration, timeout: .seconds(20))
            guard let greeting = client.greeting, let name = greeting.node else {
                throw .refused("this daemon is by itself: it is no node of a cluster")
            }
            guard name != node else { throw .refused("\(name) leads already") }
            before = greeting
            start = .now
            others = try nodes(client)
            var reply = try client.request(.handover(node: node))
            // The leader hears of a standby that has just started within a lease.
            while reply.line["code"] == "unavailable", ContinuousClock.now - start < Self.lease {
                usleep(100_000)
                others = try nodes(client)
                reply = try client.request(.handover(node: node))
            }
            guard reply.isOK else { throw .refused(DaemonOptions.describe(reply.line)) }
        } catch {
            throw DaemonOptions.exit(after: error)
        }
        try report(next(of: others, behind: before, since: start, configuration), before, ContinuousClock.now - start)
    }

    /// The addresses of the other nodes.
    private func nodes(_ client: BlockingClient) throws(ClientFailure) -> [Endpoint] {
        let stats = try client.request(.stats)
        guard stats.isOK else { throw .refused(DaemonOptions.describe(stats.line)) }
        return (stats.line.tail?["cluster"]?["nodes"]?.array ?? []).compactMap { peer in
            peer["address"]?.string.flatMap { Endpoint($0) }
        }
    }

    /// Waits for a leader of a later term.
    private func next(
        of others: [Endpoint], behind before: ServerGreeting, since start: ContinuousClock.Instant,
        _ configuration: ClientConfiguration
    ) -> ServerGreeting? {
        var configuration = configuration
        configuration.nodes = .any
        while ContinuousClock.now - start < Self.patience {
            for endpoint in others {
                let client = try? BlockingClient(to: endpoint, configuration: configuration, timeout: .seconds(2))
                guard let greeting = client?.greeting, greeting.isLeading, (greeting.term ?? 0) > (before.term ?? 0)
                else { continue }
                return greeting
            }
            usleep(20_000)
        }
        return nil
    }

    private func report(_ next: ServerGreeting?, _ before: ServerGreeting, _ span: Duration) throws {
        let from = before.node ?? ""
        guard let next, let to = next.node else {
            throw ExitCode.failed(
                "\(from) leads no more, and no other node does yet; see telltale cluster status".harmless)
        }
        let milliseconds = Int64(span / .milliseconds(1))
        if output.json {
            Output.json(
                [
                    "from": .string(from), "to": .string(to), "term": next.term.map(JSON.integer) ?? .null,
                    "milliseconds": .integer(milliseconds),
                ])
        } else {
            Output.text("\(to) leads in term \(next.term ?? 0), \(milliseconds) ms after \(from) was asked")
        }
        guard let node, node != to else { return }
        throw ExitCode.failed("\(node) did not lead in time, and so \(to) does".harmless)
    }
}
