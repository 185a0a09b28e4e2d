import ArgumentParser
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire

struct ConnectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect", abstract: "Speaks the line protocol by hand.",
        discussion: """
            What is typed is sent as it is, line by line, and each line of the daemon is printed. On a terminal there is a \
            prompt: TAB completes verbs, kinds, keys, attributes and values, the arrow keys bring earlier lines back, and \
            ctrl-D ends. HELP lists the verbs. Signs of life of the daemon (MARK) are not shown.

            Into and out of pipes it is plain: every line is printed, and after the end of the input it ends with the last \
            reply, or follows what was subscribed to. An ERR among the replies makes the exit status 1.

            With a token or an account it introduces itself first (HELLO).

              telltale connect
              echo 'LIST coffee-order/*' | telltale connect
            """)

    /// An interactive session stays with one server: the one that serves now.
    private func serving(_ endpoints: EndpointList, _ configuration: ClientConfiguration) throws -> Endpoint {
        guard endpoints.endpoints.count > 1 else { return endpoints.first }
        do throws(ClientFailure) {
            return try BlockingClient(to: endpoints, configuration: configuration, timeout: .seconds(20)).endpoint
        } catch {
            throw DaemonOptions.exit(after: error)
        }
    }

    @Option(help: "The surface of HELLO: the default view of SUB, GET and LIST.") var surface: ViewName?
    @OptionGroup var who: AccountOption
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        let (endpoint, configuration) = try daemon.connection(account: who.account)
        var hello = Hello()
        hello.client = configuration.name
        hello.account = configuration.account
        hello.token = configuration.token
        if case .surface(let surface)? = surface { hello.surface = surface }
        let isNeeded = hello.account != nil || hello.token != nil || hello.surface != nil
        try ConnectSession(
            to: try serving(endpoint, configuration), tls: configuration.tls, hello: isNeeded ? hello : nil
        ).run()
    }
}
