import AtomicFile
import Foundation
import Glibc
import TelltaleModel
import ToolSupport

/// The contexts of this user: one file each in `$XDG_CONFIG_HOME/telltale/context`, and the name of the selected one
/// beside that folder.
///
/// Files have mode 0600 and are replaced atomically, so that a reader sees the old or the new one.
struct ContextStore {
    private let folder: String

    private static let selection = "selected"
    /// A context is five short texts.
    private static let byteCountLimit = 65_536

    /// - Parameter environment: The value of a variable; `nil` where it is not set.
    init(_ environment: (String) -> String? = Output.environment) {
        let home = environment("HOME") ?? NSHomeDirectory()
        let named = environment("XDG_CONFIG_HOME") ?? ""
        // A relative path must be ignored (XDG Base Directory Specification).
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
        guard
            let (bytes, mode) = try Self.run({ () throws(AtomicFile.Failure) in
                try file(name).read(limit: Self.byteCountLimit)
            })
        else {
            let known = names()
            throw ContextFailure(
                "there is no context '\(name)'"
                    + (known.isEmpty
                        ? "; telltale context add makes one" : "; there are \(known.joined(separator: ", "))"))
        }
        do throws(ContextFailure) {
            let context = try Context(Self.parsed(bytes))
            // A token that others can read is no secret.
            guard context.token == nil || mode & 0o077 == 0 else {
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

    /// - Parameter replaces: Whether to replace an existing context of that name.
    func write(_ context: Context, as name: String, replaces: Bool) throws(ContextFailure) {
        var lines: [String] = []
        for member in context.json.object ?? JSONObject() {
            lines.append("  \(JSON.string(member.name)): \(member.value)")
        }
        let text = "{\n" + lines.joined(separator: ",\n") + "\n}\n"
        let isWritten = try Self.run { () throws(AtomicFile.Failure) in
            try file(name).makeFolder()
            let lock = try file(name).lock()
            guard replaces || !contains(name) else { return false }
            try file(name).replace(with: Array(text.utf8), mode: Self.ownerAlone)
            _ = consume lock
            return true
        }
        guard isWritten else { throw ContextFailure("there is a context '\(name)'; --replace writes over it") }
    }

    /// - Parameter name: `nil` = none is selected from now on.
    func select(_ name: String?) throws(ContextFailure) {
        let file = AtomicFile("\(folder)/\(Self.selection)")
        try Self.run { () throws(AtomicFile.Failure) in
            guard let name else {
                _ = try file.remove()
                return
            }
            try file.makeFolder()
            try file.replace(with: Array("\(name)\n".utf8), mode: Self.ownerAlone)
        }
    }

    func remove(_ name: String) throws(ContextFailure) {
        if selected() == name { try select(nil) }
        let isRemoved = try Self.run { () throws(AtomicFile.Failure) in try file(name).remove() }
        guard isRemoved else { throw ContextFailure("there is no context '\(name)'") }
    }

    private static let ownerAlone: UInt32 = 0o600

    private func file(_ name: String) -> AtomicFile { AtomicFile(path(name)) }

    private func path(_ name: String) -> String { "\(folder)/context/\(name).json" }

    private static func run<Value>(_ body: () throws(AtomicFile.Failure) -> Value) throws(ContextFailure) -> Value {
        do throws(AtomicFile.Failure) {
            return try body()
        } catch {
            throw ContextFailure(error.description)
        }
    }
}
