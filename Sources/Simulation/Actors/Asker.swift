/// Sends some lines on a connection of its own, and hands over the lines received once they are enough.
final class Asker {
    private let isDone: ([ClientLine]) -> Bool
    private let then: ([ClientLine]) -> Void
    private let skipsGreeting: Bool
    private var reader = ClientLines()
    private var lines: [ClientLine] = []
    private var attempts = 0
    private var isOver = false
    var link: SimulatedLink?
    var begin: () -> Void = {}
    var end: (SimulatedLink) -> Void = { _ in }

    private static let attemptLimit = 3

    /// - Parameter skipsGreeting: The first reply is that of a `HELLO`, and is not handed over.
    init(
        skipsGreeting: Bool = false, until isDone: @escaping ([ClientLine]) -> Bool,
        then: @escaping ([ClientLine]) -> Void
    ) {
        self.skipsGreeting = skipsGreeting
        self.isDone = isDone
        self.then = then
    }

    func received(_ bytes: [UInt8], on link: SimulatedLink) {
        guard link === self.link, !isOver else { return }
        lines += reader.readHeads(bytes).lines.filter { !skipsGreeting || $0["conn"] == nil }
        guard isDone(lines) else { return }
        isOver = true
        end(link)
        then(lines)
    }

    /// Asks again. After some attempts, hands over the lines that there are.
    func lost(_ link: SimulatedLink) {
        guard link === self.link, !isOver else { return }
        attempts += 1
        guard attempts < Self.attemptLimit else {
            isOver = true
            return then(lines)
        }
        lines = []
        reader.begin()
        begin()
    }
}
