import ArgumentParser
import ToolSupport

/// The seeds that found planted bugs before: a search that begins with them mostly needs one run a bug.
struct KnownSeeds: Sendable {
    private var seeds: [String: UInt64] = [:]

    /// - Parameters:
    ///   - path: A file of lines `COMMAND BUG SEED`; `nil` = none are known.
    ///   - command: The lines of this subcommand count.
    init(_ path: String?, of command: String) throws {
        guard let path else { return }
        let text: String
        do throws(NamedFile.Failure) {
            text = String(decoding: try NamedFile.read(path, limit: 1 << 20), as: UTF8.self)
        } catch {
            throw ValidationError("--known: \(error)")
        }
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
        where !line.isEmpty && !line.hasPrefix("#") {
            let words = line.split(separator: " ")
            guard words.count == 3, let seed = UInt64(words[2]) else {
                throw ValidationError("--known: line \(number + 1) of \(path) is not COMMAND BUG SEED")
            }
            if words[0] == command { seeds[String(words[1])] = seed }
        }
    }

    /// The seeds of a search for a bug: the known one, then the others.
    func order(for bug: String, from first: UInt64, count: Int) -> [UInt64] {
        let all = (0..<UInt64(count)).map { first &+ $0 }
        guard let known = seeds[bug] else { return all }
        return [known] + all.filter { $0 != known }
    }

    /// The remark on a bug that another seed found; empty where the known one did, or none is known.
    func remark(on bug: String, foundBy seed: UInt64) -> String {
        guard let known = seeds[bug], known != seed else { return "" }
        return " (the known seed \(known) finds it no more)"
    }
}
