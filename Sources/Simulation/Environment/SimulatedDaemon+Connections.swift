import Hub
import Server
import TelltaleModel

// Inputs from the network.
extension SimulatedDaemon {
    func accept(_ link: Link) {
        guard server?.isStopping == false, let id = server?.connected(at: now) else {
            world.schedule(.lostAtClient(link), after: world.wireDelay())
            return
        }
        link.session = id
        links[id] = link
    }

    /// Reads the file of principals, where there is one.
    func readPrincipals() {
        if let principals = world.principals {
            server?.principalsLoaded(principals.directory(isRestarted: generation > 1))
        }
    }

    func principalsChanged() {
        if world.bug == .grownRightsTaken, let principals = world.principals {
            server?.principalsLoaded(principals.directory(isRestarted: generation > 1, lacksGrown: true))
            turn()
        }
        readPrincipals()
        turn()
    }

    func received(_ bytes: [UInt8], on link: Link) {
        guard link.session != nil else { return }
        link.arrived.append(bytes)
        readArrived(on: link)
        turn()
    }

    /// Reads what has arrived, unless the connection is not to be read from.
    func readArrived(on link: Link) {
        guard let id = link.session, !link.arrived.isEmpty else { return }
        if link.isPaused {
            guard world.bug == .pauseIgnored else { return }
        }
        let bytes = link.arrived.take(link.arrived.count)
        let wantsMore = server?.received(world.tampered(bytes).span, from: id, at: now) ?? true
        rules.check(readFrom: link, in: world)
        if !wantsMore { link.isPaused = true }
    }

    func inputEnded(_ link: Link) {
        guard let id = link.session else { return }
        if world.bug == .halfCloseHangsUp {
            lost(link)
            return world.schedule(.lostAtClient(link), after: world.wireDelay())
        }
        guard link.arrived.isEmpty else {
            // The end is read behind what came before it.
            link.hasEndArrived = true
            return
        }
        server?.inputEnded(id)
        turn()
    }

    func lost(_ link: Link) {
        guard let id = link.session else { return }
        link.session = nil
        links[id] = nil
        blocked.removeAll { $0 === link }
        server?.disconnected(id)
        turn()
    }

    func becameWritable(_ link: Link) {
        guard let id = link.session else { return }
        blocked.removeAll { $0 === link }
        link.blockedSince = nil
        if world.bug != .neverWritable || world.now % 5 != 0 { server?.becameWritable(id) }
        turn()
    }

    /// Tells the server which blocked readers took something: once a second, and before it looks at its sessions.
    func tellProgress() {
        guard world.bug != .slowReaderCut else { return }
        for link in blocked where world.now - link.lastProgress <= 1_000 {
            if let id = link.session { server?.progressed(id, at: now) }
        }
    }

    func lookAtBlocked() {
        tellProgress()
        for link in blocked {
            guard link.session != nil else { continue }
            let pause = world.now - link.lastProgress
            // The server hears of progress once a second, and of its end as late.
            if pause > 33_000 {
                world.violated("P7", "a reader has taken nothing for \(pause) ms, and is not cut")
            }
        }
        world.schedule(.lookAtBlocked(generation: generation), after: 1_000)
        turn()
    }

    /// The operator has edited the kinds of widgets, and the daemon reads them, now or when it starts.
    func reloadKinds() {
        edition += 1
        guard let edited = try? world.kinds(edition: edition) else { return }
        let isForgotten = world.bug == .reloadForgotten
        if !isForgotten { kinds = edited }
        guard isUp, server?.isStopping == false, !isForgotten else { return }
        do {
            try server?.adopt(kinds)
        } catch {
            world.violated("widgets", "the kinds are not reloaded: \(error)")
        }
        turn()
    }
}
