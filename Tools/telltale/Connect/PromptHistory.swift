import Console
import Foundation
import Glibc
import TelltaleModel

/// The lines of earlier prompts: `$XDG_STATE_HOME/telltale/history`, readable by its owner alone.
enum PromptHistory {
    private static var file: String? {
        let named = Output.environment("XDG_STATE_HOME") ?? ""
        if named.hasPrefix("/") { return named + "/telltale/history" }
        return Output.environment("HOME").map { $0 + "/.local/state/telltale/history" }
    }

    static func read() -> [String] {
        guard let file, let text = try? String(contentsOfFile: file, encoding: .utf8) else { return [] }
        return text.split(separator: "\n").map { String($0).harmless }
    }

    /// Keeps the newest lines. A line with a token is not kept. Without a place to write to, nothing is.
    static func write(_ lines: [String]) {
        guard let file else { return }
        let folder = String(file[..<(file.lastIndex(of: "/") ?? file.startIndex)])
        try? FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let kept = lines.suffix(LineEditor.historyLimit).filter { !holdsSecret($0) }
        let descriptor = unsafe open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let bytes = Array(kept.map { $0 + "\n" }.joined().utf8)
        _ = fchmod(descriptor, 0o600)
        _ = unsafe Glibc.write(descriptor, bytes, bytes.count)
    }

    private static func holdsSecret(_ line: String) -> Bool {
        line.lowercased().contains("token") || line.contains("tt_")
    }
}
