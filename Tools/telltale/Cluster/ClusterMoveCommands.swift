import ArgumentParser
import Journal
import JournalSQLite
import Replication
import TelltaleModel
import ToolSupport

struct ClusterInitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Makes a single daemon's history that of a cluster.",
        discussion: """
            The daemon of DIR is stopped, and so is every node. Its records go into the log, which has none yet, under the \
            same epoch: cursors of before are good, and clients notice that they connect again. DIR is then the copy of the \
            node --node; start it first, and other nodes with empty folders behind it. What was interrupted goes on when it \
            is run again.
            """)

    @OptionGroup var folder: JournalFolderArgument
    @OptionGroup var logStore: LogStoreOptions
    @Flag(help: "One JSON object.") var json = false

    func run() throws {
        try ClusterMoveReport.run(folder.path, logStore, json, named: "filling the log", sync: .follower) {
            journal, logStore, progress in
            guard journal.mark == nil else {
                throw HistoryMove.Refusal(
                    kind: .configuration,
                    reason: "\(folder.path) is a node's copy of a log already; start telltaled with --cluster")
            }
            try ClusterMover.run(.intoLog(epoch: journal.epoch), of: journal, logStore, progress)
            return "the log of \(logStore.cluster) has it, and \(folder.path) is the copy of \(logStore.node)"
        }
    }
}

struct ClusterLeaveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave", abstract: "Makes the folder of a node a single daemon's again.",
        discussion: """
            All nodes are stopped. DIR gets what the log has and DIR has not, and the log is sealed: no node goes on with it. \
            The epoch stays, and cursors are good. Start telltaled on DIR without --cluster; the folders of the other \
            nodes are of no use any more.
            """)

    @OptionGroup var folder: JournalFolderArgument
    @OptionGroup var logStore: LogStoreOptions
    @Flag(help: "One JSON object.") var json = false

    func run() throws {
        try ClusterMoveReport.run(folder.path, logStore, json, named: "reading the log", sync: .full) {
            journal, logStore, progress in
            try ClusterMover.run(.outOfLog, of: journal, logStore, progress)
            return "the log of \(logStore.cluster) is sealed, and \(folder.path) is a single daemon's folder"
        }
    }
}

struct ClusterRestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Begins the log anew from a node's folder, after a loss of the engine.",
        discussion: """
            All nodes are stopped, and the engine has an empty log. DIR is the most advanced copy: `telltale journal info` \
            on each machine tells the newest record, and `telltale cluster status` names the node while nodes run. What \
            only other copies have is lost. The history gets a new epoch, so that every client gets a fresh copy. Start the \
            node of DIR first, and the others with empty folders. What was interrupted goes on when it is run again.
            """)

    @OptionGroup var folder: JournalFolderArgument
    @OptionGroup var logStore: LogStoreOptions
    @Flag(help: "One JSON object.") var json = false

    func run() throws {
        try ClusterMoveReport.run(folder.path, logStore, json, named: "filling the log", sync: .follower) {
            journal, logStore, progress in
            guard journal.mark != nil else {
                throw HistoryMove.Refusal(
                    kind: .configuration,
                    reason:
                        "\(folder.path) is no node's copy of a log; for a single daemon's there is telltale cluster init"
                )
            }
            let epoch = UInt64.random(in: 1 ... .max)
            try ClusterMover.run(.anew(epoch: epoch), of: journal, logStore, progress)
            return
                "the log of \(logStore.cluster) has it under a new epoch, and \(folder.path) is the copy of \(logStore.node)"
        }
    }
}

/// The output and the exit status of a move.
private enum ClusterMoveReport {
    static func run(
        _ path: String, _ logStore: LogStoreOptions, _ json: Bool, named name: String, sync: SQLiteJournal.Sync,
        _ body: (SQLiteJournal, LogStorePlace, JournalProgress) throws -> String
    ) throws {
        do {
            let logStore = try logStore.place()
            // Opening it would create the folder.
            _ = try JournalInspector(path)
            var options = SQLiteJournal.Options()
            options.sync = sync
            let journal = try SQLiteJournal(path, options)
            if let reason = journal.opening.epochReplaced {
                complain("telltale: the history may not be whole, so it has a new epoch: \(reason)")
            }
            let text = try body(journal, logStore, JournalProgress(name))
            try journal.close()
            FolderOwner.advise(path)
            printMove(journal, text, logStore, json)
        } catch let refusal as HistoryMove.Refusal {
            try end(refusal.reason, status(of: refusal.kind), json)
        } catch let error as JournalError {
            if case .locked = error { try end("\(error)", .configuration, json) }
            try end("\(error)", .failure, json)
        }
    }

    private static func printMove(_ journal: SQLiteJournal, _ text: String, _ logStore: LogStorePlace, _ json: Bool) {
        guard json else {
            return Output.text("\(journal.lastSequence) records of epoch \(hex(journal.epoch)): \(text)")
        }
        Output.json(
            [
                "ok": true, "cluster": .string(logStore.cluster), "node": .string(logStore.node),
                "epoch": .string(hex(journal.epoch)), "last": .integer(journal.lastSequence),
            ])
    }

    private static func hex(_ epoch: UInt64) -> String { JournalInfoCommand.hex(epoch) }

    private static func status(of kind: HistoryMove.Refusal.Kind) -> ExitStatus {
        switch kind {
        case .configuration: .configuration
        case .unavailable: .noDaemon
        case .failure: .failure
        }
    }

    private static func end(_ reason: String, _ status: ExitStatus, _ json: Bool) throws -> Never {
        if json {
            Output.json(["ok": false, "error": .string(reason)])
        } else {
            complain("telltale: \(reason)")
        }
        throw status.code
    }
}
