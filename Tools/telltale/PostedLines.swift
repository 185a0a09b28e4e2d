import ArgumentParser
import Glibc
import TelltaleClient
import TelltaleModel
import TelltaleWire
import ToolSupport

/// `telltale post -`: the events of standard input, many in flight at once.
struct PostedLines {
    let isStrict: Bool
    let json: Bool
    let daemon: DaemonOptions

    /// Bounds memory, and lets a slow pipe's lines be sent as they arrive.
    private static let batchLimit = 512

    func run() throws {
        let (endpoint, configuration) = try daemon.connection()
        var hasFailed = false
        Output.goOnWithoutReader()
        do throws(ClientFailure) {
            let client = try BlockingClient(
                to: endpoint, configuration: configuration, timeout: .seconds(20))
            var input = StandardInputLines()
            let parser = RequestParser()
            var number = 0
            while let lines = input.next(limit: Self.batchLimit) {
                var batch: [(number: Int, command: EventCommand)] = []
                for line in lines {
                    number += 1
                    guard !line.isEmpty, !line.hasPrefix("#") else { continue }
                    guard line.unicodeScalars.first != "\u{FEFF}" else {
                        hasFailed = true
                        complain(number, "it begins with a byte order mark; save the file as UTF-8 without one")
                        continue
                    }
                    guard let command = Self.event(line, parser) else {
                        hasFailed = true
                        complain(number, "it is to be KEY EVENT, attributes such as eid=e1, and a JSON tail")
                        continue
                    }
                    if case .refused(let error) = command {
                        hasFailed = true
                        complain(number, "\(error.code.rawValue): \(error.message)")
                    } else if case .event(let event) = command {
                        for hint in EventHints.hints(for: event) { complain(number, hint) }
                        batch.append((number, event))
                    }
                }
                try client.request(all: batch.map { .event($0.command) }) { index, reply in
                    let (number, event) = batch[index]
                    guard reply.isOK else {
                        hasFailed = true
                        return complain(number, DaemonOptions.describe(reply.line))
                    }
                    if !json { Output.write("\(event.key) ".harmless) }
                    show(reply.line, key: event.key, json: json)
                    if isStrict, EventHints.isLost(reply.line) {
                        hasFailed = true
                        complain(number, "the event changed nothing (--strict)")
                    }
                }
            }
        } catch {
            throw DaemonOptions.exit(after: error)
        }
        if hasFailed { throw ExitCode.failure }
    }

    private func complain(_ number: Int, _ text: String) { ToolSupport.complain("telltale: line \(number): \(text)") }

    /// `KEY EVENT rest` as the protocol's `EVT KEY type=EVENT rest`; `nil` if it has fewer than two words.
    private static func event(_ line: String, _ parser: RequestParser) -> Command? {
        let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
        guard words.count >= 2, !words[1].hasPrefix("{"), !words[1].contains("=") else { return nil }
        let rest = words.count > 2 ? " \(words[2])" : ""
        return parser.parse(Array("EVT \(words[0]) type=\(words[1])\(rest)".utf8).span).command
    }
}

/// Standard input, by whole lines.
struct StandardInputLines {
    private var rest: [UInt8] = []
    private var ready: [String] = []
    private var hasEnded = false
    /// Why it could not be read; `nil` if it ended.
    private(set) var failure: String?

    /// The available lines, at most `limit`; waits for the first. `nil` at the end.
    mutating func next(limit: Int) -> [String]? {
        while ready.isEmpty, !hasEnded { read() }
        guard !ready.isEmpty else { return nil }
        let lines = Array(ready.prefix(limit))
        ready.removeFirst(lines.count)
        return lines
    }

    private mutating func read() {
        var piece = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe piece.withUnsafeMutableBytes { unsafe Glibc.read(STDIN_FILENO, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { return }
        if count < 0 { failure = unsafe String(cString: strerror(errno)) }
        if count <= 0 {
            hasEnded = true
            if !rest.isEmpty { ready.append(Self.line(rest[...])) }
            rest = []
            return
        }
        rest += piece[..<count]
        var start = 0
        while let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
            ready.append(Self.line(rest[start..<end]))
            start = end + 1
        }
        rest.removeFirst(start)
    }

    private static func line(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.last == 0x0D ? bytes.dropLast() : bytes, as: UTF8.self).trimmed
    }
}
