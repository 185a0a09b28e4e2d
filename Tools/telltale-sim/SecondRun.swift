import ArgumentParser
import Foundation
import Simulation
import ToolSupport

/// The same seeds once more, in a process of its own: `--twice`.
///
/// A process orders sets and dictionaries in its own way. Two runs in one process agree where a simulation hangs on that order.
enum SecondRun {
    /// Marks the seeds of which the second run gives other bytes.
    ///
    /// - Throws: Where that run ends before it has told all seeds.
    static func compare(_ results: inout [some SeedResult]) throws {
        let hashes = try hashes()
        for index in results.indices where results[index].violation == nil {
            guard let other = hashes[results[index].seed] else {
                throw ValidationError("the second process ended before seed \(results[index].seed)")
            }
            guard other != results[index].hash else { continue }
            results[index].violation = Violation(promise: "P10", what: "two processes differ", time: 0)
        }
    }

    /// Prints the hashes, in the second process.
    static func tell(_ results: [some SeedResult]) {
        for result in results { Output.line("\(result.seed) \(result.hash)") }
    }

    private static func hashes() throws -> [UInt64: UInt64] {
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
        return hashes
    }
}
