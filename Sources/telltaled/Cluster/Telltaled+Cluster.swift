import ArgumentParser
import Cluster
import Hub
import Journal
import Kinds
import Logging
import Replication
import ReplicationFile
import ReplicationNATS
import Server
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire

// Starts the daemon as a node of a cluster.
extension Telltaled {
    static func serveInCluster(
        _ configuration: Configuration, _ files: NamedFiles, logger: Logger
    ) throws -> Int32 {
        do {
            let manager = ServiceManager()
            let startedAt = ContinuousClock.now
            let journal = try openJournal(configuration, logger: logger)
            let reader = try reader(of: journal, configuration)
            var hub: Hub?
            var (lastRecord, lastWall, entities) = (Timestamp.distantPast, Timestamp.distantPast, 0)
            if journal.mark != nil {
                let found = try Recovery.recover(
                    journal, configuration: configuration.hub, logger: logger, manager: manager)
                (lastRecord, lastWall, entities) = (found.lastRecordTime, found.lastRecordWall, found.entityCount)
                hub = consume found
            }
            let loop = try EventLoop()
            let log = try openLog(configuration.cluster, epoch: reader.epoch, on: loop)
            let clock = Clock(
                speed: configuration.clockSpeed, lastRecord: lastRecord, lastWall: lastWall)
            var generator = SystemRandomNumberGenerator()
            let settings = configuration.cluster
            let replica = Replica(
                node: settings.node, address: settings.advertise, release: Release.version, reader: reader,
                newEpoch: max(1, generator.next()), instance: generator.next(), settings: settings.replica,
                at: clock.now.monotonic)
            var membership = MemberConfiguration(
                hub: configuration.hub, server: configuration.server(isJournalImmediate: false),
                kinds: files.kinds.kinds)
            membership.checkpoints = settings.checkpoints(retention: configuration.retention)
            var member = Member(replica, configuration: membership, at: clock.now.monotonic)
            let server = member.server(
                over: hub.take(), snapshotSequence: journal.snapshot?.sequence ?? 0, at: clock.now)
            _ = DescriptorLimit.raiseToMaximum()
            var status: Int32 = 0
            let daemon = try Daemon(
                loop: loop, server: server, journal: journal, clock: clock, configuration: configuration,
                files: files, logger: logger, manager: manager
            ) { status = $0 }
            let recovered = ContinuousClock.now - startedAt
            do {
                let edge = try ClusterEdge(member, over: log, of: daemon, logger)
                daemon.cluster = edge
                try daemon.listen()
                try daemon.start()
                announce(
                    daemon, epoch: reader.epoch ?? 0, entities: entities, recovered: recovered,
                    role: settings.isObserver ? "observer" : "standby")
                manager.ready()
                edge.start()
            } catch {
                daemon.giveUp()
                throw error
            }
            _ = loop.run()
            return status
        } catch let error as ExitCode {
            throw error
        } catch let error as ConfigurationFaults {
            for fault in error.faults { complain(fault) }
            throw ExitCode(78)
        } catch {
            complain("\(error)")
            throw ExitCode(1)
        }
    }

    /// Reads how much of the log the folder holds.
    private static func reader(of journal: any Journal, _ configuration: Configuration) throws -> LogReader {
        let name = configuration.cluster.name
        guard let mark = journal.mark else {
            guard journal.lastSequence == 0 else {
                throw ConfigurationFaults(faults: [
                    "--data \(configuration.data): has a history of its own, and not that of a cluster; name an empty folder"
                ])
            }
            return LogReader(cluster: name, epoch: nil)
        }
        let reader = try LogReader(mark: mark)
        guard reader.cluster == name else {
            throw ConfigurationFaults(faults: [
                "--data \(configuration.data): is a copy of the log of the cluster \(reader.cluster.harmless), not of \(name)"
            ])
        }
        return reader
    }

    /// The settings of the log store, as far as they are known without connecting to it.
    ///
    /// - Throws: ``ConfigurationFaults``.
    private static func logStore(of settings: ClusterSettings, epoch: UInt64?) throws(ConfigurationFaults)
        -> NATSLogConfiguration
    {
        var configuration = NATSLogConfiguration(
            cluster: settings.name, node: settings.node, servers: settings.logStore)
        configuration.credentials = settings.credentials
        configuration.monitors = settings.monitors
        configuration.isSyncTrusted = settings.isSyncTrusted
        configuration.epoch = epoch
        let faults = configuration.faults
        guard faults.isEmpty else { throw ConfigurationFaults(faults: faults.map { "--engine: \($0)" }) }
        return configuration
    }

    /// Reports the faults of the log's settings that can be found without connecting to it.
    static func checkLog(_ settings: ClusterSettings) throws {
        guard settings.isOn, !settings.isFile else { return }
        do {
            _ = try logStore(of: settings, epoch: nil)
        } catch {
            for fault in error.faults { complain(fault) }
            throw ExitCode(78)
        }
    }

    /// - Parameter epoch: The epoch in the folder; `nil` = none.
    private static func openLog(
        _ settings: ClusterSettings, epoch: UInt64?, on loop: EventLoop
    ) throws -> any ReplicatedLog {
        if settings.isFile, let logStore = settings.logStore.first {
            return try FileLog(String(logStore.dropFirst("file:".count)), node: settings.node, on: loop)
        }
        let log = try NATSLog(logStore(of: settings, epoch: epoch), on: loop)
        #if DEBUG
            if let bug = BrokenLog.wanted { return try BrokenLog(log, with: bug, on: loop) }
        #endif
        return log
    }
}
