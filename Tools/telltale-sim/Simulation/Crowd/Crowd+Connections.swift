import Wire

/// A crowd's connections, with the faults of their wires.
extension Crowd {
    public func takeWishes() -> [Wish] {
        defer { wishes = [] }
        return wishes
    }

    func connect(_ client: any SimulatedClient) -> Link { connect(index: client.index) }

    private func connect(index: Int) -> Link {
        linkCount += 1
        let link = Link(client: index, capacity: 0, generation: 0)
        link.number = linkCount
        links[linkCount] = link
        wishes.append(.connect(linkCount))
        return link
    }

    func send(_ text: String, on link: Link) {
        guard link.isOpenAtClient else { return }
        trace?(now, link.client, "> " + text)
        var bytes = Array(text.utf8)
        while !bytes.isEmpty {
            let isSliced = !isCalm && climate.slices > 0 && wires.chance(climate.slices)
            let count = isSliced ? 1 + wires.below(bytes.count) : bytes.count
            let piece = Array(bytes.prefix(count))
            bytes.removeFirst(count)
            later(.write(link, piece), on: link)
        }
    }

    func halfClose(_ link: Link) { later(.shutWrite(link), on: link) }

    /// After everything that goes before it on the same link, and the wire's delay.
    private func later(_ event: Event, on link: Link) {
        let delay = !isCalm && climate.slowestWire > 1 ? wires.pick(0...Int64(climate.slowestWire)) : 0
        link.lastArrivalAtServer = max(link.lastArrivalAtServer, now + delay)
        if link.lastArrivalAtServer <= now {
            perform(event)
        } else {
            queue.insert(event, at: link.lastArrivalAtServer)
        }
    }

    func reset(_ link: Link) {
        guard link.isOpenAtClient else { return }
        link.isOpenAtClient = false
        links[link.number] = nil
        wishes.append(.close(link.number))
    }

    public func received(_ bytes: [UInt8], on number: Int, at instant: Int64) {
        arrive(at: instant)
        guard let link = links[number], link.isOpenAtClient else { return }
        link.received.append(bytes)
        read(link)
        if !link.received.isEmpty { wishes.append(.pauseReading(number)) }
    }

    func read(_ link: Link) {
        guard link.isOpenAtClient, !link.received.isEmpty, !link.isReadScheduled else { return }
        let count = min(link.readingLimit ?? .max, link.received.count)
        let bytes = link.received.take(count)
        deliver(bytes, on: link)
        if link.received.isEmpty {
            wishes.append(.resumeReading(link.number))
        } else if link.readingLimit != nil {
            link.isReadScheduled = true
            queue.insert(.read(link), at: now + link.pause)
        }
    }

    private func deliver(_ bytes: [UInt8], on link: Link) {
        trace?(now, link.client, "< " + String(decoding: bytes, as: UTF8.self))
        if let asker = askers[link.client] {
            asker.received(bytes, on: link)
        } else {
            clients[link.client].received(bytes, on: link)
        }
    }

    /// - Parameter hasEnded: The daemon shut its side, rather than that something failed.
    public func lost(_ number: Int, hasEnded: Bool, at instant: Int64) {
        arrive(at: instant)
        guard let link = links.removeValue(forKey: number), link.isOpenAtClient else { return }
        // What came before the end is read before it.
        link.readingLimit = nil
        link.isReadScheduled = false
        read(link)
        link.isOpenAtClient = false
        link.hasEnded = hasEnded
        if let asker = askers[link.client] { asker.lost(link) } else { clients[link.client].lost(link) }
    }

    private func arrive(at instant: Int64) {
        self.instant = max(self.instant, instant)
        if !isPaused { now = max(now, time) }
    }
}

// MARK: Questions

extension Crowd {
    /// Asks on a connection of its own.
    func ask(
        _ lines: [String], until isDone: @escaping ([ClientLine]) -> Bool, then: @escaping ([ClientLine]) -> Void
    ) {
        let index = -1 - askers.count
        let asker = Asker(until: isDone) { [unowned self] lines in
            if let greeting = lines.first, greeting.verb == "TELLTALE", greetedAt == 0 {
                greetedAt = instant
                greetedTime = greeting.integer("now") ?? 0
                daemonSpeed = greeting["speed"].flatMap { Double($0) } ?? 1
            }
            then(lines)
        }
        askers[index] = asker
        asker.begin = { [unowned self, unowned asker] in
            let link = connect(index: index)
            asker.link = link
            wishes.append(.write(link.number, Array(lines.map { $0 + "\n" }.joined().utf8)))
        }
        asker.end = { [unowned self] link in reset(link) }
        asker.begin()
    }
}
