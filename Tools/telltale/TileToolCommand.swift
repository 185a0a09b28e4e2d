import ArgumentParser
import TelltaleModel
import TelltaleWire

/// `telltale tile`.
struct TileToolCommand: ParsableCommand {
    enum Action: String, ExpressibleByArgument, CaseIterable {
        case add, configure, stack, move, pin, unpin, show, keep, remove
    }

    static let configuration = CommandConfiguration(
        commandName: "tile", abstract: "Arranges a board: the widgets that a device shows.",
        discussion: """
            KEY is @BOARD/ID. A board comes with its first tile, and is that account's. `telltale watch '@alice-car/*' \
            --view carplay` shows it, `telltale gallery` the widgets that can be placed.

              telltale tile @alice-car/t1 add --widget kitchen --set shop=Hoegi
              telltale tile @alice-car/t1 configure --set shop=Central
              telltale tile @alice-car/left stack --smart yes
              telltale tile @alice-car/t1 move --stack left --pos 1
              telltale tile @alice-car/left stack --suggest yes
              telltale tile @alice-car/~2561004553a9dfcf keep
              telltale tile @alice-car/t1 remove

            A value of --set that is a number, true or false is one; put any other text in as it is. --configuration \
            takes all of it as JSON.
            """)

    @Argument(help: "@board/id") var key: Key
    @Argument(help: "What to do.") var action: Action
    @Option(help: ArgumentHelp("The kind to add, or the key of a widget.", valueName: "kind")) var widget: String?
    @Option(
        name: .customLong("set"), help: ArgumentHelp("A value of the configuration.", valueName: "name=value"))
    var values: [String] = []
    @Option(help: ArgumentHelp("The whole configuration.", valueName: "json")) var configuration: String?
    @Option(help: "Default: systemSmall, or what the kind has.") var family: String?
    @Option(help: ArgumentHelp("The stack that it stands in, or none.", valueName: "id")) var stack: String?
    @Option(help: ArgumentHelp("Its place, from 1.", valueName: "n")) var pos: Int?
    @Option(help: ArgumentHelp("The one place that shows it.", valueName: "place")) var placement: String?
    @Option(help: "elevated or recessed, on visionOS.") var mounting: String?
    @Option(help: ArgumentHelp("75 to 125 percent, on visionOS.", valueName: "n")) var scale: Int?
    @Option(help: ArgumentHelp("A colour or none, on visionOS.", valueName: "colour")) var theme: String?
    @Option(help: "Of a stack: whether it turns to what is relevant.") var smart: Choice?
    @Option(help: "Of a stack: whether it takes suggestions.") var suggest: Choice?
    @Option(
        name: .customLong("if"),
        help: ArgumentHelp("Only if the row that was looked at, of this rev, is current.", valueName: "rev"))
    var seenRev: Int64?
    @Option(help: ArgumentHelp("The request's own id: the same one counts once.", valueName: "id")) var eid: String?
    @OptionGroup var who: AccountOption
    @OptionGroup var output: JSONFlag
    @OptionGroup var daemon: DaemonOptions

    enum Choice: String, ExpressibleByArgument, CaseIterable { case yes, no }

    func validate() throws {
        guard key.kind.utf8.first == UInt8(ascii: "@") else {
            throw ValidationError("\(key) is on no board; a board's name begins with @, as @alice-car/t1.")
        }
        if let scale, !TelltaleWire.TileCommand.scales.contains(Int64(scale)) {
            throw ValidationError("--scale is to be 75 to 125.")
        }
        if let pos, !(1...TelltaleWire.TileCommand.positionLimit).contains(Int64(pos)) {
            throw ValidationError("--pos is to be 1 to \(TelltaleWire.TileCommand.positionLimit).")
        }
        if let seenRev, seenRev < 0 { throw ValidationError("--if is to be 0 or more.") }
        _ = try parameters()
    }

    func run() throws {
        guard let what = TelltaleWire.TileCommand.Action(rawValue: action.rawValue) else { return }
        var command = TelltaleWire.TileCommand(key: key, action: what)
        (command.widget, command.family, command.stack) = (widget, family, stack)
        (command.placement, command.mounting, command.scale, command.theme) = (placement, mounting, scale, theme)
        command.position = pos
        command.isSmart = smart.map { $0 == .yes }
        command.suggests = suggest.map { $0 == .yes }
        (command.seenRev, command.eid) = (seenRev, eid)
        command.configuration = try parameters()
        show(try daemon.ask(.tile(command), account: who.account), key: key, json: output.json)
    }

    /// `nil` = none was given.
    private func parameters() throws -> JSONObject? {
        if let configuration {
            guard values.isEmpty else { throw ValidationError("--set and --configuration exclude each other.") }
            guard case .object(let object)? = try? JSONParser.parse(configuration) else {
                throw ValidationError("--configuration is to be a JSON object, as {\"shop\":\"Hoegi\"}.")
            }
            return object
        }
        guard !values.isEmpty else { return nil }
        var object = JSONObject()
        for text in values {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
            guard parts.count == 2, !parts[0].isEmpty else {
                throw ValidationError("--set is to be NAME=VALUE, and not \(text.harmless).")
            }
            object[parts[0]] = Self.value(of: parts[1])
        }
        return object
    }

    private static func value(of text: String) -> JSON {
        switch try? JSONParser.parse(text) {
        case .bool(let flag)?: .bool(flag)
        case .integer(let number)?: .integer(number)
        case .number(let number)?: .number(number)
        default: .string(text)
        }
    }
}
