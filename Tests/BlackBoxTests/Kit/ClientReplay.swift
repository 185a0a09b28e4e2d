import TelltaleClient
import TelltaleKit
import TelltaleModel
import TelltaleWire
import Testing

/// Holds a recorded conversation again, with the client's protocol machine in the place of the client.
///
/// Each request is made through the machine where a client can make it, and the server's lines are its answers. A request that
/// the grammar refuses, and a further `HELLO`, is left out together with its reply.
struct ClientReplay {
    private enum Due {
        /// A request of the machine, with its number.
        case answer(String)
        case leftOut
    }

    private var client: ClientProtocol
    private let parser = RequestParser()
    private var due: [Due] = []
    private var surface: Surface?
    private var subscriptions: [(id: SubscriptionID, view: ViewName)] = []
    /// Where each line is cut into two pieces.
    private var cut = 0
    private let now = Timestamp(milliseconds: 1_000)

    init() {
        var configuration = ClientConfiguration(name: "replay", eventIDPrefix: "replay")
        // A line of the machine is a little longer than that of the conversation.
        configuration.windowCount = 4_096
        client = ClientProtocol(configuration)
    }

    mutating func run(_ lines: [Peer.Line]) throws {
        guard let greeting = lines.first(where: { $0.isServer })?.text, greeting.hasPrefix("TELLTALE ") else { return }
        client.start()
        client.connected(at: now)
        feed(greeting.replacing(/max_line=[0-9]+/, with: "max_line=100000"))
        _ = client.takeOutput(limit: .max, at: now)
        feed("OK id=1 conn=c1 hb=20000")
        _ = client.takeEvents()
        for line in lines where line.text != greeting && !client.wantsClose {
            if line.isServer { hear(line.text) } else { say(line.text) }
        }
    }

    // MARK: The client's lines

    private mutating func say(_ text: String) {
        guard !text.hasPrefix("#"), !text.isEmpty else { return }
        let command = parser.parse(text.utf8.span).command
        switch command {
        case .bye: return
        case .refused: return due.append(.leftOut)
        case .hello(let hello):
            surface = hello.surface ?? surface
            return due.append(.leftOut)
        case .subscribe(let subscribe):
            let view = subscribe.view ?? surface.map { .surface($0) } ?? .full
            var subscribe = subscribe
            subscribe.view = view
            subscriptions.append((client.subscribe(subscribe), view))
        case .unsubscribe(let number):
            guard let subscription = subscriptions.first(where: { client.serverNumber(of: $0.id) == Int64(number) })
            else {
                return due.append(.leftOut)
            }
            client.unsubscribe(subscription.id)
            // It may have ended before.
            subscriptions.removeAll { $0.id == subscription.id }
        case .ping, .help, .event, .get, .list, .kinds, .kind, .gallery, .history, .stats, .traits, .dismiss, .seen,
            .open, .tap, .serve, .done, .supply, .fail, .report, .reload, .tile, .handover, .drain,
            .node:
            client.request(command)
        }
        let made = String(decoding: client.takeOutput(limit: .max, at: now), as: UTF8.self)
        let number = made.split(whereSeparator: { $0 == " " || $0 == "\n" }).last { $0.hasPrefix("id=") }?.dropFirst(3)
        #expect(made.count { $0 == "\n" } == 1 && number != nil, "\(text) became \(made)")
        // The machine says the same request.
        let again = parser.parse(made.dropLast().utf8.span).command
        if case .refused(let error) = again { Issue.record("\(text) became \(made): \(error.message)") }
        due.append(.answer(number.map { String($0) } ?? ""))
    }

    // MARK: The server's lines

    private mutating func hear(_ text: String) {
        let verb = text.prefix { $0 != " " }
        switch verb {
        case "OK", "ERR", "PONG":
            if text.contains(" fatal=1") { return feed(text) }
            guard !due.isEmpty else {
                Issue.record("a reply to nothing: \(text)")
                return
            }
            guard case .answer(let number) = due.removeFirst() else { return }
            let rest = text.dropFirst(verb.count).replacing(/^((?: [^ {]+)*?) id=[^ ]+/) { $0.output.1 }
            feed("\(verb) id=\(number)\(rest)")
        default:
            let isItem =
                verb == "KIND" || verb == "WIDGET" || verb == "HIST" || verb == "SNAP" && text.contains(" sub=0 ")
            if isItem, case .leftOut? = due.first { return }
            feed(text)
        }
        for event in client.takeEvents() { check(event, text) }
    }

    /// In two pieces, cut at another place each time.
    private mutating func feed(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        cut = (cut + 7) % bytes.count
        client.received(bytes.span.extracting(0..<cut), at: now)
        client.received(bytes.span.extracting(cut..<bytes.count), at: now)
    }

    private func check(_ event: ClientEvent, _ text: String) {
        switch event {
        case .violation(let reason): Issue.record("\(reason): \(text)")
        case .subscription(let id, .snapshot(let row)), .subscription(let id, .update(let row)):
            guard let view = subscriptions.first(where: { $0.id == id })?.view else { return }
            #expect(Self.isRow(row.body, of: view), "no row of \(view): \(text)")
        case .ready, .refused, .disconnected, .item, .reply, .restarted, .lost, .subscription, .traitsRefused,
            .serviceRefused,
            .action, .farewell:
            break
        }
    }

    private static func isRow(_ body: JSONObject, of view: ViewName) -> Bool {
        if ControlRow(body) != nil { return true }
        // A widget has no type of its own: apps read the body.
        if body["entries"] != nil { return true }
        return switch view {
        case .full: FullRow(body) != nil
        case .surface(.carplay): CarPlayRow(body) != nil
        case .surface(.watch): WatchRow(body) != nil
        case .surface(.desktop): DesktopRow(body) != nil
        case .surface(.standby): StandByRow(body) != nil
        case .surface(.phone), .surface(.pad): PhoneRow(body) != nil
        case .surface(.vision): false
        }
    }
}
