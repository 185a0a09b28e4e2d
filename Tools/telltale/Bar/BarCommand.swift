public import ArgumentParser
public import Console
import TelltaleClient
import TelltaleModel
import TelltaleWire
import ToolSupport

extension BarFormat: ExpressibleByArgument {}

/// `telltale bar`: activities and controls in a status bar.
struct BarCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bar", abstract: "Activities and controls in waybar, i3blocks, polybar, SwiftBar or xbar.",
        discussion: """
            telltale bar waybar, i3blocks, polybar or swiftbar runs on, writes a block for each change in the bar's own \
            format, and connects again by itself; what is shown is dim meanwhile. telltale bar xbar writes one block and \
            ends. A click opens the deep link of an activity, switches a toggle or presses a button.

              telltale bar waybar --account alice
              telltale bar polybar 'coffee-order/*'
              telltale bar click porch-light/front
            """,
        subcommands: [BarShowCommand.self, BarClickCommand.self], defaultSubcommand: BarShowCommand.self)
}

/// The rows of the daemon that a bar shows.
struct BarSelection: ParsableArguments {
    @Option(help: "The surface whose views are shown, or full.") var view = ViewName.surface(.desktop)
    @OptionGroup var who: AccountOption
    @OptionGroup var daemon: DaemonOptions

    /// - Parameter display: Shows the rows.
    func watch(
        _ pattern: TelltaleModel.Pattern, on display: any WatchDisplay, endsWhenLive: Bool, isPatient: Bool
    ) throws -> Watch {
        var (endpoint, configuration) = try daemon.connection(account: who.account)
        if case .surface(let surface) = view { configuration.surface = surface }
        var subscribe = SubscribeCommand(pattern: pattern)
        subscribe.view = view
        return Watch(
            endpoint: endpoint, configuration: configuration, subscribe: subscribe, display: display,
            endsWhenLive: endsWhenLive, countLimit: nil, isPatient: isPatient)
    }

    /// The command of a click, with the options of the daemon and the account.
    var click: BarFormat.Click {
        BarFormat.Click(program: BarDisplay.program, view: view.description, options: words)
    }

    private var words: [String] {
        var words: [String] = []
        for (name, value) in [
            ("--account", who.account), ("--connect", daemon.connect?.text), ("--context", daemon.context),
            ("--token-file", daemon.access.tokenFile), ("--ca", daemon.access.ca),
        ] {
            if let value { words += [name, value] }
        }
        return words
    }

    /// The memory of the item shown by a bar with these options, for a click that cannot name it.
    ///
    /// - Parameter isOnce: Whether the bar starts the program for each block.
    func memory(of pattern: TelltaleModel.Pattern, isOnce: Bool) -> BarMemory? {
        BarMemory([pattern.description, view.description] + words, isOnce: isOnce)
    }
}

struct BarShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Write for a bar. (This is what `telltale bar waybar` does.)",
        discussion: """
            i3blocks with interval=persist and format=json gives its clicks on standard input. With --once it is written \
            three lines, and a click (BLOCK_BUTTON) is performed first.
            """)

    @Argument(help: "waybar, i3blocks, polybar, swiftbar or xbar.") var bar: BarFormat
    @Argument(help: "kind/id, 'kind/*' or '*'") var pattern: TelltaleModel.Pattern = .all
    @Flag(help: "Write one block, and end.") var once = false
    @OptionGroup var selection: BarSelection

    func run() throws {
        let isOnce = once || !bar.isStreaming
        // Both bars report only that there was a click.
        let memory =
            bar == .waybar && !isOnce || bar == .i3blocks && once ? selection.memory(of: pattern, isOnce: once) : nil
        if once, bar == .i3blocks, Output.environment("BLOCK_BUTTON") == "1" {
            // A failed click is reported on standard error, and the block is still shown.
            try? BarClick(selection: selection, opener: BarClick.usualOpener).perform(pattern, shown: memory?.item())
        }
        let display = BarDisplay(bar, isOnce: isOnce, click: selection.click, memory: memory)
        try selection.watch(pattern, on: display, endsWhenLive: isOnce, isPatient: true).run()
    }
}

struct BarClickCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "click", abstract: "What a click on an item does: open its link, switch it, or press it.",
        discussion: """
            With a pattern it is the first item. While `telltale bar waybar` runs with the same pattern and options, it is the \
            item that the bar shows: when the control has changed since, nothing is switched, and the exit code is 1.
            """)

    @Argument(help: "kind/id, 'kind/*' or '*'") var pattern: TelltaleModel.Pattern = .all
    @Option(help: ArgumentHelp("The program that is given the link.", valueName: "program"))
    var opener = BarClick.usualOpener
    @OptionGroup var selection: BarSelection

    func run() throws {
        let memory = selection.memory(of: pattern, isOnce: false)
        try BarClick(selection: selection, opener: opener).perform(pattern, shown: memory?.item())
    }
}
