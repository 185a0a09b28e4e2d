import ArgumentParser
import CFanOut
import Glibc

/// `telltale-bench relay`: the plain C fan-out as a process of its own, for `peers`.
struct RelayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay", abstract: "A plain fan-out in C, which peers measures.", shouldDisplay: false)

    @Option(help: "Milliseconds between two flushes while busy; 0 = none.") var pace = 1

    func run() throws {
        let status = fanout_relay(CInt(clamping: pace))
        throw ServerProcess.StartFailure(description: unsafe String(cString: strerror(status)))
    }
}
