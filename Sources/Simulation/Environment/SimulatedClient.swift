/// A program at the other end of a connection.
protocol SimulatedClient: AnyObject {
    var index: Int { get }
    var link: SimulatedLink? { get }
    /// It waits for something that the daemon has yet to send it.
    var isWaiting: Bool { get }
    var untilNextMove: Int64 { get }
    /// Does something, as it comes to mind.
    func move()
    func doLater(_ what: Int)
    /// Goes without a word, as at a reconnect storm, and comes back at its next move.
    func vanish()
    func received(_ bytes: [UInt8], on link: SimulatedLink)
    /// The daemon sends it something, which has not arrived yet.
    func emitted(_ bytes: [UInt8], on link: SimulatedLink)
    func lost(_ link: SimulatedLink)
    /// Whatever it did wrong it leaves off, and it comes back if it is away.
    func calmDown()
}

extension SimulatedClient {
    func emitted(_ bytes: [UInt8], on link: SimulatedLink) {}
}
