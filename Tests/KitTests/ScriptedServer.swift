import Synchronization
import Testing

@testable import TelltaleKit

/// A server that follows a script, at the other end of a pipe: each connection is held by the next scene.
final class ScriptedServer: Transport {
    typealias Scene = @Sendable (Stage) async throws -> Void

    private let scenes: [Scene]
    private let state = Mutex(State())
    /// The largest number of bytes that the client receives at once.
    private let pieceLength: Int

    private struct State {
        var stages: [Stage] = []
        var tasks: [Task<Void, any Error>] = []
    }

    init(pieceLength: Int = .max, _ scenes: Scene...) {
        self.scenes = scenes
        self.pieceLength = pieceLength
    }

    var stages: [Stage] { state.withLock { $0.stages } }
    var connectionCount: Int { stages.count }

    func connect() async throws -> any TransportConnection {
        let stage = Stage(pieceLength: pieceLength)
        state.withLock { state in
            state.stages.append(stage)
            // Behind the last scene a server takes the connection, and says nothing.
            guard state.stages.count <= scenes.count else { return }
            let scene = scenes[state.stages.count - 1]
            state.tasks.append(
                Task {
                    defer { stage.toClient.end() }
                    try await scene(stage)
                })
        }
        return stage
    }

    /// Waits until the scenes that have begun are over.
    func finish() async throws {
        for task in state.withLock({ $0.tasks }) { try await task.value }
    }
}

/// One connection, as the server sees it.
final class Stage: TransportConnection {
    struct Surprise: Error, CustomStringConvertible {
        let description: String
    }

    let toClient: BytePipe
    private let toServer = BytePipe(pieceLength: .max)
    private let state = Mutex<(rest: [UInt8], heard: [String])>(([], []))

    init(pieceLength: Int) {
        toClient = BytePipe(pieceLength: pieceLength)
    }

    static let greeting =
        "TELLTALE 1 epoch=0123456789abcdef seq=7 now=1795556623399 hb=20000 max_line=65536 auth=none server=0.1.0"

    /// The lines of the client so far.
    var heard: [String] { state.withLock { $0.heard } }

    func say(_ lines: String...) { toClient.write(Array(lines.map { $0 + "\n" }.joined().utf8)) }

    func say(bytes: String) { toClient.write(Array(bytes.utf8)) }

    /// Waits for the next line, which has this verb, and returns its `id=`.
    @discardableResult
    func hear(_ verb: String) async throws -> String {
        guard let line = await nextLine() else { throw Surprise(description: "\(verb) was due, and the end came") }
        guard line.hasPrefix("\(verb) ") else { throw Surprise(description: "\(verb) was due, not: \(line)") }
        return line.split(separator: " ").first { $0.hasPrefix("id=") }.map { String($0.dropFirst(3)) } ?? ""
    }

    func hearEnd() async throws {
        if let line = await nextLine() { throw Surprise(description: "the end was due, not: \(line)") }
    }

    /// Waits until the client hangs up, whatever it says.
    func waitForEnd() async { while await nextLine() != nil {} }

    func greet(_ greeting: String = Stage.greeting) async throws {
        say(greeting)
        say("OK id=\(try await hear("HELLO")) conn=c1 hb=20000")
    }

    /// Greets, and answers a subscription of one row.
    func show(_ rows: String..., cursor: String, greeting: String = Stage.greeting) async throws {
        try await greet(greeting)
        say("OK id=\(try await hear("SUB")) sub=1 view=full")
        for row in rows { say(row) }
        say("LIVE sub=1 cur=\(cursor)")
    }

    private func nextLine() async -> String? {
        while true {
            let line: String? = state.withLock { state in
                guard let end = state.rest.firstIndex(of: 0x0A) else { return nil }
                let line = String(decoding: state.rest[..<end], as: UTF8.self)
                state.rest.removeSubrange(...end)
                state.heard.append(line)
                return line
            }
            if let line { return line }
            let bytes = await toServer.read()
            if bytes.isEmpty { return nil }
            state.withLock { $0.rest += bytes }
        }
    }

    // The client's end.

    /// The end of a task that waits here wakes nothing, as with Network.framework: the end of the connection does.
    func receive() async throws -> [UInt8] { await Task { await toClient.read() }.value }
    func send(_ bytes: [UInt8]) async throws { toServer.write(bytes) }
    func close() {
        toClient.end()
        toServer.end()
    }
}

/// Bytes on their way in one direction, for one reader.
final class BytePipe: Sendable {
    private let state = Mutex<(bytes: [UInt8], isOver: Bool)>(([], false))
    private let news = Wakeup()
    private let pieceLength: Int

    init(pieceLength: Int) {
        self.pieceLength = pieceLength
    }

    /// Bytes that are not read yet.
    var count: Int { state.withLock { $0.bytes.count } }

    func write(_ bytes: [UInt8]) {
        state.withLock { if !$0.isOver { $0.bytes += bytes } }
        news.signal()
    }

    func end() {
        state.withLock { $0.isOver = true }
        news.signal()
    }

    /// The next bytes; empty at the end, and when the task is cancelled.
    func read() async -> [UInt8] {
        while true {
            let (bytes, isOver) = state.withLock { state in
                let piece = Array(state.bytes.prefix(pieceLength))
                state.bytes.removeFirst(piece.count)
                return (piece, state.isOver)
            }
            if !bytes.isEmpty || isOver || Task.isCancelled { return bytes }
            await news.wait()
        }
    }
}

extension Telltale {
    /// A client that does not wait long.
    static func test(
        over transport: any Transport, token: (@Sendable () async throws -> String)? = nil,
        options change: (inout Options) -> Void = { _ in }
    ) throws -> Telltale {
        var options = Options()
        options.client = "test/1"
        options.timeout = nil
        options.backoff = .milliseconds(1) ... .milliseconds(2)
        change(&options)
        return try Telltale(over: transport, options: options, token: token)
    }
}

/// A change as a short text.
func describe(_ change: Change<FullRow>) -> String {
    switch change {
    case .update(let update):
        "\(update.isSnapshot ? "snap" : "upd") \(update.key) \(update.rev)"
            + (update.skipped > 0 ? " skipped \(update.skipped)" : "") + (update.why.map { " \($0)" } ?? "")
    case .removal(let removal): "del \(removal.key) \(removal.rev) \(removal.why)"
    case .milestone(let milestone): "mile \(milestone.key) \(milestone.state)"
    case .alert(let alert): "alert \(alert.key) \(alert.title ?? "")"
    case .changed(let rev, let count): "changed \(rev) \(count.map { String($0) } ?? "many")"
    case .live: "live"
    case .reset(let why): "reset \(why)"
    case .connected: "connected"
    case .disconnected: "disconnected"
    }
}

/// The changes up to the first one that `isLast`.
func changes<Activity>(
    _ iterator: inout Changes<Activity>.AsyncIterator, until isLast: (Change<Activity>) -> Bool
) async throws -> [Change<Activity>] {
    var found: [Change<Activity>] = []
    while let change = try await iterator.next() {
        found.append(change)
        if isLast(change) { return found }
    }
    Issue.record("the follower ended after \(found)")
    return found
}

extension Change {
    var isLive: Bool { if case .live = self { true } else { false } }
    var isConnection: Bool {
        switch self {
        case .connected, .disconnected: true
        case .update, .removal, .milestone, .alert, .changed, .live, .reset: false
        }
    }
}
