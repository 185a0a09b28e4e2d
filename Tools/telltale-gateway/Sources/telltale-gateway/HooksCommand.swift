import ArgumentParser
import Foundation
import Gateway

struct Hooks: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check webhooks, and try them without a daemon.", subcommands: [Check.self, Try.self])

    /// Reports a faulty hook file as the lint of kinds does.
    static func read(_ path: String) throws -> Hook {
        guard let data = FileManager.default.contents(atPath: path) else {
            FileHandle.standardError.write(Data("error: \(path): cannot be read\n".utf8))
            throw ExitCode(66)
        }
        var reader = HookReader()
        if let hook = reader.read(Array(data)) { return hook }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        for fault in reader.faults { FileHandle.standardError.write(Data("error: \(name): \(fault)\n".utf8)) }
        throw ExitCode(1)
    }

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Tell what is wrong with hook files.")

        @Argument(help: "The files.")
        var files: [String]

        func run() throws {
            var hasFailed = false
            for file in files {
                do { _ = try Hooks.read(file) } catch { hasFailed = true }
            }
            if hasFailed { throw ExitCode(1) }
        }
    }

    struct Try: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what a delivery, read from standard input, would become.",
            discussion: """
                The signature is not checked. Prints one JSON object: the event, or that no rule is for it, or the fault.

                  telltale-gateway hooks try shopify.json --header 'X-Shopify-Topic: orders/create' < order.json
                """)

        @Argument(help: "The hook file.")
        var file: String
        @Option(help: ArgumentHelp("A header field of the delivery. May be repeated.", valueName: "'NAME: VALUE'"))
        var header: [String] = []

        func run() throws {
            let hook = try Hooks.read(file)
            var headers: [String: String] = [:]
            for field in header {
                guard let colon = field.firstIndex(of: ":") else {
                    throw ValidationError("--header takes 'NAME: VALUE', not '\(field)'")
                }
                headers[field[..<colon].lowercased()] = field[field.index(after: colon)...].trimmingCharacters(
                    in: .whitespaces)
            }
            let body = FileHandle.standardInput.readDataToEndOfFile()
            let (text, isGood) = hook.dryRun(of: Delivery(headers: headers, body: Array(body)))
            print(text)
            if !isGood { throw ExitCode(1) }
        }
    }
}
