import ArgumentParser
import Foundation
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

struct ClusterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster", abstract: "The nodes of a cluster.",
        subcommands: [
            ClusterStatusCommand.self, ClusterHandoverCommand.self, ClusterDrainCommand.self, ClusterInitCommand.self,
            ClusterLeaveCommand.self, ClusterRestoreCommand.self,
        ])
}

/// `telltale cluster status`: each node, whether it leads or not.
struct ClusterStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Roles, screens and lag of each node.",
        discussion: """
            Asks each address of --connect, and those that the nodes name. SCREENS counts the connections of clients, and LAG \
            the messages of the log that a node has yet to read. What a node does not say itself is said by the others, as of \
            its last beat; - is not known. Exit codes: 0 one node leads and a standby keeps \
            up, 1 not so, 69 no node answers.
            """)

    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    /// A standby that lags by more messages than this does not keep up.
    private static let lagLimit: Int64 = 1_000

    private struct Node {
        var address: String
        /// `nil` if it does not answer.
        var figures: JSONObject?
        var reason = ""

        var cluster: JSONObject? { figures?["cluster"]?.object }
        /// What the others say of a node that does not answer.
        var reported: JSONObject?

        var name: String { cluster?["node"]?.string ?? reported?["node"]?.string ?? "-" }
        var role: String { figures == nil ? "unreachable" : cluster?["role"]?.string ?? "by itself" }
        var isDraining: Bool { (cluster ?? reported)?["draining"]?.bool == true }
        func number(_ name: String) -> Int64? { (cluster ?? reported)?[name]?.integer }
        /// Without the one of this command.
        var connections: Int64? { number("connections").map { cluster == nil ? $0 : max(0, $0 - 1) } }
    }

    func run() throws {
        let (endpoints, configuration) = try daemon.connection()
        var nodes: [Node] = []
        var waiting = endpoints.endpoints
        var asked: Set<Endpoint> = []
        while !waiting.isEmpty, asked.count < 2 * EndpointList.countLimit {
            let endpoint = waiting.removeFirst()
            guard asked.insert(endpoint).inserted else { continue }
            let node = ask(endpoint, configuration)
            // --connect may name a node by another address than its own.
            if node.cluster != nil, nodes.contains(where: { $0.cluster != nil && $0.name == node.name }) { continue }
            nodes.append(node)
            for peer in node.cluster?["nodes"]?.array ?? [] {
                if let address = peer["address"]?.string.flatMap({ Endpoint($0) }) { waiting.append(address) }
            }
        }
        Self.complete(&nodes)
        let isRedundant = Self.isRedundant(nodes)
        if output.json { showJSON(nodes, isRedundant) } else { show(nodes, isRedundant) }
        guard nodes.contains(where: { $0.figures != nil }) else { throw ExitCode.noDaemon }
        guard isRedundant else { throw ExitCode.failure }
    }

    private func ask(_ endpoint: Endpoint, _ configuration: ClientConfiguration) -> Node {
        var configuration = configuration
        configuration.nodes = .any
        var node = Node(address: endpoint.description)
        do throws(ClientFailure) {
            let client = try BlockingClient(to: endpoint, configuration: configuration, timeout: .seconds(5))
            let reply = try client.request(.stats)
            guard reply.isOK else { throw ClientFailure.refused(DaemonOptions.describe(reply.line)) }
            node.figures = reply.line.tail
        } catch {
            node.reason = error.description
        }
        return node
    }

    /// Adds what the others say of the nodes that do not answer: the leader, which hears the beats of all, if there is one.
    private static func complete(_ nodes: inout [Node]) {
        let known = Set(nodes.filter { $0.cluster != nil }.map(\.name))
        let leader = nodes.first { $0.role == "leader" }
        guard let observer = leader ?? nodes.first(where: { $0.cluster != nil }) else { return }
        for place in nodes.indices where nodes[place].figures == nil {
            let peer = observer.cluster?["nodes"]?.array?.first {
                $0["address"]?.string.flatMap { Endpoint($0)?.description } == nodes[place].address
            }
            guard var reported = peer?.object, let name = reported["node"]?.string, !known.contains(name) else {
                continue
            }
            if let position = reported["position"]?.integer, let newest = observer.number("position") {
                reported["lag"] = .integer(max(0, newest - position))
            }
            nodes[place].reported = reported
        }
    }

    private static func isRedundant(_ nodes: [Node]) -> Bool {
        let standbys = nodes.filter {
            $0.role == "standby" && ($0.number("lag") ?? .max) <= lagLimit && denials(of: $0).isEmpty
        }
        return nodes.count { $0.role == "leader" } == 1 && !standbys.isEmpty
    }

    /// The permissions that the log store denies a node.
    private static func denials(of node: Node) -> [String] {
        node.cluster?["engine"]?["denied"]?.array?.compactMap(\.string) ?? []
    }

    /// Nodes that answer, but not at the address that they advertise to clients.
    private static func strays(_ nodes: [Node]) -> [(node: Node, advertised: String)] {
        let unreachable = Set(nodes.filter { $0.figures == nil }.map(\.address))
        var advertised: [String: String] = [:]
        // The leader's report is the newest one.
        for reported in (nodes.filter { $0.role != "leader" } + nodes.filter { $0.role == "leader" }).compactMap(
            \.cluster)
        {
            for peer in (reported["nodes"]?.array ?? []) + [reported["leader"] ?? .null] {
                guard let name = peer["node"]?.string, let address = peer["address"]?.string else { continue }
                advertised[name] = Endpoint(address)?.description ?? address
            }
        }
        return nodes.compactMap { node in
            guard node.cluster != nil, let address = advertised[node.name], unreachable.contains(address) else {
                return nil
            }
            return (node, address)
        }
    }

    // MARK: What is shown

    private func show(_ nodes: [Node], _ isRedundant: Bool) {
        let head = ["NODE", "ADDRESS", "ROLE", "SCREENS", "LAG", "POSITION", "TERM", "RULES", "ENGINE"]
        Output.table([head] + nodes.map(Self.row))
        Output.text(
            isRedundant
                ? "One node leads, and another one can take over."
                : "This cluster is not redundant: it takes one leader, and a standby that keeps up.")
        for node in nodes where node.isDraining {
            let left = node.number("leaving") ?? 0
            let what =
                left > 0
                ? "sends its clients to the other nodes; \(left) of them are left"
                : "has sent its clients to the other nodes, and takes none"
            Output.text("\(node.name) \(what). telltale cluster drain \(node.name) --stop ends that.".harmless)
        }
        for node in nodes where !Self.denials(of: node).isEmpty {
            let what = Self.denials(of: node).joined(separator: ", ")
            Output.text("The engine does not let \(node.name) \(what): see the permissions of its user.".harmless)
        }
        for (node, address) in Self.strays(nodes) {
            Output.text(
                "\(node.name) answers at \(node.address). At \(address), where it sends clients, nothing answers from here: see its --advertise and --listen."
                    .harmless)
        }
        if let text = Self.mostAdvanced(nodes) { Output.text(text) }
    }

    /// If nobody leads: the folder to restore from, among the nodes that answer.
    private static func mostAdvanced(_ nodes: [Node]) -> String? {
        guard !nodes.contains(where: { $0.role == "leader" }),
            let node = nodes.filter({ $0.cluster?["position"] != nil }).max(by: {
                $0.number("position") ?? 0 < $1.number("position") ?? 0
            })
        else { return nil }
        return
            "Nobody leads. \(node.name.harmless) has read the most of the log: \(node.number("position") ?? 0) messages."
    }

    private static func row(_ node: Node) -> [String] {
        func number(_ name: String) -> String { node.number(name).map { String($0) } ?? "-" }
        var logStore = node.reason
        if let reported = node.cluster?["engine"] {
            logStore = ["name", "version", "sync"].compactMap { reported[$0]?.string }.filter { !$0.isEmpty }.joined(
                separator: " ")
        }
        return [
            node.name, node.address, node.isDraining ? "\(node.role), draining" : node.role,
            node.connections.map { String($0) } ?? "-",
            number("lag"), number("position"), number("term"),
            node.figures?["rules"]?.integer.map { String($0) } ?? "-", logStore,
        ]
    }

    private func showJSON(_ nodes: [Node], _ isRedundant: Bool) {
        let strays = Dictionary(Self.strays(nodes).map { ($0.node.name, $0.advertised) }, uniquingKeysWith: { $1 })
        for node in nodes {
            var object = JSONObject()
            object["address"] = .string(node.address)
            object["node"] = .string(node.name)
            object["role"] = .string(node.role)
            object["connections"] = node.connections.map(JSON.integer)
            object["lag"] = node.number("lag").map(JSON.integer)
            if node.connections != nil { object["draining"] = .bool(node.isDraining) }
            object["rules"] = node.figures?["rules"]
            object["cluster"] = node.cluster.map(JSON.object)
            if let address = strays[node.name] { object["unreachable"] = .string(address) }
            if !node.reason.isEmpty { object["reason"] = .string(node.reason) }
            Output.json(.object(object))
        }
        Output.json(["redundant": .bool(isRedundant)])
    }
}
