import Foundation
import Simulation
import ToolSupport

/// The same seeds once more, in a process of its own: `--twice`.
///
/// A process orders sets and dictionaries in its own way. Two runs in one process agree where a simulation hangs on that order.
enum SecondRun {
    /// Marks the seeds of which the second run gives other bytes.
    ///
    /// - Returns: How the second process ended, where it has not reported every seed.
    static func compare(_ results: inout [SeedResult]) throws -> String? {
        let (hashes, ending) = try run()
        var untold: [String] = []
        for index in results.indices {
            guard let other = hashes[results[index].seed] else {
                untold.append("\(results[index].seed)")
                continue
            }
            guard other != results[index].hash else { continue }
            results[index].violation =
                results[index].violation ?? Violation(promise: "P10", what: "two processes differ", time: 0)
        }
        guard !untold.isEmpty else { return nil }
        return "the second process ended by \(ending), and has not told the seeds "
            + untold.prefix(16).joined(separator: ", ") + (untold.count > 16 ? ", …" : "")
    }

    /// Prints a hash, in the second process, when its seed has ended. Where the first process is gone, this ends the second.
    static func printLine(_ result: SeedResult) { Output.line("\(result.seed) \(result.hash)") }

    private static func run() throws -> (hashes: [UInt64: UInt64], ending: String) {
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        process.arguments = CommandLine.arguments.dropFirst().filter { $0 != "--twice" } + ["--hashes"]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let text = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        var hashes: [UInt64: UInt64] = [:]
        for line in text.split(separator: "\n") {
            let numbers = line.split(separator: " ").compactMap { UInt64($0) }
            if numbers.count == 2 { hashes[numbers[0]] = numbers[1] }
        }
        let isKilled = process.terminationReason == .uncaughtSignal
        return (hashes, "\(isKilled ? "signal" : "status") \(process.terminationStatus)")
    }
}
