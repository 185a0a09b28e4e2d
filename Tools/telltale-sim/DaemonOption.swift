import ArgumentParser
import Foundation
import TelltaleEventLoop

/// `--connect`: where the daemon is that a command talks to.
struct DaemonOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where the daemon listens; else TELLTALE_CONNECT, else 127.0.0.1:7878.", valueName: "HOST:PORT|unix:PATH"))
    var connect: String?

    func validate() throws { _ = try endpoint }

    var endpoint: Endpoint {
        get throws {
            let text = connect ?? ProcessInfo.processInfo.environment["TELLTALE_CONNECT"] ?? "127.0.0.1:7878"
            guard let endpoint = Endpoint(text) else {
                throw ValidationError("--connect \(text): write HOST:PORT or unix:PATH")
            }
            return endpoint
        }
    }
}
