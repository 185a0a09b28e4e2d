import ArgumentParser
import Foundation
import Kinds

/// `telltale kinds run`.
struct KindsRunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Try a kind's machine without a daemon.",
        discussion: """
            Reads events from standard input, one a line, with or without the content that comes with it:

                confirm
                ready {"shelf":"B"}
                after 5m

            and prints the initial configuration, then for each line the event, its verdict, and the active states.
            """)

    @Argument(help: "A kind file of type activity.") var file: String
    @Flag(help: "Print a JSON object a line: event, verdict, configuration, leaves.") var json = false

    func run() throws {
        let kind = try KindFiles.kind(file)
        guard case .activity(let activity) = kind.body else {
            StandardError.write("telltale: \(file): a control has no machine to try")
            throw ExitCode.failure
        }
        var trial: MachineTrial
        do {
            trial = try MachineTrial(activity, format: json ? .json : .text)
        } catch {
            StandardError.write("telltale: \(file): the machine cannot start: \(error)")
            throw ExitCode.failure
        }
        let input = FileHandle.standardInput
        var isComplete = false
        while !isComplete {
            flush(&trial)
            if let piece = try input.read(upToCount: 1 << 16), !piece.isEmpty {
                trial.feed(Array(piece)[...])
            } else {
                trial.finish()
                isComplete = true
            }
        }
        flush(&trial)
    }

    /// What is ready goes out before more is waited for, so that a person or a program at the other end of a pipe sees
    /// each answer at once.
    private func flush(_ trial: inout MachineTrial) {
        for complaint in trial.complaints { StandardError.write("telltale: \(complaint)") }
        trial.complaints = []
        guard !trial.output.isEmpty else { return }
        Output.write(trial.output)
        trial.output.removeAll(keepingCapacity: true)
    }
}
