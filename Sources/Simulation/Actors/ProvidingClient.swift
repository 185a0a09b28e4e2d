import TelltaleWire

/// A client that acts for controls or widgets: it answers some time after it was asked, and serves again where it was refused for
/// a while.
protocol ProvidingClient: ConnectedClient {
    var name: String { get }
    /// The requests of this connection that are not answered yet; replies come in their order.
    var unanswered: [String] { get set }
    /// The lines that it sends later, by number.
    var plans: [String] { get set }
    /// `SERVE` is to be sent again.
    var isServing: Bool { get set }
    /// Sends its `SERVE`s.
    func serve()
    /// A reply came.
    func answered(_ line: ServerLine, to request: String?)
    /// It is asked to do something.
    func asked(_ line: ServerLine)
    /// A line that was planned is sent now.
    func willSay(_ line: String)
}

extension ProvidingClient {
    /// The plan to serve again.
    private static var serving: String { "SERVE" }

    var isWaiting: Bool { link == nil || !unanswered.isEmpty }
    var untilNextMove: Int64 { random.pick(1_000...10_000) }

    func say(_ line: String) {
        guard let link else { return }
        unanswered.append(line)
        world.send(line + "\n", on: link)
    }

    func plan(_ line: String, after delay: Int64) {
        plans.append(line)
        world.scheduleLater(plans.count - 1, for: self, after: delay)
    }

    func serveLater() {
        guard !isServing else { return }
        isServing = true
        plan(Self.serving, after: RequestQueue.retryDelay)
    }

    func doLater(_ what: Int) {
        guard plans.indices.contains(what) else { return }
        let line = plans[what]
        if line == Self.serving {
            // Serving a kind twice does no harm.
            isServing = false
            return serve()
        }
        guard link != nil else { return }
        willSay(line)
        say(line)
    }

    func received(_ bytes: [UInt8], on link: SimulatedLink) {
        guard let lines = seat.connection.read(bytes, on: link)?.lines else { return }
        for line in lines {
            switch line.verb {
            case "OK", "ERR": answered(line, to: unanswered.isEmpty ? nil : unanswered.removeFirst())
            case "DO": asked(line)
            case _: break
            }
        }
    }
}
