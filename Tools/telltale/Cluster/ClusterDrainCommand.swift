import ArgumentParser
import Glibc
import Kinds
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

struct ClusterDrainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain", abstract: "Takes a node out of service: its clients go to the other nodes.",
        discussion: """
            The node sends its clients away evenly over --over: those that only read first, then those that write, then \
            those that serve a kind. New clients are sent on at once, and no other node sends clients to it. The node goes on \
            running, and follows the log: stop it with SIGTERM when it is drained, or let it take clients again with --stop. \
            It needs the scope admin. The command waits until the clients are gone; without it the drain goes on all \
            the same. Exit codes: 0 drained, 1 not so, 69 the node does not answer.
            """)

    @Argument(help: "The node, where --connect names several.") var node: String?
    @Option(help: ArgumentHelp("The span over which its clients leave, 0s to 1h. Default: 20s.", valueName: "span"))
    var over: String?
    @Flag(help: "Ends the drain: the node takes clients again.") var stop = false
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    /// How long after the span the last clients may take to leave: one that does not read is cut off after 30 s.
    private static let patience = Duration.seconds(40)
    private static let pause: UInt32 = 100_000

    /// What the node says of itself in `STATS`.
    private struct Figures {
        /// Of those that it is to send away; `nil` = it does not drain.
        let leaving: Int64?
        let leads: Bool

        init(_ cluster: JSONObject) {
            leaving = cluster["leaving"]?.integer
            leads = cluster["role"]?.string == "leader"
        }
    }

    func validate() throws {
        try WireValue.check("NODE", node)
        guard !stop || over == nil else { throw ValidationError("--over and --stop exclude each other.") }
        _ = try span()
    }

    private func span() throws -> Milliseconds {
        guard let over else { return DrainCommand.usualSpan }
        let longest = DrainCommand.longestSpan
        guard let span = Milliseconds(duration: over), (0...longest.count).contains(span.count) else {
            throw ValidationError("--over is to be a span of at most an hour, such as 20s or 5m, not '\(over)'.")
        }
        return span
    }

    func run() throws {
        let span = try span()
        var (endpoints, configuration) = try daemon.connection()
        configuration.nodes = .any
        do throws(ClientFailure) {
            let (client, name) = try connected(to: endpoints.endpoints, configuration)
            if stop { try end(client, name) } else { try drain(client, name, over: span) }
        } catch {
            throw DaemonOptions.exit(after: error)
        }
    }

    /// Connects to the node that is meant.
    private func connected(
        to endpoints: [Endpoint], _ configuration: ClientConfiguration
    ) throws(ClientFailure) -> (BlockingClient, name: String) {
        guard node != nil || endpoints.count == 1 else {
            throw .refused("--connect names several nodes: say which one is meant, as in telltale cluster drain n2")
        }
        var names: [String] = []
        var failure: ClientFailure?
        for endpoint in endpoints {
            do throws(ClientFailure) {
                let client = try BlockingClient(to: endpoint, configuration: configuration, timeout: .seconds(20))
                guard let name = client.greeting?.node else {
                    throw .refused("the daemon at \(endpoint) is by itself: it is no node of a cluster")
                }
                if node == nil || node == name { return (client, name) }
                names.append(name)
            } catch {
                // Another node of the list may be the one.
                failure = failure ?? error
            }
        }
        if let failure, names.isEmpty { throw failure }
        throw .refused(
            "no node \(node ?? "") answers at the addresses of --connect, but \(names.joined(separator: ", "))")
    }

    private func end(_ client: BlockingClient, _ name: String) throws(ClientFailure) {
        let reply = try client.request(.drain(.stop))
        guard reply.isOK else { throw .refused(DaemonOptions.describe(reply.line)) }
        if output.json {
            Output.json(["node": .string(name), "draining": .bool(false)])
        } else {
            Output.text("\(name) takes clients again.".harmless)
        }
    }

    private func drain(_ client: BlockingClient, _ name: String, over span: Milliseconds) throws(ClientFailure) {
        let start = ContinuousClock.now
        var reply = try client.request(.drain(.start(over: span)))
        // A node that has just begun hears of the others within a lease.
        while reply.line["code"] == "unavailable", ContinuousClock.now - start < .seconds(3) {
            usleep(Self.pause)
            reply = try client.request(.drain(.start(over: span)))
        }
        guard reply.isOK else { throw .refused(DaemonOptions.describe(reply.line)) }
        let count = reply.line.integer("connections") ?? 0
        let asked = ContinuousClock.now
        let end = asked + .milliseconds(span.count) + Self.patience
        var figures = try self.figures(client)
        defer { ProgressLine.clear() }
        while let left = figures.leaving, left > 0 {
            guard ContinuousClock.now < end else {
                throw .refused(
                    "\(name) still has \(Self.clients(left)), and goes on with the drain; where no other node serves, they stay. See telltale cluster status"
                )
            }
            let fraction = count > 0 ? Double(count - left) / Double(count) : 0
            ProgressLine.show("\(name) has yet to send \(Self.clients(left)) to the other nodes", fraction: fraction)
            usleep(Self.pause)
            figures = try self.figures(client)
        }
        ProgressLine.clear()
        guard figures.leaving != nil else { throw .refused("somebody else has ended the drain of \(name)") }
        report(name, count, figures, Milliseconds(Int64((ContinuousClock.now - asked) / .milliseconds(1))))
    }

    private func figures(_ client: BlockingClient) throws(ClientFailure) -> Figures {
        let stats = try client.request(.stats)
        guard stats.isOK, let cluster = stats.line.tail?["cluster"]?.object else {
            throw .refused(DaemonOptions.describe(stats.line))
        }
        return Figures(cluster)
    }

    private func report(_ name: String, _ count: Int64, _ figures: Figures, _ span: Milliseconds) {
        if output.json {
            return Output.json([
                "node": .string(name), "draining": .bool(true), "connections": .integer(count),
                "milliseconds": .integer(span.count),
            ])
        }
        let what =
            count == 0 ? "had no clients" : "has sent \(Self.clients(count)) to the other nodes in \(Self.text(span))"
        Output.text("\(name) \(what). Stop it with SIGTERM, or end the drain with --stop.".harmless)
        guard figures.leads else { return }
        Output.text("\(name) leads: telltale cluster handover lets another node lead before.".harmless)
    }

    private static func clients(_ count: Int64) -> String { count == 1 ? "1 client" : "\(count) clients" }

    private static func text(_ span: Milliseconds) -> String {
        "\(span.count / 1000).\(span.count % 1000 / 100) s"
    }
}
