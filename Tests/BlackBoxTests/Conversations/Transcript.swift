import Foundation
import Testing

/// A conversation with a server, as `Protocols/Line/transcripts` reports it; `Protocols/Line/transcripts/README.md` has
/// the format.
struct Transcript: Sendable, CustomTestStringConvertible {
    enum Action: Sendable {
        case send(String, isWellFormed: Bool)
        case sendBytes([UInt8])
        case halfClose
        case close
        case expect(String)
        case expectEnd
        /// The daemon is asked to stop.
        case terminate
        /// The daemon is stopped, and started again with the same data and other options.
        case restart(options: [String])
        /// From now on the disk has no room for the daemon, or has room again.
        case fill(Bool)
        /// The file of a kind is taken away, and the daemon reads the kinds again.
        case withdraw(kind: String)
        /// A file of `Protocols/Kinds/widgets` is added, and the daemon reads the kinds again.
        case add(kind: String)
        /// Another node of the cluster starts.
        case node(String)
    }

    struct Step: Sendable {
        let number: Int
        /// Of the connection; "" where there is only one.
        let connection: String
        let action: Action
    }

    let name: String
    var options: [String] = []
    var steps: [Step] = []

    var testDescription: String { name }

    struct SyntaxError: Error, CustomStringConvertible {
        let description: String
    }

    init(name: String, text: String) throws {
        self.name = name
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            try read(String(line), number: index + 1)
        }
    }

    private mutating func read(_ line: String, number: Int) throws {
        if line.isEmpty || line.hasPrefix("#") { return }
        if line.hasPrefix("! ") {
            options += line.dropFirst(2).split(separator: " ").map(String.init)
            return
        }
        guard let colon = line.firstIndex(of: ":"), line[colon...].hasPrefix(": ") else {
            throw SyntaxError(description: "\(name):\(number): no \"C: \" or \"S: \"")
        }
        var speaker = line[..<colon]
        let text = Self.repeated(String(line[colon...].dropFirst(2)))
        var count = 1
        if let star = speaker.firstIndex(of: "*") {
            guard let number = Int(speaker[star...].dropFirst()) else {
                throw SyntaxError(description: "\(name):\(number): no number behind \"*\"")
            }
            count = number
            speaker = speaker[..<star]
        }
        let isWellFormed = !speaker.hasSuffix("!")
        if !isWellFormed { speaker.removeLast() }
        let connection = String(speaker.dropFirst())
        let action: Action
        switch (speaker.first, text) {
        case ("C", "<half-close>"): action = .halfClose
        case ("C", "<close>"): action = .close
        case ("C", _) where text.hasPrefix("<hex "):
            let digits = text.dropFirst(5).dropLast().split(separator: " ")
            action = .sendBytes(digits.compactMap { UInt8($0, radix: 16) })
        case ("C", _): action = .send(text, isWellFormed: isWellFormed)
        case ("S", "<end>"): action = .expectEnd
        case ("S", "<SIGTERM>"): action = .terminate
        case ("S", "<full disk>"): action = .fill(true)
        case ("S", "<room again>"): action = .fill(false)
        case ("S", _) where text.hasPrefix("<restart"):
            action = .restart(options: text.dropFirst(8).dropLast().split(separator: " ").map(String.init))
        case ("S", _) where text.hasPrefix("<with "): action = .add(kind: String(text.dropFirst(6).dropLast()))
        case ("S", _) where text.hasPrefix("<node "): action = .node(String(text.dropFirst(6).dropLast()))
        case ("S", _) where text.hasPrefix("<without "): action = .withdraw(kind: String(text.dropFirst(9).dropLast()))
        case ("S", _): action = .expect(text)
        case _: throw SyntaxError(description: "\(name):\(number): neither C nor S speaks")
        }
        for _ in 0..<count { steps.append(Step(number: number, connection: connection, action: action)) }
    }

    /// The text with every `<text*N>` written out: so many times `text`.
    private static func repeated(_ text: String) -> String {
        text.replacing(/<([^<>*]+)\*([0-9]+)>/) { String(repeating: String($0.output.1), count: Int($0.output.2) ?? 0) }
    }

    static let folder = repository.appending(path: "Protocols/Line/transcripts")

    static let all: [Transcript] = files.compactMap { try? $0.get() }
    /// The faults of transcripts that cannot be read. Without this list they would be left out silently.
    static let unreadable: [String] = files.compactMap { file in
        guard case .failure(let error) = file else { return nil }
        return "\(error)"
    }

    private static let files: [Result<Transcript, any Error>] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        // To run one alone: TRANSCRIPT=05 swift test --filter TranscriptTests.
        let wanted = ProcessInfo.processInfo.environment["TRANSCRIPT"] ?? ""
        return names.filter { $0.hasSuffix(".txt") && $0.hasPrefix(wanted) }.sorted().map { name in
            Result {
                try Transcript(
                    name: name, text: String(contentsOf: folder.appending(path: name), encoding: .utf8))
            }
        }
    }()
}
