import FoundationEssentials
import Kinds
import Logging
import TelltaleModel

/// The folder of kind files.
struct KindFolder {
    let path: String

    struct Unreadable: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads every kind file in the folder.
    func load() throws(Unreadable) -> (kinds: KindSet?, diagnostics: [Diagnostic]) {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw Unreadable(description: "--kinds \(path): the folder cannot be read; name one that holds kind files")
        }
        var files: [(name: String, bytes: [UInt8])] = []
        for name in names.sorted() where KindSet.isKindFile(named: name) {
            guard let data = FileManager.default.contents(atPath: "\(path)/\(name)") else {
                throw Unreadable(description: "--kinds \(path): \(name) cannot be read; look at its permissions")
            }
            files.append((name, [UInt8](data)))
        }
        guard !files.isEmpty else {
            throw Unreadable(
                description: "--kinds \(path): holds no .json file; copy some from Protocols/Kinds/examples")
        }
        return KindSet.load(files: files)
    }
}

extension Diagnostic {
    /// For a log, whose line begins with the severity already.
    var logged: String { String(description.dropFirst("\(severity.rawValue): ".count)) }
}

extension Logger {
    /// Logs a diagnostic of a kind file.
    func tell(_ diagnostic: Diagnostic) {
        switch diagnostic.severity {
        case .error: error("\(diagnostic.logged)")
        case .warning: warning("\(diagnostic.logged)")
        }
    }
}
