import ArgumentParser
import Simulation

/// `telltale-sim pushes`: worlds in which telltale-push sends the states of activities to devices, one a seed.
struct PushesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushes", abstract: "Simulate a sender of pushes beside a daemon, many times over.",
        discussion: """
            A seed decides which faults happen and when: daemon and telltale-push are killed between any two of their steps, \
            connections break, the daemon's disk fills up; the push service loses answers, throttles and fails; devices \
            replace their tokens. In the end each card is as the daemon has its activity, none was shown an older state \
            after a newer one, no alert and no start came twice, and no start is missing of which no push was lost. Exit \
            1 when one was not so.

              telltale-sim pushes --seeds 1000
              telltale-sim pushes --seed 77 --trace    what every connection says
              telltale-sim pushes --bugs --seeds 300   the seed that finds each planted bug
            """)

    @OptionGroup var options: SeedOptions

    func validate() throws { _ = try options.planted(PushBug.self) }

    func run() throws { try SeedRuns(worlds: PushSwarm(), options: options, command: "pushes").run() }
}
