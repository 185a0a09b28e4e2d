import ArgumentParser
import Foundation
import Kinds
import TelltaleModel
import ToolSupport

/// Kind files, from the disk.
enum KindFiles {
    /// A file that cannot be read, with the reason.
    struct Unreadable: Error, CustomStringConvertible {
        var description: String
    }

    /// The `.json` files of a folder, without hidden ones and schemas; or one file.
    static func read(_ path: String) throws(Unreadable) -> [(name: String, bytes: [UInt8])] {
        var isFolder: ObjCBool = false
        guard unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw Unreadable(description: "\(path): no such file or folder")
        }
        guard isFolder.boolValue else { return [(path, try bytes(of: path))] }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw Unreadable(description: "\(path): the folder cannot be read (\(error.localizedDescription))")
        }
        var files: [(name: String, bytes: [UInt8])] = []
        for name in names.sorted() where KindSet.isKindFile(named: name) {
            files.append((name, try bytes(of: path.hasSuffix("/") ? path + name : "\(path)/\(name)")))
        }
        guard !files.isEmpty else { throw Unreadable(description: "\(path): there is no .json file in it") }
        return files
    }

    private static func bytes(of path: String) throws(Unreadable) -> [UInt8] {
        do throws(NamedFile.Failure) {
            return try NamedFile.read(path)
        } catch {
            throw Unreadable(description: error.description)
        }
    }

    /// The kind of one file. Its diagnostics go to standard error; an error among them ends the command.
    static func kind(_ path: String) throws -> Kind {
        do {
            let files = try read(path)
            guard let file = files.first, files.count == 1 else {
                throw Unreadable(description: "\(path): one kind file is expected, not a folder")
            }
            let (kind, diagnostics) = KindSet.read(file.bytes, file: file.name)
            for diagnostic in diagnostics { complain("\(diagnostic)") }
            guard let kind else { throw ExitCode.failure }
            return kind
        } catch let error as Unreadable {
            complain("telltale: \(error)")
            throw ExitCode.failure
        }
    }
}
