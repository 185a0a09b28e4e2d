internal import Replication
internal import TelltaleModel

/// Creates and checks the streams of a cluster, and asks each reachable server of the log whether it syncs.
///
/// Reports every fault, not only the first one. Something missing is not a fault yet: a log store that starts together
/// with the daemon has no leader for some seconds.
struct Preparation {
    let configuration: NATSLogConfiguration
    let names: Names
    /// The longest message that the server accepts, headers included.
    let longestMessage: Int
    /// Sends a request to JetStream and waits; `nil` for no answer.
    let ask: (_ subject: String, _ bytes: [UInt8]) -> [UInt8]?
    /// Whether a stream has answered a message that it must refuse.
    let probe: (_ subject: String) -> Bool
    /// What the server has denied so far.
    let denials: () -> [Denial]
    /// The `/varz` of a monitor; `nil` for no answer.
    let monitor: (MonitorAddress) -> [UInt8]?

    enum Outcome: Hashable {
        /// `warnings` are for the log.
        case ready(version: String, isSyncProven: Bool, warnings: [String])
        /// Try again.
        case later(String)
        case refused([String])
    }

    /// The oldest supported server. Older ones lost acknowledged data when a replica was removed.
    static let oldestVersion = (2, 12, 3)

    private struct Later: Error { var text: String }

    func run() -> Outcome {
        var faults: [String] = []
        do throws(Later) {
            var servers: [Replica] = []
            for purpose in Purpose.allCases {
                switch try stream(purpose) {
                case .failure(let fault): faults.append(fault.text)
                case .success(let answer):
                    faults += purpose.faults(of: answer, names: names)
                    if purpose == .log {
                        servers = Self.replicas(of: answer)
                        faults += try faultsOfHistory(answer)
                    }
                }
            }
            let proof = try prove(servers)
            faults += proof.faults + faultsOfMessages
            if faults.isEmpty { try probeStreams() }
            faults += faultsOfRights
            guard faults.isEmpty else { return .refused(faults) }
            return .ready(version: proof.version, isSyncProven: proof.isProven, warnings: proof.warnings)
        } catch {
            // A denied request is not answered either.
            guard denials().isEmpty else {
                try? probeStreams()
                return .refused(faults + faultsOfRights)
            }
            return faults.isEmpty ? .later(error.text) : .refused(faults + [error.text])
        }
    }

    // MARK: Rights and limits

    private var faultsOfMessages: [String] {
        let least = MessageLimits.leastByteCount + NATSRequest.headerByteCount
        guard longestMessage < least else { return [] }
        return [
            "the engine takes messages of at most \(longestMessage) bytes (max_payload), and a node needs \(least)"
        ]
    }

    /// Tries each stream, because a server may meet a denied publish with silence.
    private func probeStreams() throws(Later) {
        var silent: String?
        for subject in [names.logSubject, names.heartbeatSubject(of: configuration.node)] where !probe(subject) {
            silent = silent ?? subject
        }
        if let silent { throw Later(text: "the engine does not answer \(silent)") }
    }

    private var faultsOfRights: [String] {
        denials().map { "the engine does not let this node \($0.text) (permissions)" }
    }

    // MARK: Streams

    private struct Fault: Error { var text: String }

    private func answer(_ subject: String, _ text: String) throws(Later) -> NATSAnswer {
        guard let bytes = ask(subject, Array(text.utf8)), let answer = NATSAnswer(bytes) else {
            throw Later(text: "the engine does not answer \(subject)")
        }
        return answer
    }

    private func stream(_ purpose: Purpose) throws(Later) -> Result<NATSAnswer, Fault> {
        let name = purpose.stream(names)
        var found = try answer("$JS.API.STREAM.INFO.\(name)", "")
        if found.isStreamMissing {
            found = try answer("$JS.API.STREAM.CREATE.\(name)", purpose.configuration(names))
            // Another node has created it meanwhile.
            if found.errorCode == 10_058 { found = try answer("$JS.API.STREAM.INFO.\(name)", "") }
        }
        guard let code = found.errorCode else {
            guard found["config"]?.object != nil else {
                throw Later(text: "the engine tells nothing of the stream \(name)")
            }
            return .success(found)
        }
        let text = found.errorText ?? "error \(code)"
        switch code {
        case _ where found.isPassing: throw Later(text: "the stream \(name): \(text)")
        case 10_074:
            return .failure(
                Fault(text: "the engine is no cluster, and \(name) needs \(NATSLogConfiguration.replicaCount) servers"))
        default: return .failure(Fault(text: "the stream \(name) cannot be had: \(text)"))
        }
    }

    /// Reads the log's cluster and lineage from its first message.
    private func faultsOfHistory(_ answer: NATSAnswer) throws(Later) -> [String] {
        guard let first = answer["state"]?["first_seq"]?.integer, (answer["state"]?["messages"]?.integer ?? 0) > 0
        else {
            return []
        }
        let found = try self.answer("$JS.API.STREAM.MSG.GET.\(names.log)", "{\"seq\":\(first)}")
        guard let text = found["message"]?["data"]?.string, let bytes = Base64.bytes(text.utf8, .standard),
            let message = try? LogMessage(decoding: bytes)
        else { return [] }
        guard message.cluster == names.cluster else {
            return ["the stream \(names.log) is of the cluster \(String(message.cluster.prefix(64)).harmless)"]
        }
        guard let epoch = configuration.epoch, epoch != message.epoch else { return [] }
        return [
            "the stream \(names.log) is of epoch \(String(message.epoch, radix: 16)), and the folder of this node of \(String(epoch, radix: 16))"
        ]
    }

    // MARK: Servers

    struct Replica: Hashable, Sendable {
        var name: String
        var isOffline: Bool
    }

    static func replicas(of answer: NATSAnswer) -> [Replica] {
        guard let cluster = answer["cluster"]?.object else { return [] }
        var replicas: [Replica] = []
        if let leader = cluster["leader"]?.string, !leader.isEmpty {
            replicas.append(Replica(name: leader, isOffline: false))
        }
        for each in (cluster["replicas"]?.array ?? []).prefix(16) {
            guard let name = each["name"]?.string else { continue }
            replicas.append(Replica(name: name, isOffline: each["offline"]?.bool ?? false))
        }
        return replicas
    }

    private struct Proof {
        var version = ""
        var isProven = false
        var faults: [String] = []
        var warnings: [String] = []
    }

    private func prove(_ replicas: [Replica]) throws(Later) -> Proof {
        var proof = Proof()
        guard !configuration.monitors.isEmpty else {
            proof.warnings.append("the engine is trusted to sync before it acknowledges, and was not asked")
            return proof
        }
        let words = SyncProof(of: replicas, reported: SyncProof.queryMonitors(configuration.monitors, monitor))
        // The server may be starting.
        if let server = words.silent.first(where: { !$0.isOffline }) {
            throw Later(text: "no monitor tells of the engine's server \(server.shown), which has the log")
        }
        proof.version = words.version
        proof.faults = words.tooOld + (configuration.isSyncTrusted ? [] : words.unsynced)
        proof.warnings = words.silent.map(\.doubt) + (configuration.isSyncTrusted ? words.unsynced : [])
        proof.isProven = words.isProven
        return proof
    }

    static func isRecent(_ version: String) -> Bool {
        let parts = version.split(separator: "-")[0, default: ""].split(separator: ".").map { Int($0) ?? -1 }
        guard parts.count == 3, parts.allSatisfy({ $0 >= 0 }) else { return false }
        return (parts[0], parts[1], parts[2]) >= oldestVersion
    }
}

extension Array {
    fileprivate subscript(index: Int, default value: Element) -> Element {
        indices.contains(index) ? self[index] : value
    }
}
