import FoundationEssentials
import Glibc
import Kinds
import Logging
import TelltaleModel

/// The folder of kind files.
struct KindFolder {
    let path: String
    /// What was read last, so that only files that changed are compiled again.
    private var readings = KindReadings()
    typealias Content = (kinds: KindSet?, diagnostics: [Diagnostic])

    /// The largest file of a kind.
    private static let byteLimit = 256 << 10

    struct Unreadable: Error, CustomStringConvertible {
        let description: String
    }

    /// The faults of the last reading, for people.
    private(set) var faults: [String] = []

    init(path: String) { self.path = path }

    /// A file in the folder as far as a save changes it.
    struct Mark: Hashable {
        let name: String
        let inode: UInt64
        let byteCount: Int64
        let seconds: Int64
        let nanoseconds: Int64
    }

    /// The files as they stand; empty for a folder that cannot be read.
    var marks: Set<Mark> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        var marks: Set<Mark> = []
        for name in names where KindSet.isKindFile(named: name) {
            var status = stat()
            guard unsafe stat("\(path)/\(name)", &status) == 0 else { continue }
            marks.insert(
                Mark(
                    name: name, inode: UInt64(status.st_ino), byteCount: Int64(status.st_size),
                    seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int64(status.st_mtim.tv_nsec)))
        }
        return marks
    }

    /// Reads every kind file in the folder.
    mutating func load() throws(Unreadable) -> Content {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw Unreadable(description: "--kinds \(path): the folder cannot be read; name one that holds kind files")
        }
        var files: [(name: String, bytes: [UInt8])] = []
        for name in names.sorted() where KindSet.isKindFile(named: name) {
            let file = "\(path)/\(name)"
            var status = stat()
            // Opening a pipe of that name would block.
            if unsafe stat(file, &status) == 0 {
                guard status.st_mode & S_IFMT == S_IFREG else {
                    throw Unreadable(description: "--kinds \(path): \(name) is no file; move it out of the folder")
                }
                guard status.st_size <= Self.byteLimit else {
                    throw Unreadable(
                        description:
                            "--kinds \(path): \(name) has \(status.st_size) bytes; a kind has at most \(Self.byteLimit)"
                    )
                }
            }
            guard let data = FileManager.default.contents(atPath: file) else {
                throw Unreadable(description: "--kinds \(path): \(name) cannot be read; look at its permissions")
            }
            files.append((name, [UInt8](data)))
        }
        guard !files.isEmpty else {
            throw Unreadable(
                description: "--kinds \(path): holds no .json file; copy some from Protocols/Kinds/examples")
        }
        let content = KindSet.load(files: files, former: &readings)
        faults = content.diagnostics.filter { $0.severity == .error }.map(\.logged)
        return content
    }
}

/// Follows a folder of kinds, for `--dev`.
struct KindFolderWatch {
    private var known: Set<KindFolder.Mark>
    private var last: Set<KindFolder.Mark>

    /// How often to look.
    static let intervalMilliseconds: Int64 = 200

    init(_ folder: KindFolder) {
        known = folder.marks
        last = known
    }

    /// Whether to read the folder: it has changed, and not since the last look, because a save may take several writes.
    mutating func hasSettled(_ folder: KindFolder) -> Bool {
        let marks = folder.marks
        defer { last = marks }
        guard marks != known, marks == last else { return false }
        known = marks
        return true
    }
}

extension Diagnostic {
    /// The text for a log line, which begins with the severity already.
    var logged: String { String(description.dropFirst("\(severity.rawValue): ".count)) }
}

extension Logger {
    /// Logs a diagnostic of a kind file.
    func log(_ diagnostic: Diagnostic) {
        switch diagnostic.severity {
        case .error: error("\(diagnostic.logged)")
        case .warning: warning("\(diagnostic.logged)")
        }
    }
}
