internal import FanOut
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

// The greeting, HELLO, TRAIT, and STATS.
extension Hub {
    /// - Parameter next: Where the client should be instead, because this node drains.
    func greeting(at now: HubTime, next: String? = nil) -> [UInt8] {
        var greeting = Greeting(
            epoch: store.epoch, sequence: commit.durableSequence, now: max(store.time, now.time),
            heartbeat: Int(configuration.limits.heartbeat.count), server: configuration.serverVersion)
        greeting.speed = store.settings.clockSpeed
        greeting.lineLengthLimit = configuration.limits.lineLength
        if access.isEnforced { greeting.authentication = "token" }
        if let status { greeting.node = status.wire }
        greeting.node?.next = next
        var writer = LineWriter()
        writer.greeting(greeting)
        return writer.bytes
    }

    /// The capabilities that a client may request.
    private static let capabilities = ["rate", "widgets"]

    /// The shortest and the longest heartbeat that a client may request.
    private static let heartbeats = Milliseconds(100)...Milliseconds.minutes(5)

    mutating func decideHello(_ hello: Hello, _ request: Request, from session: Session, at now: HubTime) {
        var admission: AccessPolicy.Admission?
        if access.isEnforced {
            admission = admit(hello, request, from: session, at: now)
            if admission == nil { return }
        }
        let traits = session.traits
        session.client = hello.client ?? session.client
        session.account = admission.map(\.account) ?? hello.account ?? session.account
        session.surface = hello.surface ?? session.surface
        if hello.capabilities.contains("widgets") { session.showsWidgets = true }
        joinUnit(hello, of: session, principal: admission?.principal, at: now)
        if let heartbeat = hello.heartbeat {
            session.heartbeat = min(
                max(Milliseconds(Int64(heartbeat)), Self.heartbeats.lowerBound), Self.heartbeats.upperBound)
            session.hasLifePending = true
            sessions.watch(session, at: now.monotonic + session.heartbeat)
        }
        var writer = LineWriter()
        writer.beginOK(id: request.id)
        writer.attribute("conn", "c\(session.id.counter)")
        writer.attribute("caps", joined: Self.capabilities.filter { hello.capabilities.contains($0) })
        writer.attribute("hb", session.heartbeat.count)
        if let name = hello.device {
            // H8: what an earlier device gave goes, also where this one is unknown.
            let device = Catalogue.device(named: name)
            session.traits.hasIsland = device?.hasIsland ?? false
            session.device = Int16(clamping: device.flatMap { Catalogue.devices.firstIndex(of: $0) } ?? -1)
            writer.attribute("device", device?.name ?? "unknown")
            if let device { writer.attribute("canvas", device.canvas) }
        }
        if hello.unit != nil { writer.attribute("budget", budgets.budget.map { "\($0.rowsPerDay)" } ?? "off") }
        if let admission {
            writer.attribute("principal", admission.principal)
            if let account = admission.account { writer.attribute("account", account) }
            if let until = admission.until { writer.attribute("until", until) }
            if let rate = admission.rate { writer.attribute("rate", rate) }
        }
        // A token is ignored by a server without tokens.
        writer.ignored(request.ignored + (admission == nil && hello.token != nil ? ["token"] : []))
        writer.end()
        stage(for: session) { $0.append(writer.bytes) }
        if session.traits != traits { commit.note(traits, of: session.id) }
    }

    mutating func decideTraits(_ attributes: [Attribute], _ request: Request, of session: Session) {
        var writer = LineWriter()
        var traits = session.traits
        do throws(TraitError) {
            for attribute in attributes { try traits.set(attribute.name, to: attribute.value) }
            writer.ok(id: request.id, ignored: request.ignored)
        } catch {
            traits = session.traits
            writer.error(WireError(.badAttribute, error.description), id: request.id)
        }
        if traits != session.traits {
            commit.note(session.traits, of: session.id)
            session.traits = traits
        }
        stage(for: session) { $0.append(writer.bytes) }
    }

    /// Makes projections due for the sessions whose traits differ from those before the batch. Once for each session, however many
    /// lines set them: a projection concerns every subscription.
    ///
    /// - Precondition: None of the batch's replies has been sent. They make the sessions ready.
    mutating func reprojectSessions(of batch: borrowing Batch) {
        guard !batch.formerTraits.isEmpty else { return }
        for id in batch.sessions {
            guard let former = batch.formerTraits[id], let session = sessions[id], session.traits != former else {
                continue
            }
            subscriptions.reproject(session, locked: session.traits.isLocked != former.isLocked)
        }
    }

    /// The memory of connections and subscriptions. If counting takes time it is repeated at most once a second, because `STATS`
    /// may be requested as fast as lines arrive.
    private mutating func footprint(at now: MonotonicTime) -> Statistics.Footprint {
        let isQuick = subscriptions.count + sessions.openCount <= Statistics.Footprint.quickCount
        if !isQuick, let last = statistics.footprint, now < last.time + Milliseconds.seconds(1) { return last }
        var footprint = Statistics.Footprint(time: now)
        subscriptions.forEach { subscription in
            footprint.sessionByteCount += MemoryLayout<Subscription>.stride
            footprint.dirtyKeyCount += subscription.waitingCount
            guard let backlog = subscription.backlog else { return }
            if let account = subscription.competingAccount, let placed = backlog.placedCount {
                footprint.leftOutCount += max(
                    0, store.competingCount(for: account, kind: subscription.kind) - placed)
            }
            footprint.sessionByteCount +=
                Backlog.byteCount + backlog.queue.byteCount + backlog.shown.byteCount
                + 32 * backlog.placements.count
                + (backlog.scan?.ahead.byteCount ?? 0)
        }
        sessions.forEach { session in
            footprint.sessionByteCount += Session.byteCount + session.outboxByteCount + session.unread.count
        }
        statistics.footprint = footprint
        return footprint
    }

    mutating func writeStatistics(_ request: Request, at now: HubTime, to writer: inout LineWriter) {
        writer.beginOK(id: request.id)
        writer.ignored(request.ignored)
        writer.tail(figures(at: now))
        writer.end()
    }

    /// The object in the answer to `STATS`.
    public mutating func figures(at now: HubTime) -> [UInt8] {
        var body = JSONWriter()
        body.beginObject()
        body.member("connections", sessions.openCount)
        body.member("accepted", sessions.acceptedCount)
        body.member("refused", sessions.refusedCount)
        body.member("subscriptions", subscriptions.count)
        body.member("entities", store.keyCount)
        body.member("kinds", store.kindCount)
        body.member("seq", commit.durableSequence)
        body.member("rules", store.rules.number)
        body.member("requests", sessions.requestCount)
        body.member("commits", statistics.commits)
        body.member("deadlines", statistics.deadlinesFired)
        body.member("rows", statistics.rows)
        if store.hasDerivedWidgetKinds {
            body.name("foreseen")
            body.beginObject()
            body.member("kept", statistics.foreseenKept)
            body.member("missed", statistics.foreseenMissed)
            body.endObject()
        }
        if store.hasWidgetKinds, budgets.budget != nil {
            body.name("budget")
            body.beginObject()
            body.member("units", budgets.unitCount)
            body.member("paid", statistics.budgetPaid)
            body.member("held", statistics.budgetHeld)
            body.endObject()
        }
        if store.hasAggregateKinds { body.member("refusedGroups", store.faults.refusedGroupCount) }
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
        body.member("guardErrors", store.faults.guardErrorCount)
        body.member("machineErrors", store.faults.refusedStepCount)
        body.member("stuckReadersCut", sessions.stuckReaderCount)
        if access.isEnforced { body.member("authFailures", access.failureCount) }
        if let expiry = statistics.certificateExpiry { body.member("certificateExpires", expiry.milliseconds) }
        statistics.kindFolder?.write(to: &body)
        body.member("storageFull", statistics.storageFullBatches)
        body.member("eventIDs", store.eventIDCount)
        let footprint = footprint(at: now.monotonic)
        body.member("dirtyKeys", footprint.dirtyKeyCount)
        body.member("sessionBytes", footprint.sessionByteCount)
        if footprint.leftOutCount > 0 { body.member("leftOut", footprint.leftOutCount) }
        body.name("sync")
        body.beginObject()
        body.member("count", statistics.syncCount)
        body.member(
            "meanMicroseconds", statistics.syncCount == 0 ? 0 : statistics.syncMicroseconds / statistics.syncCount)
        body.member("maxMicroseconds", statistics.longestSyncMicroseconds)
        body.name("buckets")
        body.beginArray()
        for bucket in statistics.syncBuckets {
            body.value(.array([.integer(Int64(bucket.microseconds)), .integer(Int64(bucket.count))]))
        }
        body.endArray()
        body.endObject()
        status?.write(to: &body, at: now.monotonic, connections: clientCount, leaving: leavingCount)
        body.endObject()
        return body.bytes
    }
}
