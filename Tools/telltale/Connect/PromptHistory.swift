import AtomicFile
import Console
import TelltaleModel
import ToolSupport

/// The lines of earlier prompts: `$XDG_STATE_HOME/telltale/history`, readable by its owner alone.
enum PromptHistory {
    private static var file: String? {
        let named = Output.environment("XDG_STATE_HOME") ?? ""
        if named.hasPrefix("/") { return named + "/telltale/history" }
        return Output.environment("HOME").map { $0 + "/.local/state/telltale/history" }
    }

    /// Far more than the kept lines need.
    private static let byteCountLimit = 16 << 20

    static func read() -> [String] {
        guard let file, let bytes = try? AtomicFile(file).read(limit: byteCountLimit)?.bytes else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { String($0).harmless }
    }

    /// Keeps the newest lines. A line with a token is dropped. If there is no place to write to, nothing is kept.
    static func write(_ lines: [String]) {
        guard let file else { return }
        let kept = lines.suffix(LineEditor.historyLimit).filter { !holdsSecret($0) }
        let history = AtomicFile(file)
        // A link to /dev/null turns the history off.
        guard history.isPlain else { return }
        try? history.makeFolder()
        try? history.replace(with: Array(kept.map { $0 + "\n" }.joined().utf8), mode: 0o600)
    }

    private static func holdsSecret(_ line: String) -> Bool {
        line.lowercased().contains("token") || line.contains("tt_")
    }
}
