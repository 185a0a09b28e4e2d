import Hub
import Journal
import Server
import TelltaleModel

// Answers to a device that asks now: for checks at rest, when no time passes.
extension SimulatedDaemon {
    /// The answers to a device that has just arrived, at once and without a network.
    func answers(to lines: [String]) -> [UInt8] {
        guard isUp, let id = server?.connected(at: now) else { return [] }
        let (lines, isAdded) = world.principals?.introducing(lines) ?? (lines, false)
        // No time passes while it is asked, so there is no pace either.
        let pacer = server?.pacer
        server?.pacer = FlushPacer(.fixed(.zero))
        defer { if let pacer { server?.pacer = pacer } }
        _ = server?.received(Array(lines.map { $0 + "\n" }.joined().utf8).span, from: id, at: now)
        var bytes: [UInt8] = []
        for _ in 0..<10_000 {
            turnServer()
            let isOver = performAtOnce(for: id, to: &bytes)
            if isOver { break }
        }
        server?.disconnected(id)
        return isAdded ? Self.withoutFirstReply(bytes) : bytes
    }

    private static func withoutFirstReply(_ bytes: [UInt8]) -> [UInt8] {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if let place = lines.firstIndex(where: { $0.starts(with: "OK conn=".utf8) }) { lines.remove(at: place) }
        return Array(lines.joined(separator: [UInt8(ascii: "\n")]))
    }

    /// - Returns: Whether there was nothing to do.
    private func performAtOnce(for id: SessionID, to bytes: inout [UInt8]) -> Bool {
        var isOver = true
        while let action = nextAction() {
            switch action {
            case .append(let part, let isLast):
                isOver = false
                records += part
                guard isLast else { continue }
                disk.begin(records)
                records = []
                let outcome = disk.finish()
                server?.synced(
                    outcome == .full ? .full : .durable(duration: .zero, wait: .zero), at: now)
            case .flush:
                while let next = server?.nextReady(at: now) {
                    isOver = false
                    var piece: [UInt8] = []
                    guard let output = server?.output(for: next, at: now, to: &piece) else { continue }
                    if !output.sharedRange.isEmpty { piece += (server?.sharedRows ?? [])[output.sharedRange] }
                    if next == id { bytes += piece } else { deliver(piece, output.disposition, to: next) }
                }
                server?.flushed(at: now)
            case .readHistory:
                isOver = false
                perform(action)
            case .wake(let wake):
                schedule(wake)
            default: perform(action)
            }
        }
        return isOver
    }

    /// The answers of a daemon that has read `contents` to `lines`.
    func answers(
        to lines: [String], after contents: InMemoryJournal.Contents
    ) throws -> (bytes: [UInt8], stateHash: UInt64) {
        let hub = try recovered(from: InMemoryJournal(contents))
        let stateHash = hub.stateHash
        return (LoneServer.answers(of: hub, to: lines, at: now), stateHash)
    }
}
