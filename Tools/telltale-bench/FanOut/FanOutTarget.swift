/// A server that passes events on to those who follow them: what differs between ours and others.
protocol FanOutTarget: AnyObject {
    var name: String { get }
    var process: ServerProcess { get }
    var port: UInt16 { get }
    /// What the publisher says first, what the server answers, and what is then sent for each event.
    var publisherOpening: [UInt8] { get }
    var publisherReadiness: [UInt8] { get }
    var message: FanOutMessage { get }
    /// What a subscriber of these keys says first.
    func opening(_ keys: [Int]) -> [UInt8]
    /// What the server answers: once, or once for each key.
    var readiness: [UInt8] { get }
    var answersEachKey: Bool { get }
    /// Whether keys must exist before anybody follows them.
    var hasState: Bool { get }
}

extension FanOutTarget {
    /// The load, with its publisher connected, the keys made and all subscribers ready.
    func makeLoad(_ shape: FanOutLoad.Shape) throws -> FanOutLoad {
        let load = FanOutLoad(port: port, shape)
        do {
            try load.connectPublisher(opening: publisherOpening, readiness: publisherReadiness, message: message)
            if hasState { try load.post(shape.keys) }
            load.prepareSubscribers(readiness: readiness, times: answersEachKey ? shape.each : 1) {
                opening(shape.keys(of: $0))
            }
            try load.connect()
        } catch let failure as FanOutLoad.Failure {
            throw ServerProcess.StartFailure(description: "\(name): \(failure)")
        }
        return load
    }
}
