import ArgumentParser
import Simulation

/// `telltale-sim cluster`: three daemons over one replicated log, in process, one cluster a seed.
struct ClusterSwarmCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster", abstract: "Simulate three daemons over a replicated log, many times over.",
        discussion: """
            A seed decides which faults happen and when: nodes that are killed, stopped, cut off or wiped, clocks apart, \
            beats that are not told, elections of the engine, acknowledgements that are lost, late or come twice, reads \
            that are old, a full disk, an engine that takes only short messages or nothing of a node, moves of the history into another log, a server of the engine that does not \
            sync, two processes of one name, and bugs of the engine, which a cluster must tell. Exit 1 when a promise was not kept.

              telltale-sim cluster --seeds 1000
              telltale-sim cluster --seed 77 --trace    what nodes, engine and clients do
              telltale-sim cluster --bugs --seeds 1000  the seed that finds each planted bug
            """)

    @OptionGroup var options: SeedOptions

    func validate() throws { _ = try options.planted(ClusterBug.self) }

    func run() throws { try SeedRuns(worlds: ClusterSwarm(), options: options, command: "cluster").run() }
}
