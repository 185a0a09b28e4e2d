import Foundation
import Testing

/// Makes a program of a test: a copy of `source` that can be executed.
///
/// A child copies it. The system refuses to execute a file that a process has open for writing ("Text file busy"). Were
/// the file open in this process, a program that another test starts at that moment would inherit the descriptor, and
/// hold it until its own `exec`. A child's descriptors are its own.
func makeExecutable(_ file: URL, from source: URL) throws {
    let install = try RunningProgram(
        URL(filePath: "/usr/bin/env"), ["install", "-m", "755", source.path, file.path])
    try #require(install.waitForExit() == 0, "\(install.standardError)")
}

/// The same for a script with a `#!` line, which is executed as a file too.
func makeExecutable(_ file: URL, holding script: String) throws {
    let source = file.appendingPathExtension("text")
    try Data(script.utf8).write(to: source)
    try makeExecutable(file, from: source)
}
