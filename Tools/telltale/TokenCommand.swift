import ArgumentParser
import Authenticator
import Cards
import Foundation
import Kinds
import TelltaleModel
import ToolSupport

/// `telltale token`: edits the file of principals that telltaled reads with --auth.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "The tokens of a daemon with --auth.",
        discussion: """
            The file holds digests of tokens, never a token. telltaled reads it again within 2 s of a change.

              telltale token add pos-7 --scope 'post:coffee-order/*' --auth p.json
              telltale token add car --scope 'read:*' --account alice --auth p.json
              telltale token revoke k3v9q2ma --auth p.json
              telltale token revoke --sub alice --issued-before now --auth p.json
            """,
        subcommands: [TokenAddCommand.self, TokenListCommand.self, TokenRevokeCommand.self])
}

/// The file to edit.
struct PrincipalFileOption: ParsableArguments {
    @Option(help: ArgumentHelp("The file of principals.", valueName: "FILE")) var auth: String

    var editor: PrincipalEditor { PrincipalEditor(auth) }

    static func run<Value>(_ body: () throws(PrincipalEditor.Failure) -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            for line in error.description.split(separator: "\n") { complain("telltale: \(line)".harmless) }
            throw ExitCode.failure
        }
    }
}

struct TokenAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Adds a token, prints it, and forgets it.",
        discussion: """
            A principal that exists gets another token: add the new one, put it where it is used, then revoke the old one. \
            The file is made where it is missing, readable by its owner alone.
            """)

    @Argument(help: "The principal: the program, device or service that the token is for.") var name: String
    @Option(help: ArgumentHelp("post:P, read:P, act:P, serve:KIND, stats or admin. May be repeated.", valueName: "S"))
    var scope: [String] = []
    @Option(help: ArgumentHelp("The account of read: and act:, or * for any.", valueName: "A")) var account: String?
    @Option(help: ArgumentHelp("A src= that it may use besides its name. May be repeated.", valueName: "S"))
    var source: [String] = []
    @Option(
        help: ArgumentHelp("When the token ends: 12h, 90d, or a date such as 2027-11-24T00:00:00Z.", valueName: "T"))
    var expires: String?
    @Option(help: ArgumentHelp("The most requests a second.", valueName: "N")) var rate: Int?
    @Option(help: ArgumentHelp("The most connections at a time.", valueName: "N")) var connections: Int?
    @OptionGroup var output: JSONFlag
    @OptionGroup var file: PrincipalFileOption

    func validate() throws { _ = try expiry() }

    func run() throws {
        var grant = PrincipalEditor.Grant(name: name)
        grant.scopes = scope
        grant.account = account
        grant.sources = source
        grant.rate = rate
        grant.connections = connections
        grant.expires = try expiry()
        let token = try PrincipalFileOption.run { () throws(PrincipalEditor.Failure) in try file.editor.add(grant) }
        guard output.json else {
            Output.line(token)
            return complain("telltale: this is the only time that the token is shown".harmless)
        }
        var object = JSONObject()
        object["name"] = .string(name)
        object["id"] = .string(String(token.dropFirst(3).prefix(8)))
        object["token"] = .string(token)
        Output.json(.object(object))
    }

    private func expiry() throws -> Timestamp? {
        guard let expires else { return nil }
        if let date = UTCDate.timestamp(expires) { return date }
        guard let span = Milliseconds(duration: expires), (1...3_000_000_000_000).contains(span.count) else {
            throw ValidationError(
                "--expires is to be a span such as 12h, 90d or 1h30m, or a date such as 2027-11-24T00:00:00Z.")
        }
        return .ofThisMachine + span
    }
}

struct TokenListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "The principals and the ids of their tokens.",
        discussion: """
            A table with a line for each token, then a line for each revocation of signed tokens. No secret is shown, because none \
            is kept.
            """)

    @OptionGroup var output: JSONFlag
    @OptionGroup var file: PrincipalFileOption

    func run() throws {
        let listing = try PrincipalFileOption.run { () throws(PrincipalEditor.Failure) in try file.editor.listing() }
        var rows = [["ID", "PRINCIPAL", "EXPIRES", "ACCOUNT", "SOURCES", "SCOPES"]]
        for principal in listing.principals {
            let tokens = principal["tokens"]?.array ?? []
            if output.json {
                var object = principal.object ?? JSONObject()
                object["tokens"] = .array(tokens.map { Self.withoutDigest($0) })
                Output.json(.object(object))
                continue
            }
            let (sources, scopes) = (Self.list(principal["sources"]), Self.list(principal["scopes"]))
            let rest = [principal["account"]?.string ?? "-", sources, scopes]
            let name = principal["name"]?.string ?? "?"
            if tokens.isEmpty { rows.append(["-", name, "-"] + rest) }
            for token in tokens {
                rows.append([token["id"]?.string ?? "?", name, expiry(token["expires"]?.string)] + rest)
            }
        }
        if rows.count > 1 { Output.table(rows) }
        for revocation in listing.revocations { Self.show(revocation, json: output.json) }
    }

    /// For people with the time that is left.
    private func expiry(_ date: String?) -> String {
        guard let date else { return "never" }
        guard output.isForPeople, let time = UTCDate.timestamp(date) else { return date }
        let now = Timestamp.ofThisMachine
        return time > now ? "\(date) (\(RelativeTime.text(time, at: now)))" : "\(date) (expired)"
    }

    private static func list(_ names: JSON?) -> String {
        let names = (names?.array ?? []).compactMap(\.string)
        return names.isEmpty ? "-" : names.joined(separator: " ")
    }

    fileprivate static func show(_ revocation: JSON, json: Bool) {
        guard !json else { return Output.json(["revoked": revocation]) }
        let text =
            switch Revocation(revocation) {
            case .token(let id)?: "jti=\(id)"
            case .subject(let subject, nil)?: "sub=\(subject)"
            case .subject(let subject, let before?)?: "sub=\(subject) issued-before=\(UTCDate.text(before))"
            case nil: "\(revocation)"
            }
        Output.line("revoked \(text)".harmless)
    }

    private static func withoutDigest(_ token: JSON) -> JSON {
        var object = JSONObject()
        for name in ["id", "expires"] { if let value = token[name] { object[name] = value } }
        return .object(object)
    }
}

struct TokenRevokeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Removes a token, or every token of a principal; refuses signed tokens.",
        discussion: """
            Connections that use it end within 3 s. A signed token is refused by its jti, or by its sub; with \
            --issued-before those of its sub that were issued earlier, so that the person can sign in again.
            """)

    @Argument(help: "The id of a token, or the name of a principal.") var idOrName: String?
    @Option(help: ArgumentHelp("The jti of a signed token.", valueName: "ID")) var jti: String?
    @Option(help: ArgumentHelp("The sub of signed tokens, of every issuer.", valueName: "NAME")) var sub: String?
    @Option(help: ArgumentHelp("With --sub: now, or a date such as 2027-11-24T00:00:00Z.", valueName: "T"))
    var issuedBefore: String?
    @OptionGroup var output: JSONFlag
    @OptionGroup var file: PrincipalFileOption

    func validate() throws {
        guard [idOrName, jti, sub].compactMap(\.self).count == 1 else {
            throw ValidationError("Give the id of a token, the name of a principal, --jti or --sub: one of them.")
        }
        guard issuedBefore == nil || sub != nil else { throw ValidationError("--issued-before goes with --sub.") }
        guard idOrName != "", jti != "", sub != "" else { throw ValidationError("An empty name is none.") }
        _ = try date()
    }

    func run() throws {
        guard let idOrName else { return try revokeSigned() }
        let removed = try PrincipalFileOption.run { () throws(PrincipalEditor.Failure) in
            try file.editor.revoke(idOrName)
        }
        for id in removed {
            if output.json {
                Output.json(["revoked": .string(id)])
            } else {
                Output.line("revoked \(id)".harmless)
            }
        }
    }

    private func revokeSigned() throws {
        let before = try date()
        let revocation = jti.map { Revocation.token($0) } ?? .subject(sub ?? "", issuedBefore: before)
        try PrincipalFileOption.run { () throws(PrincipalEditor.Failure) in try file.editor.revoke(revocation) }
        TokenListCommand.show(revocation.json, json: output.json)
    }

    private func date() throws -> Timestamp? {
        guard let issuedBefore else { return nil }
        guard let date = issuedBefore == "now" ? .ofThisMachine : UTCDate.timestamp(issuedBefore) else {
            throw ValidationError("--issued-before is to be now, or a date such as 2027-11-24T00:00:00Z.")
        }
        return date
    }
}
