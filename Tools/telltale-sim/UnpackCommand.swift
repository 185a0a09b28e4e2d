import ArgumentParser
import Demo
import Foundation
import ToolSupport

/// `telltale-sim unpack DIR`
struct UnpackCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpack",
        abstract: "Write the files that are inside the program: scenarios, their data, and kind files.",
        discussion: """
            A scenario of your own begins well as a copy of one that ships. DIR/kinds is a folder of kinds for a daemon. Files \
            that are there already are not overwritten: one that is different is named, and the exit code is 1.

              telltale-sim unpack /tmp/telltale
              telltaled --data /tmp/telltale/data --kinds /tmp/telltale/kinds
              telltale-sim run /tmp/telltale/scenarios/lunch-rush.json
            """)

    @Argument(help: ArgumentHelp("A folder; made when it is absent.", valueName: "DIR")) var folder: String

    func run() throws {
        let top = URL(filePath: folder)
        var (written, different) = (0, 0)
        for file in ShippedFiles.all {
            let target = top.appending(path: file.name)
            do {
                try FileManager.default.createDirectory(
                    at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
                if let there = FileManager.default.contents(atPath: target.path) {
                    guard there != Data(file.bytes) else { continue }
                    complain("telltale-sim: \(target.path) is there already and differs; choose another folder")
                    different += 1
                } else {
                    try Data(file.bytes).write(to: target, options: .withoutOverwriting)
                    written += 1
                }
            } catch {
                throw ExitCode.failed("\(target.path) cannot be written: \(error.localizedDescription)")
            }
        }
        Output.text("\(written) files written to \(top.path)")
        if different > 0 { throw ExitCode.failure }
    }
}
