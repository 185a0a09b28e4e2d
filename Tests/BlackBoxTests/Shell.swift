import Foundation
import Testing

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
        let program = try start(arguments)
        let text = program.readText()
        let status = try #require(program.waitForExit(), "telltale \(arguments) does not end")
        return Result(
            status: status, lines: text.split(separator: "\n").map(String.init), error: program.standardError)
    }
}
