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
        guard FileManager.default.fileExists(atPath: path) else {
            throw Unreadable(description: "\(path): no such file or folder")
        }
        guard isFolder(path) else { return [(path, try bytes(of: path))] }
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

    static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    /// The kinds in force for a preview of widgets that show activities.
    ///
    /// - Parameters:
    ///   - kind: The kind of the file; `nil` if `path` is a folder, whose kinds are all used.
    ///   - paths: Files and folders of further kinds; without any, the folder of the file. Kinds of widgets in them are
    ///     passed over.
    /// - Throws: A fault that names what is missing, or an exit code after the diagnostics were printed.
    static func kinds(_ path: String, showing kind: Kind?, with paths: [String]) throws -> [Kind] {
        do {
            var files = try read(path)
            let beside = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
            for other in kind == nil || !paths.isEmpty ? paths : [beside] {
                files += try read(other).filter { file in
                    guard let other = KindSet.read(file.bytes, file: file.name).kind else { return !paths.isEmpty }
                    if case .widget = other.body { return false }
                    return true
                }
            }
            if case .widget(let widget)? = kind?.body, let name = widget.activityKind {
                let isThere = files.contains { KindSet.read($0.bytes, file: $0.name).kind?.name == name }
                guard isThere else {
                    throw PreviewFault(
                        text: "its widgets show \"\(name)\", which no file beside it defines; name one with --with")
                }
            }
            let (kinds, diagnostics) = KindSet.load(files: files)
            // Warnings about a single file were printed on standard error already.
            for diagnostic in diagnostics where kind == nil || diagnostic.severity == .error {
                complain("\(diagnostic)")
            }
            guard let kinds else { throw ExitCode.failure }
            return kinds.kinds
        } catch let error as Unreadable {
            throw ExitCode.failed("\(error)")
        }
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
            throw ExitCode.failed("\(error)")
        }
    }
}
