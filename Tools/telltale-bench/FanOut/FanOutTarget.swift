/// A server that relays events to their followers: the differences between the compared servers.
protocol FanOutTarget: AnyObject {
    var name: String { get }
    var process: ServerProcess { get }
    var port: UInt16 { get }
    /// Where subscribers speak TLS; `nil` = in plain.
    var tlsPort: UInt16? { get }
    /// The publisher's opening, the server's answer, and the message of each event.
    var publisherOpening: [UInt8] { get }
    var publisherReadiness: [UInt8] { get }
    var message: FanOutMessage { get }
    /// The opening of a subscriber of these keys.
    func opening(_ keys: [Int]) -> [UInt8]
    /// The server's answer: once, or once for each key.
    var readiness: [UInt8] { get }
    var answersEachKey: Bool { get }
    /// Whether keys must exist before they are followed.
    var hasState: Bool { get }
}

extension FanOutTarget {
    var tlsPort: UInt16? { nil }

    /// The load, with its publisher connected, the keys made and all subscribers ready.
    func makeLoad(_ shape: FanOutLoad.Shape) throws -> FanOutLoad {
        do {
            let load = try prepareLoad(shape)
            try load.connect()
            return load
        } catch let failure as FanOutLoad.Failure {
            throw ServerProcess.StartFailure(description: "\(name): \(failure)")
        }
    }

    /// The same, with the subscribers still to be connected.
    func prepareLoad(_ shape: FanOutLoad.Shape) throws -> FanOutLoad {
        let load = try FanOutLoad(port: port, tlsPort: tlsPort, shape)
        try load.connectPublisher(opening: publisherOpening, readiness: publisherReadiness, message: message)
        if hasState { try load.post(shape.keys) }
        load.prepareSubscribers(readiness: readiness, times: answersEachKey ? shape.each : 1) {
            opening(shape.keys(of: $0))
        }
        return load
    }
}
