import Foundation
import Testing

/// A conversation with a server, as `Protocols/Line/transcripts` tells it; `Protocols/Line/transcripts/README.md` has
/// the format.
struct Transcript: Sendable, CustomTestStringConvertible {
    enum Action: Sendable {
        case send(String, isWellFormed: Bool)
        case sendBytes([UInt8])
        case halfClose
        case close
        case expect(String)
        case expectEnd
        /// The daemon is told to stop.
        case terminate
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
        let text = String(line[colon...].dropFirst(2))
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
        case ("S", _): action = .expect(text)
        case _: throw SyntaxError(description: "\(name):\(number): neither C nor S speaks")
        }
        steps.append(Step(number: number, connection: connection, action: action))
    }

    static let folder = repository.appending(path: "Protocols/Line/transcripts")

    static let all: [Transcript] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        // To run one alone: TRANSCRIPT=05 swift test --filter TranscriptTests.
        let wanted = ProcessInfo.processInfo.environment["TRANSCRIPT"] ?? ""
        return names.filter { $0.hasSuffix(".txt") && $0.hasPrefix(wanted) }.sorted().compactMap { name in
            guard let text = try? String(contentsOf: folder.appending(path: name), encoding: .utf8) else { return nil }
            return try? Transcript(name: name, text: text)
        }
    }()
}
