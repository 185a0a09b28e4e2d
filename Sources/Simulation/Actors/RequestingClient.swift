import TelltaleWire

/// A client that sends numbered requests until each has its reply.
protocol RequestingClient: ConnectedClient {
    var requests: RequestQueue { get set }
    /// The name of the client in the text of a fault.
    var title: String { get }
    /// Sends what waits, where there is a connection.
    func flush()
    /// The reply to a request came.
    func answered(_ number: Int, _ line: ServerLine)
}

extension RequestingClient {
    var isWaiting: Bool { requests.isOwed }

    func doLater(_ what: Int) { flush() }

    func calmDown() { if link == nil { connect() } else { flush() } }

    /// Opens a connection with a `HELLO`, and sends what has no reply yet.
    ///
    /// - Parameter isRepeatable: Whether a request may be sent a second time; others are dropped.
    func connect(with hello: String, where isRepeatable: (Int) -> Bool = { _ in true }) {
        let link = connection.open(world.connect(self))
        world.send("\(hello)\n", on: link)
        requests.reconnect(where: isRepeatable)
        flush()
    }

    func received(_ bytes: [UInt8], on link: Link) {
        guard let lines = connection.read(bytes, on: link)?.lines else { return }
        for line in lines where line.verb == "OK" || line.verb == "ERR" {
            switch requests.take(line) {
            case .greeting: break
            case .answer(let number): answered(number, line)
            case .unexpected: world.violated("protocol", "\(title) is answered out of order: \(line)")
            }
        }
        flush()
    }

    /// Sends a request again after a pause, where its reply says `retry=later`.
    ///
    /// - Parameters:
    ///   - limit: The code of a refusal that comes for good, although it says so.
    ///   - what: What the client schedules for itself.
    /// - Returns: `false` for every other reply.
    func postpones(_ number: Int, _ line: ServerLine, butFor limit: String? = nil, scheduling what: Int = 0) -> Bool {
        guard line.verb == "ERR", line["retry"] == "later", let code = line["code"], code != limit else { return false }
        world.ledger.errors[code, default: 0] += 1
        if requests.postpone(number, at: world.now) {
            world.scheduleLater(what, for: self, after: RequestQueue.retryDelay)
        }
        return true
    }
}
