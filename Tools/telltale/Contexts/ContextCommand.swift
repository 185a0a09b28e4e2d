import ArgumentParser
import Foundation
import Glibc
import TelltaleEventLoop
import TelltaleModel
import ToolSupport

/// `telltale context`: daemons under names.
struct ContextCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "context", abstract: "Daemons under names: address, token, authorities, account.",
        discussion: """
            Every command that speaks to a daemon takes its address from --connect, else from --context, else from \
            TELLTALE_CONNECT, else from the context that TELLTALE_CONTEXT names, else from the one that is in use, else \
            it is 127.0.0.1:7878. The token, the authorities and the account of a context that is named by --context \
            always count; those of another context only together with its address, so that no token goes to a daemon \
            that it is not for.

              telltale context add shop --connect tls://shop.example:7879 --ca ca.pem --use
              telltale watch
              telltale context list

            A context is a file of mode 0600 in $XDG_CONFIG_HOME/telltale/context (~/.config/telltale/context).
            """,
        subcommands: [
            ContextAddCommand.self, ContextListCommand.self, ContextUseCommand.self, ContextShowCommand.self,
            ContextRemoveCommand.self,
        ])

    /// Runs an action on the contexts. A failure is reported on standard error and ends the program.
    static func run<Value>(_ body: (ContextStore) throws(ContextFailure) -> Value) throws -> Value {
        do {
            return try body(ContextStore())
        } catch {
            throw ExitCode.failed("\(error.description)".harmless)
        }
    }
}

struct ContextAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Keeps a daemon under a name.",
        discussion: """
            With --token - the token is read from standard input and kept in the context; a terminal does not show it. \
            With --token-file the context keeps the path alone.
            """)

    @Argument(help: "1 to 64 of [A-Za-z0-9._~:@-], without a dot in front.") var name: String
    @Option(
        help: ArgumentHelp(
            "The daemon's address, or several with commas between.", valueName: "host:port|tls://host:port|unix:path"))
    var connect: DaemonPlace
    @Option(help: ArgumentHelp("A file that holds the token.", valueName: "file")) var tokenFile: String?
    @Option(help: ArgumentHelp("- reads the token from standard input. A token is no argument.", valueName: "-"))
    var token: String?
    @Option(help: ArgumentHelp("A PEM file of the authorities that are trusted for tls://.", valueName: "file"))
    var ca: String?
    @Option(help: ArgumentHelp("The account that looks and acts unless --account names another.", valueName: "name"))
    var account: String?
    @Flag(name: [.customLong("use"), .customLong("select")], help: "Use it from now on.") var use = false
    @Flag(help: "Replace a context of this name.") var replace = false

    func validate() throws {
        guard ContextStore.isName(name) else {
            throw ValidationError("NAME is to be 1 to 64 of [A-Za-z0-9._~:@-] without a dot in front, not '\(name)'.")
        }
        guard token == nil || token == "-" else {
            throw ValidationError(
                "--token takes - alone, and reads standard input: other users of this machine can read arguments.")
        }
        guard token == nil || tokenFile == nil else { throw ValidationError("Give --token or --token-file, not both.") }
        try WireValue.check("--account", account)
    }

    func run() throws {
        var context = Context(connect: try Self.absolute(connect))
        context.tokenFile = try tokenFile.map { try Self.readable($0, "--token-file") }
        context.authorities = try ca.map { try Self.readable($0, "--ca") }
        context.account = account
        if token != nil { context.token = try SecretInput.read() }
        try ContextCommand.run { (store) throws(ContextFailure) in
            try store.write(context, as: name, replaces: replace)
            if use { try store.select(name) }
        }
    }

    /// The address with an absolute path of a Unix socket, because a context is used in other folders too.
    private static func absolute(_ place: DaemonPlace) throws -> String {
        let list = try place.endpoint.endpoints.map { endpoint in
            guard case .unix(let path) = endpoint else { return "\(place.isEncrypted ? "tls://" : "")\(endpoint)" }
            return try absolute(path)
        }
        return list.joined(separator: ",")
    }

    private static func absolute(_ path: String) throws -> String {
        let absolute = URL(filePath: path).standardizedFileURL.path
        guard absolute.utf8.count <= Endpoint.pathLengthLimit else {
            throw ExitCode.failed(
                "--connect unix:\(absolute): the path is longer than \(Endpoint.pathLengthLimit) bytes".harmless)
        }
        return "unix:" + absolute
    }

    /// The absolute path, for the same reason.
    private static func readable(_ path: String, _ option: String) throws -> String {
        guard unsafe access(path, R_OK) == 0 else {
            throw ExitCode.failed("\(option) \(path): \(unsafe String(cString: strerror(errno)))".harmless)
        }
        return URL(filePath: path).standardizedFileURL.path
    }
}

struct ContextListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "The contexts; a star stands before the one in use.")

    @OptionGroup var output: JSONFlag

    func run() throws {
        try ContextCommand.run { (store) throws(ContextFailure) in
            let selected = store.selected()
            for name in store.names() {
                let context: Context
                do throws(ContextFailure) {
                    context = try store.read(name)
                } catch {
                    // The other contexts are still useful.
                    complain("telltale: \(error.description)".harmless)
                    continue
                }
                if output.json {
                    Output.json(context.shown(name, isSelected: name == selected))
                } else {
                    let account = context.account.map { " account=\($0)" } ?? ""
                    Output.line("\(name == selected ? "*" : " ") \(name)  \(context.connect)\(account)".harmless)
                }
            }
        }
    }
}

struct ContextUseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "use", abstract: "Uses a context from now on; with --none, none.", aliases: ["select"])

    @Argument(help: "The context.") var name: String?
    @Flag(help: "Use no context from now on.") var none = false

    func validate() throws {
        guard (name == nil) == none else { throw ValidationError("Give the name of a context, or --none.") }
    }

    func run() throws {
        try ContextCommand.run { (store) throws(ContextFailure) in
            if let name { _ = try store.read(name) }
            try store.select(name)
        }
    }
}

struct ContextShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "What a context says; without a name, the one in use. A token is never shown.")

    @Argument(help: "The context.") var name: String?
    @OptionGroup var output: JSONFlag

    func run() throws {
        try ContextCommand.run { (store) throws(ContextFailure) in
            let selected = store.selected()
            guard let name = name ?? selected else { throw ContextFailure("no context is in use") }
            let context = try store.read(name)
            guard !output.json else { return Output.json(context.shown(name, isSelected: name == selected)) }
            let token = context.tokenFile.map { "in \($0)" } ?? (context.token == nil ? "none" : "kept here")
            let lines = [
                ("name", name + (name == selected ? " (in use)" : "")), ("connect", context.connect), ("token", token),
                ("ca", context.authorities ?? "those of the system"), ("account", context.account ?? "none"),
            ]
            for (label, value) in lines {
                Output.line((label.padded(to: 9) + value).harmless)
            }
        }
    }
}

struct ContextRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "remove", abstract: "Forgets a context.")

    @Argument(help: "The context.") var name: String

    func run() throws {
        try ContextCommand.run { (store) throws(ContextFailure) in
            guard ContextStore.isName(name) else { throw ContextFailure("there is no context '\(name)'") }
            try store.remove(name)
        }
    }
}
