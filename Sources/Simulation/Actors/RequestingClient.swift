import TelltaleWire

/// A client that sends numbered requests until each has its reply.
protocol RequestingClient: ConnectedClient {
    var requests: RequestQueue { get set }
    /// The name of the client in the text of a fault.
    var title: String { get }
    /// The line that a connection begins with, with `id=hello`.
    var hello: String { get }
    /// The request of this number, which is sent now.
    func request(_ number: Int) -> String
    /// The reply to a request came.
    func answered(_ number: Int, _ line: ServerLine)
    /// Whether a request may be sent a second time; others are dropped with their connection.
    func isRepeatable(_ number: Int) -> Bool
    /// Whether it may send at all.
    var maySend: Bool { get }
    /// Whether requests that leave at one time leave as one text.
    var bundles: Bool { get }
    /// A line that is no reply.
    func received(other line: ServerLine)
    /// Everything that arrived has been read.
    func repliesTaken()
}

extension RequestingClient {
    var isWaiting: Bool { requests.hasPending }
    var maySend: Bool { true }
    var bundles: Bool { true }

    func isRepeatable(_ number: Int) -> Bool { true }
    func received(other line: ServerLine) {}
    func repliesTaken() { flush() }

    func doLater(_ what: Int) { flush() }

    func calmDown() { if link == nil { connect() } else { flush() } }

    func connect() {
        open(with: [hello])
        requests.reconnect(where: isRepeatable)
        flush()
    }

    /// Sends what waits, where there is a connection.
    func flush() {
        guard let link, maySend else { return }
        var text = ""
        while let number = requests.next(at: world.now) {
            text += request(number).withID(requests.id(of: number)) + "\n"
            guard !bundles else { continue }
            world.send(text, on: link)
            text = ""
        }
        if !text.isEmpty { world.send(text, on: link) }
    }

    func received(_ bytes: [UInt8], on link: SimulatedLink) {
        guard let (lines, fault) = seat.connection.read(bytes, on: link) else { return }
        if let fault { world.violated("protocol", "\(title) is sent what is no line: \(fault)") }
        for line in lines {
            guard line.verb == "OK" || line.verb == "ERR" else {
                received(other: line)
                continue
            }
            switch requests.matchReply(line) {
            case .greeting: break
            case .answer(let number): answered(number, line)
            case .unexpected(let expected):
                world.violated("protocol", "\(title) waits for the reply to \(expected), and is answered \(line)")
            }
        }
        repliesTaken()
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

extension String {
    /// The request with `id=`, which stands directly behind the verb so that a broken tail cannot swallow it.
    func withID(_ id: String) -> String {
        guard let space = firstIndex(of: " ") else { return self + " id=\(id)" }
        return self[..<space] + " id=\(id)" + self[space...]
    }
}
