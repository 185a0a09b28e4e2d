internal import DequeModule
internal import FanOut
internal import HeapModule
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

// MARK: Greeting, HELLO, TRAIT, STATS

extension Hub {
    func greeting(at now: HubTime) -> [UInt8] {
        var greeting = Greeting(
            epoch: epoch, sequence: durableSequence, now: max(time, now.time),
            heartbeat: Int(configuration.limits.heartbeat), server: configuration.serverVersion)
        greeting.speed = settings.clockSpeed
        greeting.lineLengthLimit = configuration.limits.lineLength
        var writer = LineWriter()
        writer.greeting(greeting)
        return writer.bytes
    }

    /// The capabilities that a client may ask for.
    private static let capabilities = ["rate"]

    /// The shortest and the longest heartbeat that a client may ask for, in milliseconds.
    private static let heartbeats: ClosedRange<Int64> = 100...3_600_000

    mutating func greet(_ hello: Hello, _ request: Request, from id: SessionID, at now: HubTime) -> [UInt8] {
        guard let session = self[id] else { return [] }
        session.client = hello.client ?? session.client
        session.account = hello.account ?? session.account
        session.surface = hello.surface ?? session.surface
        if let heartbeat = hello.heartbeat {
            session.heartbeat = min(max(Int64(heartbeat), Self.heartbeats.lowerBound), Self.heartbeats.upperBound)
            session.owesLife = true
            watch(id, at: now.monotonic + session.heartbeat)
        }
        var writer = LineWriter()
        writer.beginOK(id: request.id)
        writer.attribute("conn", "c\(id.number)")
        writer.attribute("caps", joined: Self.capabilities.filter { hello.capabilities.contains($0) })
        writer.attribute("hb", session.heartbeat)
        if let device = hello.device.flatMap({ Catalogue.device(named: $0) }) {
            session.traits.hasIsland = device.hasIsland
            writer.attribute("canvas", device.canvas)
        }
        writer.ignored(request.ignored)
        writer.end()
        return writer.bytes
    }

    mutating func change(_ attributes: [Attribute], _ request: Request, of id: SessionID) -> [UInt8] {
        var writer = LineWriter()
        guard var traits = self[id]?.traits else { return [] }
        for attribute in attributes {
            do throws(TraitError) {
                try traits.set(attribute.name, to: attribute.value)
            } catch {
                writer.error(WireError(.badAttribute, error.description), id: request.id)
                return writer.bytes
            }
        }
        if let old = self[id]?.traits, traits != old {
            self[id]?.traits = traits
            reproject(id, locked: traits.isLocked != old.isLocked)
        }
        writer.ok(id: request.id, ignored: request.ignored)
        return writer.bytes
    }

    func tellStatistics(_ request: Request, writer: inout LineWriter) {
        var body = JSONWriter()
        body.beginObject()
        body.member("connections", openSessionCount)
        body.member("accepted", statistics.acceptedConnections)
        body.member("refused", statistics.refusedConnections)
        body.member("subscriptions", subscriptions.count)
        body.member("entities", entities.count)
        body.member("kinds", kinds.current.count)
        body.member("seq", durableSequence)
        body.member("requests", statistics.requests)
        body.member("commits", statistics.commits)
        body.member("deadlines", statistics.deadlinesFired)
        body.member("rows", statistics.rows)
        body.name("conflated")
        body.beginObject()
        body.member("slow", statistics.foldedSlow)
        body.member("rate", statistics.foldedRate)
        body.member("resume", statistics.resumedRows)
        body.endObject()
        body.name("verdicts")
        body.beginObject()
        for (index, verdict) in Verdict.allCases.enumerated() {
            body.member(named: verdict.rawValue, .integer(Int64(statistics.verdicts[index])))
        }
        body.endObject()
        body.member("refusals", statistics.refusals)
        body.member("guardErrors", statistics.guardErrors)
        body.member("machineErrors", statistics.machineErrors)
        body.member("stuckReadersCut", statistics.stuckReadersCut)
        body.member("storageFull", statistics.storageFullBatches)
        body.member("eventIDs", eventIDs.count)
        var (dirtyCount, sessionBytes) = (0, 0)
        subscriptions.forEach { subscription in
            sessionBytes += MemoryLayout<Subscription>.stride
            dirtyCount += subscription.waitingCount
            guard let backlog = subscription.backlog else { return }
            sessionBytes += Backlog.byteCount + backlog.queue.byteCount + 64 * backlog.shown.count
        }
        for session in sessions {
            guard let session else { continue }
            sessionBytes += Session.byteCount + session.outboxByteCount + session.unread.count
        }
        body.member("dirtyKeys", dirtyCount)
        body.member("sessionBytes", sessionBytes)
        body.name("sync")
        body.beginObject()
        body.member("count", statistics.syncCount)
        body.member(
            "meanMicroseconds", statistics.syncCount == 0 ? 0 : statistics.syncMicroseconds / statistics.syncCount)
        body.member("maxMicroseconds", statistics.longestSyncMicroseconds)
        body.endObject()
        body.endObject()
        writer.beginOK(id: request.id)
        writer.ignored(request.ignored)
        writer.tail(body.bytes)
        writer.end()
    }
}
