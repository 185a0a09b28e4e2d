import TelltaleClient
import TelltaleModel
import TelltaleWire

/// A client and the server's side of a conversation, without a socket.
struct Script {
    var client: ClientProtocol
    var now = Timestamp(milliseconds: 1_000_000)
    /// Everything that the client reported, as text.
    var received: [String] = []
    var pieceLength = Int.max

    init(
        pieceLength: Int = .max, _ configure: (inout ClientConfiguration) -> Void = { _ in }
    ) {
        var configuration = ClientConfiguration(name: "test/1", eventIDPrefix: "run")
        configure(&configuration)
        client = ClientProtocol(configuration)
        self.pieceLength = pieceLength
        client.start()
    }

    static let greeting =
        "TELLTALE 1 epoch=00000000000000aa seq=1 now=1763719200123 hb=20000 max_line=65536 auth=none server=0.1.0"

    /// Connects, greets and answers `HELLO`. Returns the lines that the client sent after it.
    @discardableResult
    mutating func introduce(greeting: String = Script.greeting) -> [String] {
        client.connected(at: now)
        server(greeting)
        let hello = sent()
        server("OK id=\(hello.first.map(id) ?? "") conn=c1")
        return sent()
    }

    mutating func server(_ lines: String...) {
        let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
        var start = 0
        while start < bytes.count {
            let end = pieceLength < bytes.count - start ? start + pieceLength : bytes.count
            client.received(bytes.span.extracting(start..<end), at: now)
            start = end
        }
        collect()
    }

    mutating func drop(random: UInt64 = 0) {
        client.disconnected(reason: "dropped", at: now, random: random)
        collect()
    }

    /// Drops the connection, and waits until a new one is wanted.
    mutating func dropAndWait() {
        drop()
        pass(.seconds(20))
    }

    mutating func pass(_ span: Milliseconds) {
        now = now + span
        client.deadlineReached(at: now)
        collect()
    }

    mutating func sent(limit: Int = .max) -> [String] {
        let bytes = client.takeOutput(limit: limit, at: now)
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private mutating func collect() {
        received += client.takeEvents().map(describe)
    }
}

func id(of line: String) -> String {
    line.split(separator: " ").first { $0.hasPrefix("id=") }.map { String($0.dropFirst(3)) } ?? ""
}

func event(_ key: String, _ type: String) throws -> EventCommand {
    EventCommand(key: try Key(key).unwrapped, type: type)
}

func key(_ text: String) throws -> Key { try Key(text).unwrapped }

func subscribe(_ pattern: String) throws -> SubscribeCommand {
    SubscribeCommand(pattern: try Pattern(pattern).unwrapped)
}

struct NothingThere: Error {}

extension Optional {
    var unwrapped: Wrapped {
        get throws {
            guard let value = self else { throw NothingThere() }
            return value
        }
    }
}

func describe(_ event: ClientEvent) -> String {
    switch event {
    case .ready(let greeting, _): "ready \(greeting.epoch)"
    case .refused(let reason, _): "refused: \(reason)"
    case .disconnected(_, let wait): "disconnected" + (wait.map { ", again after \($0.count)" } ?? " for good")
    case .item(_, let line): "item \(line.verb) \(line["key"] ?? line["name"] ?? line.words.first ?? "")"
    case .reply(_, let reply): "reply \(reply.line.verb) \(reply.line["code"] ?? reply.line["verdict"] ?? "")"
    case .restarted: "restarted"
    case .lost: "lost"
    case .subscription(_, let event): describe(event)
    case .action(let action):
        "do \(action.operation) \(action.key) \(action.value.map { $0 ? "on" : "off" } ?? "press")"
    case .traitsRefused(let line): "traits refused: \(line["code"] ?? "")"
    case .serviceRefused(let kind, let line): "\(kind) not served: \(line["code"] ?? "")"
    case .violation(let text): "violation: \(text)"
    case .farewell(let line): "farewell \(line.verb) \(line["code"] ?? "")"
    }
}

func describe(_ event: SubscriptionEvent) -> String {
    switch event {
    case .snapshot(let row): "snap \(row.key) \(row.rev) \(JSON.object(row.body))"
    case .update(let row):
        "upd \(row.key) \(row.rev) \(JSON.object(row.body))" + (row.skip > 0 ? " skip \(row.skip)" : "")
    case .deletion(let key, let rev, let why): "del \(key) \(rev) \(why)"
    case .milestone(let key, let rev, let state, let time): "mile \(key) \(rev) \(state) \(time.milliseconds)"
    case .alert(let key, let rev, let body): "alert \(key) \(rev) \(JSON.object(body))"
    case .changed(let rev, let count): "changed \(rev) \(count.map { String($0) } ?? "many")"
    case .live: "live"
    case .reset(let why): "reset \(why)"
    case .refused(let line): "sub refused \(line["code"] ?? "")"
    }
}
