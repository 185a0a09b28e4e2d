import TelltaleWire

/// An order system: posts events in bursts, and posts unanswered events again with the same event id.
///
/// It keeps its own account of the acknowledged events (P1, P6).
final class OrderSystem: RequestingClient, Poster {
    var seat: Seat
    let source: String
    private var composer: PostComposer
    private var posts: [OrderPost] = []
    /// By their places in `posts`.
    var requests = RequestQueue(letter: "r")
    /// Whether it has shut its sending side. The daemon still still has to send it the replies to its requests.
    private var hasHalfClosed = false

    init(_ seat: Seat) {
        self.seat = seat
        source = seat.world.setting.tagged("shop-\(seat.number)")
        composer = PostComposer(number: seat.number)
    }

    var title: String { source }
    var hello: String { "HELLO id=hello client=\(source)" }
    var maySend: Bool { !hasHalfClosed }
    var untilNextMove: Int64 { random.chance(100) ? random.pick(5_000...40_000) : random.pick(100...4_000) }

    func act(on link: SimulatedLink) {
        if random.chance(world.climate.halfCloses), !hasHalfClosed, requests.isGreeted, !requests.hasWaiting {
            post(1 + random.below(5))
            hasHalfClosed = true
            world.halfClose(link)
            return
        }
        if !hasHalfClosed, world.setting.arrivals == nil {
            post(1 + (random.chance(200) ? random.below(40) : random.below(6)))
        }
    }

    /// An arrival of an open model: it is due now, whether or not there is a connection.
    func arrive(_ count: Int) { post(count) }

    func ended(_ link: SimulatedLink, wasLost: Bool) {
        if wasLost, hasHalfClosed, requests.unansweredCount > 0, world.wasHungUp(link) {
            world.violated("protocol", "a half-close cost \(source) \(requests.unansweredCount) replies")
        }
        hasHalfClosed = false
    }

    // MARK: Posting

    private func post(_ count: Int) {
        let first = posts.count
        for _ in 0..<count {
            var post = composer.next(after: posts, in: world, random: &random)
            post.due = world.instant
            posts.append(post)
            world.countInput()
            if world.climate.drops > 0, random.chance(world.climate.drops) { posts[posts.count - 1].isDropped = true }
        }
        var new = Array(first..<posts.count).filter { !posts[$0].isDropped }
        if world.climate.reorderWindow > 1 { shuffle(&new, window: world.climate.reorderWindow) }
        requests.append(contentsOf: new)
        flush()
    }

    /// Moves each by less than `window` places.
    private func shuffle(_ places: inout [Int], window: Int) {
        var start = 0
        while start < places.count {
            let end = min(places.count, start + window)
            for place in stride(from: end - 1, to: start, by: -1) {
                places.swapAt(place, start + random.below(place - start + 1))
            }
            start = end
        }
    }

    func request(_ number: Int) -> String {
        if let eid = posts[number].eid {
            posts[number].wasSent = true
            world.ledger.willSend("\(source)/\(eid)", posts[number].line)
        }
        return posts[number].line
    }

    // MARK: Replies

    func received(other line: ServerLine) {
        if ["TELLTALE", "MARK", "#", "BYE"].contains(line.verb) { return }
        world.violated("protocol", "\(source) did not ask for \(line.verb)")
    }

    func answered(_ number: Int, _ line: ServerLine) {
        if postpones(number, line, butFor: "limit_activities") { return }
        if line.verb == "ERR" { refused(number, line) } else { accepted(number, line) }
    }

    private func refused(_ number: Int, _ line: ServerLine) {
        let code = line["code"] ?? ""
        world.ledger.errors[code, default: 0] += 1
        // The disk was full from the start, so the daemon could not commit its kinds yet.
        if world.climate.startsFull, code == "unknown_kind" { return }
        switch posts[number].expectation {
        case .refusal(let expected):
            if code != expected {
                world.violated("protocol", "\(posts[number].line) is refused as \(code), not as \(expected)")
            }
        case .any:
            // A post about an order that never started, or one order too many for one person. Neither uses up the event id.
            if posts[number].answer != nil || !["unknown_key", "limit_activities"].contains(code) {
                world.violated("P6", "\(source) posts \(posts[number].line) and is refused: \(code)")
            }
        }
    }

    private func accepted(_ number: Int, _ line: ServerLine) {
        let post = posts[number]
        let (verdict, rev) = (line["verdict"] ?? "", line.integer("rev") ?? -1)
        world.ledger.verdicts[verdict, default: 0] += 1
        if case .refusal(let code) = post.expectation {
            return world.violated("protocol", "\(post.line) is taken, and \(code) was due")
        }
        guard let eid = post.eid else { return }
        let id = "\(source)/\(eid)"
        if let fault = world.chronicle?.fault(ofAnswer: id, verdict: verdict, rev: rev) {
            return world.violated("P1", fault)
        }
        if let effect = world.ledger.effects[id] {
            if verdict != "duplicate" {
                return world.violated(
                    "P6", "\(id) took effect twice: \(effect.verdict) rev \(effect.rev), then \(verdict) rev \(rev)")
            }
            if rev != effect.rev {
                world.violated("P6", "\(id) had rev \(effect.rev) and is a duplicate with rev \(rev)")
            }
        } else {
            world.ledger.effects[id] = Effect(verdict: verdict, rev: rev)
        }
        posts[number].answer = (verdict, rev)
        world.ledger.latency?.timeline.acknowledged(at: world.now)
        if verdict == "applied" { world.ledger.latency?.applied(rev: rev, due: post.due) }
    }

    /// Every event id that was acknowledged, once each.
    var acknowledged: [Acknowledgement] {
        var seen: Set<String> = []
        return posts.compactMap { post in
            guard let eid = post.eid, let answer = post.answer, seen.insert(eid).inserted else { return nil }
            return Acknowledgement(line: post.line, rev: answer.rev)
        }
    }

    var sentIDs: Set<String> { Set(posts.compactMap { $0.wasSent ? $0.eid.map { "\(source)/\($0)" } : nil }) }
}
