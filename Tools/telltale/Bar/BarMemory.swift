import AtomicFile
import Authenticator
import Cards
import Glibc
import TelltaleModel
import ToolSupport

/// Stores the first item that a bar shows, for clicks performed by another process: waybar starts a command from the
/// user's configuration, which does not name the item.
///
/// Uses a file in `$XDG_RUNTIME_DIR/telltale`, which only the user can read and which ends with the session.
final class BarMemory {
    /// The item of a click.
    struct Item {
        var key: Key
        var action: BarItem.Action?
        var rev: Int64?
        var url: String?
    }

    private let file: AtomicFile
    private let isOnce: Bool
    private var last: BarItem?
    private var isWritten = false

    private static let byteCountLimit = 65_536

    /// - Parameters:
    ///   - words: Words that distinguish this bar from others.
    ///   - isOnce: Whether the program ends after each block, so that the file must outlive it.
    /// - Returns: `nil` without a folder for such files.
    init?(_ words: [String], isOnce: Bool) {
        guard let folder = Output.variable("XDG_RUNTIME_DIR"), folder.hasPrefix("/") else { return nil }
        let ambient = ["TELLTALE_CONNECT", "TELLTALE_CONTEXT"].map { Output.variable($0) ?? "" }
        let name = Hexadecimal.text(Digest.sha256((words + ambient).joined(separator: "\n"))).prefix(16)
        file = AtomicFile("\(folder)/telltale/bar-\(isOnce ? "once-" : "")\(name)")
        self.isOnce = isOnce
    }

    /// If the folder cannot be written to, clicks apply to the current row.
    func remember(_ item: BarItem?) {
        guard
            !isWritten || !file.exists || item?.key != last?.key || item?.rev != last?.rev
                || item?.action != last?.action
        else {
            return
        }
        (last, isWritten) = (item, true)
        var object = JSONObject()
        if !isOnce { object["pid"] = .integer(Int64(getpid())) }
        object["key"] = item.map { .string($0.key) }
        object["rev"] = (item?.rev).map { .integer($0) }
        switch item?.action {
        case .open?: object["url"] = (item?.url).map { .string($0) }
        case .set(let value)?: object["set"] = .bool(value)
        case .press?: object["press"] = true
        case nil: break
        }
        try? file.makeFolder()
        try? file.replace(with: Array("\(JSON.object(object))\n".utf8), mode: 0o600)
    }

    /// Another bar with the same words, on a second screen or after a reload, keeps its own item.
    func forget() {
        guard let lock = try? file.lock() else { return }
        if content()?["pid"]?.integer == Int64(getpid()) { _ = try? file.remove() }
        _ = consume lock
    }

    private func content() -> JSON? {
        guard let bytes = (try? file.read(limit: Self.byteCountLimit))?.bytes else { return nil }
        return try? JSONParser().parse(bytes.span)
    }

    /// The item that the bar shows; `nil` if no bar runs, or if it shows nothing.
    func item() -> Item? {
        guard let json = content(), isOnce || Self.isRunning(json["pid"]?.integer),
            let key = json["key"]?.string.flatMap({ Key($0) })
        else { return nil }
        var item = Item(key: key, rev: json["rev"]?.integer)
        if let value = json["set"]?.bool {
            item.action = .set(value)
        } else if let url = json["url"]?.string {
            (item.action, item.url) = (.open, url)
        } else if json["press"]?.bool == true {
            item.action = .press
        }
        return item
    }

    private static func isRunning(_ identifier: Int64?) -> Bool {
        guard let identifier, let process = pid_t(exactly: identifier), process > 0 else { return false }
        return kill(process, 0) == 0
    }
}
