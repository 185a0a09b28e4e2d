import ArgumentParser
import TelltaleModel

struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Is the provider of a kind: runs a command for each action.",
        discussion: """
            The command runs in a shell with TELLTALE_KEY, TELLTALE_ACTION (set, press or timeline), TELLTALE_VALUE (on, off \
            or empty), TELLTALE_REASON (of a timeline), TELLTALE_OP and TELLTALE_DEADLINE (Unix ms). Exit status 0 is done, anything else failed.

            A toggle's command may print what the thing is now, on or off, as its last line; without that the value is \
            taken for what was asked, and told as assumed. What a failing command prints last on standard error is told \
            to whoever tapped; what came of each action is a line on standard error. A command that is still at it when \
            its deadline comes, or when the same control is to do something else, is terminated. What a command has begun \
            and left behind is not waited for.

            A widget asks with timeline. The command prints the timeline as its last line: {"entries":[...]}.

            With --json standard output has an object a line, each with an "event": serving (again after a lost \
            connection), do, done, failed, replaced (by another action of the same control, or because the daemon has another history), \
            with --report kind_removed, disconnected, \
            and skipped, where the reader of standard output was too slow for "count" of them.

              telltale serve porch-light --exec 'curl -f http://lamp/$TELLTALE_VALUE'
              telltale serve porch-light --report front=off --exec true
              telltale serve porch-light --exec ./switch --json | jq .event
              telltale serve weather --exec ./forecast
            """)

    @Argument(help: "The kind to serve.") var kind: String
    @Option(help: ArgumentHelp("What does it.", valueName: "command")) var exec: String
    @Option(
        help: ArgumentHelp(
            "How a control is when this begins, as front=off, or front for a button; may be repeated.",
            valueName: "id[=on|off]"))
    var report: [String] = []
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        guard Key.isSegment(kind.utf8) else {
            throw ValidationError("KIND is to be 1 to 64 of [A-Za-z0-9._~:@-], not '\(kind)'.")
        }
        _ = try reports()
    }

    func run() throws {
        let (endpoint, configuration) = try daemon.connection()
        try Provider(
            endpoint: endpoint, configuration: configuration, kind: kind, command: exec, reports: try reports(),
            log: ServeLog(json: output.json)
        ).run()
    }

    private func reports() throws -> [(key: Key, value: Bool?)] {
        try report.map { text in
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            let value: Bool? =
                switch parts.count > 1 ? parts[1] : "" {
                case "on": true
                case "off": false
                case "": nil
                case _: throw ValidationError("--report is to be ID, ID=on or ID=off, not '\(text)'.")
                }
            guard let key = Key(kind: kind, id: parts.first ?? "") else {
                throw ValidationError("--report: '\(text)' does not begin with the id of a control.")
            }
            return (key, value)
        }
    }
}
