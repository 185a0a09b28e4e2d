import Foundation
import Glibc
import TelltaleModel

/// The contexts of this user: a file each in `$XDG_CONFIG_HOME/telltale/context`, and the name of the selected one beside
/// that folder.
///
/// Files are of mode 0600, and are replaced as a whole, so that a reader sees the old or the new one.
struct ContextStore {
    private let folder: String

    private static let selection = "selected"
    /// A context is five short texts.
    private static let byteCountLimit = 65_536

    /// - Parameter environment: The value of a variable; `nil` where it is not set.
    init(_ environment: (String) -> String? = Output.environment) {
        let home = environment("HOME") ?? NSHomeDirectory()
        let named = environment("XDG_CONFIG_HOME") ?? ""
        // A path that is not absolute is to be ignored (XDG Base Directory Specification).
        folder = (named.hasPrefix("/") ? named : home + "/.config") + "/telltale"
    }

    /// Whether a context may have the name.
    static func isName(_ name: String) -> Bool { Key.isSegment(name.utf8) && !name.hasPrefix(".") }

    // MARK: Reading

    /// In the order of their bytes.
    func names() -> [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/context")) ?? []
        return files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(".json".count)) }.filter(Self.isName)
            .sorted()
    }

    func contains(_ name: String) -> Bool { unsafe access(path(name), F_OK) == 0 }

    /// The name that `telltale context use` chose; `nil` = none.
    func selected() -> String? {
        let text = try? String(contentsOfFile: "\(folder)/\(Self.selection)", encoding: .utf8)
        let name = text?.trimmed ?? ""
        return Self.isName(name) ? name : nil
    }

    func read(_ name: String) throws(ContextFailure) -> Context {
        guard Self.isName(name) else { throw ContextFailure("'\(name)' is no name of a context") }
        let descriptor = unsafe open(path(name), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw failure(path(name), "cannot be read") }
            let known = names()
            throw ContextFailure(
                "there is no context '\(name)'"
                    + (known.isEmpty
                        ? "; telltale context add makes one" : "; there are \(known.joined(separator: ", "))"))
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size <= Self.byteCountLimit
        else { throw ContextFailure("\(path(name)): it is no file of a context") }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw failure(path(name), "cannot be read") }
        do throws(ContextFailure) {
            let context = try Context(Self.parsed(Array(bytes[..<count])))
            // A token that others can read is no secret.
            guard context.token == nil || status.st_mode & 0o077 == 0 else {
                throw ContextFailure("it holds a token, and others can read it; chmod 600 makes it yours alone")
            }
            return context
        } catch {
            throw ContextFailure("\(path(name)): \(error.description)")
        }
    }

    private static func parsed(_ bytes: [UInt8]) throws(ContextFailure) -> JSON {
        do {
            return try JSONParser().parse(bytes.span)
        } catch {
            throw ContextFailure("it is no JSON")
        }
    }

    // MARK: Writing

    func write(_ context: Context, as name: String) throws(ContextFailure) {
        var lines: [String] = []
        for member in context.json.object ?? JSONObject() {
            lines.append("  \(JSON.string(member.name)): \(member.value)")
        }
        try replace(path(name), with: "{\n" + lines.joined(separator: ",\n") + "\n}\n")
    }

    /// - Parameter name: `nil` = none is selected from now on.
    func select(_ name: String?) throws(ContextFailure) {
        let file = "\(folder)/\(Self.selection)"
        guard let name else {
            guard unsafe unlink(file) == 0 || errno == ENOENT else { throw failure(file, "cannot be removed") }
            return
        }
        try replace(file, with: name + "\n")
    }

    func remove(_ name: String) throws(ContextFailure) {
        if selected() == name { try select(nil) }
        guard unsafe unlink(path(name)) == 0 else { throw failure(path(name), "cannot be removed") }
    }

    private func path(_ name: String) -> String { "\(folder)/context/\(name).json" }

    private func replace(_ file: String, with text: String) throws(ContextFailure) {
        let directory = String(file[..<(file.lastIndex(of: "/") ?? file.startIndex)])
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw ContextFailure("\(directory): the folder cannot be made (\(error.localizedDescription))")
        }
        let temporary = "\(file).\(String(UInt64.random(in: .min ... .max), radix: 36))"
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(temporary, "cannot be made") }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0,
            unsafe rename(temporary, file) == 0
        else {
            let failure = failure(file, "cannot be written")
            _ = unsafe unlink(temporary)
            throw failure
        }
    }

    private func failure(_ file: String, _ what: String) -> ContextFailure {
        ContextFailure("\(file): \(what): \(unsafe String(cString: strerror(errno)))")
    }
}
