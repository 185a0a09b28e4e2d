import Foundation

/// Runs `telltale` against a daemon, as a shell does.
struct Shell {
    struct Result {
        var status: Int32
        var lines: [String]
        var error: String
        var text: String { lines.joined(separator: "\n") }
    }

    let address: String

    init(_ address: String) { self.address = address }
    init(_ daemon: DaemonProcess) { address = "127.0.0.1:\(daemon.port)" }

    func start(_ arguments: String...) throws -> RunningProgram { try start(arguments) }

    func start(_ arguments: [String]) throws -> RunningProgram {
        try RunningProgram(program("telltale"), arguments, environment: ["TELLTALE_CONNECT": address])
    }

    func run(_ arguments: String...) throws -> Result { try run(arguments) }

    func run(_ arguments: [String]) throws -> Result {
        let process = Process()
        let (output, errors) = (Pipe(), Pipe())
        process.executableURL = program("telltale")
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["TELLTALE_CONNECT": address]) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        let error = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Result(
            status: process.terminationStatus,
            lines: String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init),
            error: String(decoding: error, as: UTF8.self))
    }
}
