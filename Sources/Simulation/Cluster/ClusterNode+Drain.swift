import Hub
import Server

// An operator takes this node out of service, and back.
extension ClusterNode {
    /// - Parameter span: In which its clients are sent to other nodes, in milliseconds.
    func drain(over span: Int64) {
        ask("DRAIN over=\(cluster.bug == .drainedAtOnce ? 0 : span)") { [self] reply in
            cluster.trace?(cluster.now, index, "is asked to drain over \(span) ms: \(reply)")
            guard let count = reply.firstRange(of: " connections=").flatMap({ Int64(reply[$0.upperBound...]) }) else {
                return
            }
            cluster.checks.beginsDrain(of: self, interval: span / max(1, count))
        }
    }

    func endDrain() {
        guard server?.isDraining == true else { return }
        ask("DRAIN do=stop") { [self] _ in
            cluster.trace?(cluster.now, index, "drains no more")
            cluster.checks.endsDrain(of: self)
        }
    }

    /// The operator's connection ends with the reply.
    private func ask(_ line: String, _ onReply: @escaping (String) -> Void) {
        guard isUp, !isPaused, !isStopped, let id = server?.connected(at: hubTime) else { return }
        operators[id] = onReply
        _ = server?.received(Array((line + "\n").utf8).span, from: id, at: hubTime)
        perform()
    }

    /// Writes to an operator.
    func flush(toOperator id: SessionID, _ onReply: (String) -> Void) {
        var bytes: [UInt8] = []
        guard server?.output(for: id, at: hubTime, to: &bytes) != nil else { return }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard let reply = lines.first(where: { $0.hasPrefix("OK") || $0.hasPrefix("ERR") }) else { return }
        operators[id] = nil
        server?.disconnected(id)
        onReply(String(reply))
    }
}
