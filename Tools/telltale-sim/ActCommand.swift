import ArgumentParser
import Foundation
import Simulation
import TelltaleModel
import ToolSupport

struct ActCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "act", abstract: "Does one action of a provider, badly: for telltale serve --exec.",
        discussion: """
            Takes its time, then ends with 0 and prints the value that the thing has now, or complains and ends with 1.

              telltale serve porch-light --exec 'telltale-sim act --fail 30'
            """)

    @OptionGroup var options: ProviderOptions

    func run() throws {
        let environment = ProcessInfo.processInfo.environment
        var thing = SimulatedProvider(temper: options.temper, seed: options.seedOrRandom)
        let key = environment["TELLTALE_KEY"].flatMap { Key($0) } ?? Key(kind: "thing", id: "one")
        guard let key else { throw ExitCode.failure }
        let value = environment["TELLTALE_VALUE"].flatMap { $0 == "on" ? true : $0 == "off" ? false : nil }
        let (delay, answer) = thing.answer(to: key, value: value)
        Thread.sleep(forTimeInterval: Double(delay.count) / 1_000)
        switch answer {
        case .done(let value): if let value { Output.text(value ? "on" : "off") }
        case .failed(_, let message):
            complain(message)
            throw ExitCode.failure
        case .silence: while true { Thread.sleep(forTimeInterval: 3_600) }
        }
    }
}
