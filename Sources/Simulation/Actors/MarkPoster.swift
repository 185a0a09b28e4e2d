import TelltaleWire

/// Posts each event once, with a unique mark and without an id, and reads the activity right after it.
///
/// Such an event may never count twice. What is acknowledged counts, what is refused does not, and a client that was answered sees
/// what it wrote (P6, P8).
final class MarkPoster: ConnectedClient {
    enum Fate { case sent, acknowledged, refused, full }

    struct Post {
        let mark: String
        let key: String
        var fate = Fate.sent
        var rev: Int64 = 0
    }

    var seat: Seat
    private(set) var posts: [Post] = []
    /// The numbers of the posts whose replies are due on this connection, in their order.
    private var unanswered: [Int] = []

    init(_ seat: Seat) { self.seat = seat }

    var isWaiting: Bool { false }
    var untilNextMove: Int64 { random.pick(100...3_000) }
    private var name: String { world.setting.tagged("marks-\(seat.number)") }

    func connect() {
        unanswered = []
        open(with: ["HELLO id=hello client=\(name)"])
    }

    func act(on link: SimulatedLink) {
        var text = ""
        for _ in 0...random.below(3) {
            world.countInput()
            let number = posts.count
            let kind = world.setting.cast.parts.first?.kind ?? "order"
            let key = world.setting.tagged("\(kind)/mark-\(seat.number)-\(random.below(3))")
            posts.append(Post(mark: "\(name)-\(number)-", key: key))
            unanswered.append(number)
            let type = random.pick(of: ["start", "update", "nonsense"])
            text += "EVT \(key) id=m\(number) type=\(type) src=\(posts[number].mark)\nGET \(key) id=g\(number)\n"
        }
        world.send(text, on: link)
    }

    func received(_ bytes: [UInt8], on link: SimulatedLink) {
        guard let (lines, fault) = seat.connection.read(bytes, on: link) else { return }
        if let fault { world.violated("protocol", "\(name) is sent what is no line: \(fault)") }
        for line in lines {
            guard let id = line["id"], let number = Int(id.dropFirst()) else { continue }
            if id.hasPrefix("m") { answered(number, line) } else { seen(number, line) }
        }
    }

    private func answered(_ number: Int, _ line: ServerLine) {
        guard unanswered.first == number else {
            return world.violated("protocol", "\(name) is answered \(line), and waits for the reply to another request")
        }
        unanswered.removeFirst()
        let refusal = line["code"] == "storage_full" ? Fate.full : .refused
        posts[number].fate = line.verb == "OK" ? .acknowledged : refusal
        posts[number].rev = line.integer("rev") ?? 0
    }

    private func seen(_ number: Int, _ line: ServerLine) {
        guard posts[number].fate == .acknowledged, line.verb != "ERR", let rev = line.integer("rev") else { return }
        if rev < posts[number].rev {
            world.violated(
                "P3", "\(name) wrote rev \(posts[number].rev) of \(posts[number].key), and is shown rev \(rev) then")
        }
    }
}
