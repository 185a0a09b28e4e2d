import Console
import Glibc
import TelltaleModel
import ToolSupport

/// The prompt of `telltale connect` on a terminal: an editor, its completion, and the lines written above it.
final class Prompt {
    enum Outcome {
        case entered(String)
        /// The keys of a kind would complete the line.
        case keysWanted(kind: String)
        case ended
    }

    var completion = LineCompletion()
    /// Whether the daemon has so few keys that those of a kind may be requested.
    var mayAskForKeys = false

    private let terminal = RawTerminal(keepsSignals: false)
    private var editor = LineEditor(prompt: "> ", history: PromptHistory.read())
    private var isOpen = false
    /// Kinds whose keys were requested.
    private var askedKinds: Set<String> = []
    /// The line for which keys were requested.
    private var waiting: String?

    private static let candidateLimit = 60

    func begin() {
        isOpen = true
        terminal?.enter()
        redraw()
    }

    func end() {
        guard isOpen else { return }
        isOpen = false
        Output.write(LineEditor.erased)
        terminal?.leave()
        PromptHistory.write(editor.history)
    }

    func redraw() {
        if isOpen { Output.write(editor.drawn(width: Output.size.width)) }
    }

    /// Writes whole lines above the prompt.
    func write(_ text: String) {
        guard !text.isEmpty else { return }
        Output.write(isOpen ? LineEditor.erased + text + editor.drawn(width: Output.size.width) : text)
    }

    func handleBytes(_ bytes: [UInt8]) -> [Outcome] {
        var outcomes: [Outcome] = []
        for outcome in editor.edit(bytes) {
            switch outcome {
            case .edited: break
            case .entered(let line):
                // The line stays above, as it was typed.
                Output.write("\(LineEditor.erased)> \(line)\n")
                outcomes.append(.entered(line))
            case .completionWanted: if let kind = complete(mayAsk: true) { outcomes.append(.keysWanted(kind: kind)) }
            case .redrawWanted: Output.write("\u{1B}[2J\u{1B}[H")
            case .interrupted(let wasEmpty): if wasEmpty { outcomes.append(.ended) }
            case .ended: outcomes.append(.ended)
            case .suspended: suspend()
            }
        }
        redraw()
        return outcomes
    }

    /// Called when the requested keys are in ``completion``.
    func keysCame() {
        guard waiting == editor.beforeCursor else { return }
        waiting = nil
        _ = complete(mayAsk: false)
        redraw()
    }

    /// - Returns: The kind whose keys are wanted first.
    private func complete(mayAsk: Bool) -> String? {
        let text = editor.beforeCursor
        if mayAsk, mayAskForKeys, let kind = completion.kindOfWantedKeys(in: text), askedKinds.insert(kind).inserted {
            waiting = text
            return kind
        }
        let answer = completion.answer(to: text)
        guard !answer.words.isEmpty else { return nil }
        let insertion = answer.insertion
        if insertion != text.dropFirst(answer.start) {
            editor.complete(from: answer.start, with: insertion)
        } else {
            let shown = answer.words.prefix(Self.candidateLimit).map { $0.harmless }
            let rest = answer.words.count - shown.count
            Output.write(
                LineEditor.erased + shown.joined(separator: "  ") + (rest > 0 ? "  … \(rest) more" : "") + "\n")
        }
        return nil
    }

    private func suspend() {
        Output.write(LineEditor.erased)
        terminal?.leave()
        // The process stops here until it is continued.
        kill(getpid(), SIGSTOP)
        terminal?.enter()
    }
}
