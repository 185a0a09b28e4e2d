import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire

/// Orders a coffee, and shows what Alice's watch shows of it until it is ready.
///
/// The barista is played too: each new title on the screen is answered by the next event. `show` gets one line for each
/// change. Blocks its thread, as the event loop does.
func followOrder(_ number: String, at endpoint: Endpoint, show: @escaping (String) -> Void) throws {
    let loop = try EventLoop()
    defer { loop.shutDown() }
    guard let key = Key("coffee-order/\(number)"), let pattern = Pattern(key.text) else { return }

    // Event ids of this client begin with the prefix, which is unique to this run. After a lost connection the client
    // posts again what was not answered, under the same ids, so that each event takes effect once.
    let run = EventLoop.wallClockMilliseconds()
    var configuration = ClientConfiguration(name: "coffee-screen/1.0", eventIDPrefix: "run-\(run)")
    configuration.surface = .watch
    configuration.account = "alice"

    func post(_ type: String, to client: Client) {
        var order = EventCommand(key: key, type: type, accounts: ["alice"])
        if type == "CONFIRMED" { order.tail["attributes"] = ["item": "Flat white", "shop": "Corner"] }
        if type == "ready" { order.tail["content-state"] = ["shelf": "B"] }
        client.post(order)
    }

    let client = try Client(to: endpoint, configuration: configuration, on: loop) { client, event in
        switch event {
        case .ready(let greeting, _):
            show("connected to \(greeting.server)")

        // Until `live`, rows are what was there already. A resumed subscription becomes live again.
        case .subscription(_, .live):
            if client.pendingRequestCount == 0 { post("CONFIRMED", to: client) }
        case .subscription(_, .snapshot(let row)), .subscription(_, .update(let row)):
            // A row is the newest state; draw it in the place of the one before.
            let title = row.body["view"]?["title"]?.string ?? ""
            show("\(row.key.text): \(title)")
            switch title {
            case "In the queue": post("brew", to: client)
            case "Brewing": post("ready", to: client)
            case "Ready": client.close()
            default: break
            }
        case .subscription(_, .alert(_, _, let alert)):
            show("alert: \(alert["title"]?.string ?? ""), \(alert["body"]?.string ?? "")")
        case .subscription(_, .deletion(let key, _, let why)):
            show("\(key.text) is gone: \(why)")

        case .reply(_, let reply) where !reply.isOK:
            show("refused: \(reply.line.message ?? "")")
            client.close()
        case .refused(let reason, _):
            show("refused: \(reason)")
        case .disconnected(_, let retryAfter):
            // With a time the client tries again by itself; without one it is over.
            if retryAfter == nil { loop.stop() }
        default: break
        }
    }
    _ = client.subscribe(SubscribeCommand(pattern: pattern))
    client.start()
    loop.run()
}
