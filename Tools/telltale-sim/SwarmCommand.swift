import ArgumentParser
import Simulation
import ToolSupport

/// `telltale-sim swarm`: whole worlds in process, one a seed, and the checkers of the promises over each.
struct SwarmCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "swarm", abstract: "Simulate a daemon, its disk, network and clients, many times over.",
        discussion: """
            A seed decides which faults happen and when: crashes, full disks, slow and stuck readers, broken \
            connections, sliced lines, clocks that jump, providers that lie. A failure prints its seed and the commit; \
            --seed SEED repeats it to the byte. Exit 1 when a promise was not kept.

              telltale-sim swarm --seeds 1000
              telltale-sim swarm --seed 77 --trace     what every client sends and reads
              telltale-sim swarm --seed 77 --shrink    the smallest scenario that fails
              telltale-sim swarm --bugs --seeds 30     in how many seeds each bug is found
            """)

    @OptionGroup var options: SeedOptions
    @Option(help: ArgumentHelp("Posts and taps of each world.", valueName: "N"))
    var inputs = 2_000
    @Flag(help: "With --bugs: look at no more seeds for a bug that is found, instead of counting those that find it.")
    var once = false
    @Flag(help: "Turn down what the first seed's failure does not need, and print the rest as a scenario file.")
    var shrink = false

    func validate() throws {
        guard inputs > 0 else { throw ValidationError("--inputs takes a number from 1") }
        _ = try options.planted(SeededBug.self)
    }

    func run() throws {
        let worlds = Swarm(inputs: inputs)
        if shrink, !options.bugs, !options.trace { return try shrinkFirst(of: worlds) }
        try SeedRuns(
            worlds: worlds, options: options, command: "swarm",
            ownOptions: inputs == 2_000 ? "" : " --inputs \(inputs)",
            shrinks: true, countsFinds: !once
        ).run()
    }

    private func shrinkFirst(of worlds: Swarm) throws {
        let bug = try options.planted(SeededBug.self)
        let found = Swarm.shrink(worlds.climate(options.first), bug: bug) { climate, violation in
            complain("still with \(climate.inputs) inputs, \(climate.screens) screens: \(violation.promise)")
        }
        guard let (climate, violation) = found else { return Output.text("seed \(options.first) keeps every promise") }
        Output.write(climate.scenarioText(title: "Seed \(options.first), made smaller") + "\n")
        complain("\(violation)")
        throw ExitCode(1)
    }
}
