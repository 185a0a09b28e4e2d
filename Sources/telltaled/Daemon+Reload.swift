import Hub
import Journal
import Kinds
import Logging
import Machines
import Server
import TelltaleEventLoop

// The listeners, and what SIGHUP reloads.
extension Daemon {
    func listen() throws(UVError) {
        var options = configuration.listenerOptions
        options.farewell = { [unowned self] in refuseConnection() }
        for endpoint in configuration.endpoints { listeners.append(try listen(at: endpoint, options)) }
        try listenForOperators()
        guard let first = certificate?.context else { return }
        options.tls = { [unowned self] in certificate?.context ?? first }
        for endpoint in configuration.tlsListeners { tlsListeners.append(try listen(at: endpoint, options)) }
    }

    private func listen(at endpoint: Endpoint, _ options: Listener.Options) throws(UVError) -> Listener {
        try Listener(at: endpoint, on: loop, options: options) { [unowned self] connection in accept(connection) }
    }

    /// The line for a client that is refused for lack of room.
    private func refuseConnection() -> [UInt8] {
        if let count = refusals.refused(at: clock.now.monotonic) {
            logger.warning(
                "no room for more connections: limit_conns; raise the limit of open files (ulimit -n)",
                metadata: ["refused": "\(count)"])
        }
        return server.refusedConnection()
    }

    /// The endpoints that are actually bound.
    var endpoints: [Endpoint] { listeners.map(\.endpoint) }
    var tlsEndpoints: [Endpoint] { tlsListeners.map(\.endpoint) }

    func stopListening() {
        listeners = []
        tlsListeners = []
        operatorListener = nil
    }

    func reloadPrincipals(isAsked: Bool) {
        guard let directory = principals?.reread(isAsked: isAsked, logger) else { return }
        self.directory = directory
        server.principalsLoaded(directory)
    }

    func retryCertificate() {
        guard certificate?.retry(logger) == true, let certificate else { return }
        server.certificateLoaded(expiry: certificate.expiry)
    }

    /// Logs the edition of the decision rules in force, and how to adopt a newer one.
    func reportRules() {
        let (rules, newest) = (server.rules, DecisionRules.newest.number)
        guard rules < newest else { return logger.info("decides by the newest rules", metadata: ["rules": "\(rules)"]) }
        logger.notice(
            "this history is decided by the rules of an earlier release; --rules \(newest) moves it to those of this one",
            metadata: ["rules": "\(rules)"])
    }

    /// Logs that `--rules` asks for older rules than those in force, which changes nothing.
    func reportOlderRules() {
        guard let asked = configuration.hub.decisions.rules?.number, asked < server.rules else { return }
        logger.warning(
            "this history does not go back to --rules \(asked); start without it, or with the rules in force",
            metadata: ["rules": "\(server.rules)"])
    }

    /// Reloads everything that the daemon keeps a copy of. The kinds are read on another thread, because a folder of
    /// some hundred takes a second.
    func reload() {
        guard manager.reloading() else { return }
        reloadPrincipals(isAsked: true)
        certificate?.reload(logger)
        if let certificate { server.certificateLoaded(expiry: certificate.expiry) }
        if reloads.ask() { readKinds() }
    }

    private func readKinds() {
        let (sender, logger, former) = (mailbox.sender, logger, kindFolder)
        startThread(isBackground: true) {
            var folder = former
            let kinds = Result { () throws(KindFolder.Unreadable) in
                let (kinds, diagnostics) = try folder.load()
                // Some hundred lines would keep the loop for milliseconds.
                for diagnostic in diagnostics { logger.log(diagnostic) }
                return kinds
            }
            _ = sender.post(.kindsRead(folder, kinds))
        }
    }

    func kindsRead(_ folder: KindFolder, _ result: Result<KindSet?, KindFolder.Unreadable>) {
        kindFolder = folder
        guard !server.isStopping else { return }
        adopt(result)
        if reloads.ended() { readKinds() } else { manager.reloaded() }
    }

    private func adopt(_ result: Result<KindSet?, KindFolder.Unreadable>) {
        do {
            guard let kinds = try result.get() else {
                logger.error("the kinds were not reloaded; the old ones stay in force")
                return report(kindFolder.faults.joined(separator: "\n"), isInForce: false)
            }
            cluster?.kindsRead(kinds.kinds)
            // A standby uses the kinds of the log, not those of a folder.
            if cluster?.isLeading == false {
                return logger.info("kinds are read by the node that leads, and this one does not")
            }
            let former = server.rules
            let own = configuration.isDeveloping ? server.revised(kinds.kinds) : kinds.kinds
            // Outside a cluster, these settings have been in force since the start; a leader has those of the log.
            try server.adopt(own, configuration.hub.decisions)
            if server.rules != former { reportRules() }
            reportOlderRules()
            logger.info("kinds reloaded", metadata: ["count": "\(kinds.kinds.count)"])
            report(development?.changes(to: own) ?? "", isInForce: true)
        } catch {
            logger.error("the kinds were not reloaded; the old ones stay in force: \(error)")
            report("\(error)", isInForce: false)
        }
    }

    // MARK: A folder that is followed

    /// Reads the folder whenever a file of it was saved (`--dev`).
    ///
    /// - Parameter kinds: What was read at the start.
    func followKinds(_ kinds: [Kind]) throws(UVError) {
        development = try Development(server.revised(kinds), of: self)
        report("a saved kind is in force at once", isInForce: true)
    }

    func kindsChanged() { if reloads.ask() { readKinds() } }

    private func report(_ text: String, isInForce: Bool) {
        guard let development else { return }
        server.kindsRead(development.report(text, isInForce: isInForce))
    }
}

/// What a daemon with `--dev` remembers of its folder of kinds.
final class Development {
    private var watch: KindFolderWatch
    private var timer: TimerHandle?
    private var readings = -1
    /// By their names.
    private var versions: [String: Int]

    init(_ kinds: [Kind], of daemon: Daemon) throws(UVError) {
        watch = KindFolderWatch(daemon.kindFolder)
        versions = Dictionary(kinds.map { ($0.name, $0.version) }) { first, _ in first }
        timer = try TimerHandle(on: daemon.loop) { [unowned self, unowned daemon] _ in
            if watch.hasSettled(daemon.kindFolder) { daemon.kindsChanged() }
        }
        timer?.scheduleRepeating(everyMilliseconds: KindFolderWatch.intervalMilliseconds)
    }

    /// The kinds that are new or have another version than at the last reading, for people.
    func changes(to kinds: [Kind]) -> String {
        let now = Dictionary(kinds.map { ($0.name, $0.version) }) { first, _ in first }
        defer { versions = now }
        let changed = kinds.filter { versions[$0.name] != $0.version }.map { "\($0.name) version \($0.version)" }
        let gone = versions.keys.filter { now[$0] == nil }.sorted().map { "\($0) is gone" }
        return (changed + gone).isEmpty ? "nothing has changed" : (changed + gone).joined(separator: ", ")
    }

    func report(_ text: String, isInForce: Bool) -> KindFolderReport {
        readings += 1
        return KindFolderReport(readings: readings, isInForce: isInForce, text: String(text.prefix(2_000)))
    }
}
