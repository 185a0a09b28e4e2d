import Foundation
import TestSupport
import Testing

/// Holds one conversation with a daemon of its own. Blocking.
///
/// The daemon's time passes only while the runner waits for a line, so that no deadline of the daemon depends on the speed of the
/// machine. A cluster has more than one daemon, and the machine's time.
final class TranscriptRunner {
    struct Difference: Error, CustomStringConvertible {
        let description: String
    }

    private let transcript: Transcript
    /// Holds the folder of the file of principals.
    private let principals: TemporaryFolder
    /// Holds the folder, which goes with it.
    private let firstDaemon: DaemonProcess
    private var daemon: DaemonProcess
    /// Of the daemon; `nil` in a cluster.
    private var time: HeldTime?
    /// Of a cluster, beside the first one.
    private var others: [DaemonProcess] = []
    private var peers: [String: Peer] = [:]
    private var records: [Peer.Record] = []
    /// Connections whose end was read, or that can say nothing more.
    private var silenced: Set<String> = []
    /// The values that placeholders have remembered.
    private var names: [String: String] = [:]

    /// - Parameter follows: The conversation is held with a node that follows another one.
    init(_ transcript: Transcript, withFollower follows: Bool = false) throws {
        var transcript = transcript
        if follows { transcript.options += Self.ofCluster }
        self.transcript = transcript
        let folder = try TemporaryFolder()
        principals = folder
        let isCluster = transcript.options.contains("--cluster")
        time = isCluster ? nil : try HeldTime()
        let port = isCluster ? try freePort() : 0
        firstDaemon = try DaemonProcess(
            try Self.options(of: transcript, in: folder, port), port: port, limits: time?.limits)
        daemon = firstDaemon
        if isCluster { try daemon.waitUntilLogged("this node leads") }
        try time?.connect()
        if follows { try follow() }
    }

    private static let ofCluster = [
        "--cluster", "shop", "--node", "n1", "--advertise", "", "--engine", "file:log", "--lease", "1500ms",
        "--heartbeat",
        "20s",
    ]

    /// Starts a node that follows the first one, and goes on with it.
    private func follow() throws {
        try start(node: "n2")
        daemon = others[0]
        let deadline = Date.now.addingTimeInterval(patience)
        while Date.now < deadline {
            // Connections end while it begins with the history that it reads.
            if case .line(let greeting) = try Peer(port: daemon.port).next(), greeting.hasSuffix(" serves=1") { return }
            usleep(20_000)
        }
        throw Difference(description: "n2 does not forward: \(daemon.standardError)")
    }

    /// What a node adds to the words of a server by itself.
    private static func plain(_ line: String) -> String {
        line.replacing(#/ node=n2 role=standby leader=[^ ]+ serves=1/#, with: "").replacing(#/ term=[0-9]+$/#, with: "")
    }

    /// The options, with a file of principals that its owner alone can read: git keeps no such modes. A node of a cluster
    /// advertises the port that it has.
    private static func options(
        of transcript: Transcript, in folder: TemporaryFolder, _ port: UInt16
    ) throws -> [String] {
        var options = transcript.options
        if let place = options.firstIndex(of: "--advertise") { options[place + 1] = "127.0.0.1:\(port)" }
        if let place = options.firstIndex(of: "file:log") { options[place] = "file:\(folder.path("log"))" }
        guard let place = options.firstIndex(of: "--auth") else { return options }
        let copy = folder.url.appending(path: options[place + 1])
        if !FileManager.default.fileExists(atPath: copy.path) {
            try FileManager.default.copyItem(
                at: repository.appending(path: "Protocols/Line/\(options[place + 1])"), to: copy)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: copy.path)
        options[place + 1] = copy.path
        return options
    }

    /// The lines of each connection.
    ///
    /// Without those in which bytes were sent that need not be lines.
    var conversations: [[Peer.Line]] { records.filter { !$0.hasBytes }.map(\.lines) }

    func run() throws {
        var steps = transcript.steps[...]
        while let step = steps.popFirst() {
            do {
                try perform(step, &steps)
            } catch {
                let log = daemon.standardError.split(separator: "\n").suffix(5).joined(separator: "\n")
                throw Difference(description: "\(transcript.name):\(step.number): \(error)\n\(log)")
            }
        }
        for (connection, peer) in peers.sorted(by: { $0.key < $1.key }) where !silenced.contains(connection) {
            try peer.send("PING")
            let received = try nextLine(of: peer, expecting: "PONG")
            guard received == .line("PONG") else {
                throw Difference(description: "\(transcript.name): nobody expected S\(connection): \(received)")
            }
        }
    }

    /// - Parameter rest: The steps behind this one. Steps that are performed together with it are removed.
    private func perform(_ step: Transcript.Step, _ rest: inout ArraySlice<Transcript.Step>) throws {
        switch step.action {
        case .send(var text, _):
            // Consecutive lines of one client are sent in one piece, so that one batch decides them.
            while let next = rest.first, next.connection == step.connection, case .send(let more, _) = next.action {
                text += "\n" + more
                rest.removeFirst()
            }
            // The connection is opened first: its greeting gives the value of `<now+N>`.
            let peer = try peer(of: step)
            try peer.send(fill(text))
        case .sendBytes(let bytes): try peer(of: step).send(bytes: bytes)
        case .halfClose:
            try peer(of: step).socket.shutdownWrite()
            silenced.insert(step.connection)
        case .close: peers[step.connection] = nil
        case .terminate: daemon.send(SIGTERM)
        case .restart(let options): try restart(options)
        case .fill(let isFull): try daemon.setDiskFull(isFull)
        case .withdraw(let kind): try withdraw(kind)
        case .add(let kind): try add(kind)
        case .node(let name): try add(node: name)
        case .expectEnd:
            switch try nextLine(of: peer(of: step), expecting: "") {
            case .end, .reset: silenced.insert(step.connection)
            case let other: throw Difference(description: "expected the end, got \(other)")
            }
        case .expect(let text):
            let received = try nextLine(of: peer(of: step), expecting: text)
            guard case .line(let line) = received else {
                throw Difference(description: "expected \(text), got \(received)")
            }
            let said = daemon === firstDaemon ? line : Self.plain(line)
            guard LinePattern(text: text).matches(said, &names) else {
                throw Difference(description: "expected \(text)\n     got \(line)")
            }
        }
    }

    private func restart(_ options: [String]) throws {
        daemon.send(SIGTERM)
        // It waits for its clients, by its clock.
        while daemon.waitForExit(seconds: 0) == nil, try time?.step() == true {}
        guard daemon.waitForExit() == 0 else { throw Difference(description: "the daemon does not stop") }
        (peers, silenced) = ([:], [])
        time = try time.map { _ in try HeldTime() }
        daemon = try DaemonProcess(transcript.options + options, in: daemon.folder, limits: time?.limits)
        try time?.connect()
    }

    private func withdraw(_ kind: String) throws {
        try FileManager.default.removeItem(at: firstDaemon.folder.appending(path: "kinds/\(kind).json"))
        try readKindsAgain { !$0.contains(kind) }
    }

    private func start(node name: String) throws {
        let port = try freePort()
        var options = try Self.options(of: transcript, in: principals, port)
        guard let place = options.firstIndex(of: "--node") else { throw Difference(description: "no --node") }
        options[place + 1] = name
        others.append(try DaemonProcess(options, port: port))
    }

    /// Starts another node, and waits until the first one has heard that it serves.
    private func add(node name: String) throws {
        try start(node: name)
        let peer = try Peer(port: daemon.port)
        let deadline = Date.now.addingTimeInterval(patience)
        while Date.now < deadline {
            try peer.send("STATS")
            guard case .line(let line) = try nextLine(of: peer, expecting: "STATS") else { break }
            if line.contains("\"node\":\"\(name)\""), line.contains("\"serves\":true") { return }
            usleep(20_000)
        }
        throw Difference(description: "\(name) is not heard: \(others[others.count - 1].standardError)")
    }

    private func add(_ kind: String) throws {
        try FileManager.default.copyItem(
            at: repository.appending(path: "Protocols/Kinds/widgets/\(kind).json"),
            to: firstDaemon.folder.appending(path: "kinds/\(kind).json"))
        try readKindsAgain { $0.contains(kind) }
    }

    /// The kinds of a cluster are those of the node that leads; another one has read them when their names are as they should be.
    private func readKindsAgain(_ isRead: ([String]) -> Bool) throws {
        let leader = others.isEmpty ? daemon : firstDaemon
        try leader.readKindsAgain()
        guard daemon !== leader else { return }
        let peer = try Peer(port: daemon.port)
        let deadline = Date.now.addingTimeInterval(patience)
        while Date.now < deadline {
            try peer.send("KINDS")
            var names: [String] = []
            while case .line(let line) = try nextLine(of: peer, expecting: "KINDS"), !line.hasPrefix("OK") {
                names += line.split(separator: " ").filter { $0.hasPrefix("name=") }.map { String($0.dropFirst(5)) }
            }
            if isRead(names) { return }
            usleep(20_000)
        }
        throw Difference(description: "the node has not read the kinds")
    }

    /// Heartbeats come when they come: they are expected by name or passed over.
    private func nextLine(of peer: Peer, expecting text: String) throws -> Peer.Incoming {
        let deadline = Date.now.addingTimeInterval(patience)
        var steps = 0
        while true {
            let received = peer.next(until: time == nil ? deadline : .now)
            switch received {
            case .line(let line) where line.hasPrefix("MARK ") && !text.hasPrefix("MARK "): continue
            case .line, .end, .reset: return received
            case .silence:
                guard steps < Self.stepLimit, try time?.step() == true else {
                    return time == nil ? received : peer.next(until: deadline)
                }
                steps += 1
            }
        }
    }

    /// Two minutes of the daemon's time: far more than a transcript waits for a line.
    private static let stepLimit = 12_000

    /// The connection of a step, opened at its first one. A conversation that does not begin with the greeting has it
    /// read beforehand.
    private func peer(of step: Transcript.Step) throws -> Peer {
        if let peer = peers[step.connection] { return peer }
        let peer = try Peer(port: daemon.port)
        peers[step.connection] = peer
        records.append(peer.record)
        if case .expect = step.action { return peer }
        guard case .line(let greeting) = peer.next() else { throw Difference(description: "no greeting") }
        for word in greeting.split(separator: " ") where word.hasPrefix("now=") {
            names["now"] = String(word.dropFirst(4))
        }
        return peer
    }

    /// Fills in remembered values and `<now+N>`: the server's clock at the last greeting plus N seconds, as Unix
    /// seconds; `<ms+N>` is the same in milliseconds.
    private func fill(_ text: String) -> String {
        let now = names["now"].flatMap { Int64($0) } ?? 0
        return LinePattern.filled(text, names)
            .replacing(/<now([+-][0-9]+)>/) { "\(now / 1000 + (Int64($0.output.1) ?? 0))" }
            .replacing(/<ms([+-][0-9]+)>/) { "\(now + (Int64($0.output.1) ?? 0) * 1000)" }
    }
}

struct TranscriptTests {
    @Test("Protocols/Line/transcripts", arguments: Transcript.all)
    func transcript(_ transcript: Transcript) async throws {
        let conversations = try await onOwnThread {
            let runner = try TranscriptRunner(transcript)
            try runner.run()
            return runner.conversations
        }
        // The client's protocol machine understands what was really said, and apps find their rows in it.
        for conversation in conversations {
            var replay = ClientReplay()
            try replay.run(conversation)
            #expect(Self.repeatedRow(in: conversation) == nil)
        }
    }

    /// The first row that a subscription is sent again as it was: two rows of a key that follow each other differ in their bytes
    /// or in `rev`, unless the client said something in between.
    private static func repeatedRow(in conversation: [Peer.Line]) -> String? {
        var last: [String: String] = [:]
        for line in conversation {
            guard line.isServer else {
                last = [:]
                continue
            }
            let words = line.text.prefix { $0 != "{" }.split(separator: " ")
            guard words.first == "UPD" || words.first == "SNAP" else { continue }
            func word(_ name: String) -> Substring { words.first { $0.hasPrefix(name + "=") } ?? "" }
            let row = "\(word("rev")) \(line.text.drop { $0 != "{" })"
            if last.updateValue(row, forKey: "\(word("sub")) \(word("key"))") == row { return line.text }
        }
        return nil
    }

    /// What a node that follows says otherwise, as the protocol's page says: figures, cursors that are ahead of it, and its end. It
    /// needs no disk.
    private static let ofOneServer: Set<String> = [
        "06-future-cursor.txt", "07-look.txt", "19-drain.txt", "26-selection.txt", "32-full-disk.txt",
    ]

    @Test(
        "Protocols/Line/transcripts, with a node that follows", .nightly,
        arguments: Transcript.all.filter { !ofOneServer.contains($0.name) && !$0.options.contains("--cluster") })
    func follower(_ transcript: Transcript) async throws {
        try await onOwnThread { try TranscriptRunner(transcript, withFollower: true).run() }
    }

    @Test func `the transcripts are there, and every one can be read`() {
        #expect(Transcript.all.count >= 15 && Transcript.unreadable.isEmpty, "\(Transcript.unreadable)")
    }
}
