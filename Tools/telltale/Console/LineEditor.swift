internal import TelltaleModel

/// A line that a person edits at a prompt: bytes of keys in, outcomes and a drawing out.
///
/// Pure: the owner reads the terminal in raw mode, and writes what ``drawn(width:)`` returns. Keys are those of emacs,
/// as in shells: ctrl-A, E, B, F, H, D, K, U, W, L, P, N, alt-B, alt-F, and the arrow keys.
public struct LineEditor: Sendable {
    public enum Outcome: Hashable, Sendable {
        /// The line or the cursor changed.
        case edited
        /// The line was entered, and is empty again.
        case entered(String)
        /// TAB: the owner completes ``beforeCursor``.
        case completionWanted
        /// Ctrl-L.
        case redrawWanted
        /// Ctrl-C: the line is empty again. `wasEmpty`: whether it was empty before.
        case interrupted(wasEmpty: Bool)
        /// Ctrl-D in an empty line.
        case ended
        /// Ctrl-Z.
        case suspended
    }

    public let prompt: String
    public private(set) var text: [Character] = []
    /// From 0 to the count of ``text``.
    public private(set) var cursor = 0
    /// Lines that were entered, oldest first.
    public private(set) var history: [String]

    /// The place in the history that is shown; its count for the line that is being written.
    private var place: Int
    /// The line that was being edited before the history was opened.
    private var draft: [Character] = []
    private var decoder = KeyDecoder()

    /// The number of newest lines to keep.
    public static let historyLimit = 1_000

    public init(prompt: String, history: [String] = []) {
        self.prompt = prompt
        self.history = history.suffix(Self.historyLimit)
        place = self.history.count
    }

    public var line: String { String(text) }
    /// The text before the cursor.
    public var beforeCursor: String { String(text[..<cursor]) }

    // MARK: Input

    /// Takes bytes of the terminal, in pieces of any size.
    public mutating func edit(_ bytes: some Sequence<UInt8>) -> [Outcome] {
        var outcomes: [Outcome] = []
        for byte in bytes {
            guard let key = decoder.decodeByte(byte), let outcome = press(key) else { continue }
            if outcome == .edited, outcomes.last == .edited { continue }
            outcomes.append(outcome)
        }
        return outcomes
    }

    /// Replaces what stands from `start` to the cursor: an offset in characters.
    public mutating func complete(from start: Int, with word: String) {
        guard (0...cursor).contains(start) else { return }
        text.replaceSubrange(start..<cursor, with: word)
        cursor = start + word.count
    }

    private mutating func press(_ key: KeyDecoder.Key) -> Outcome? {
        switch key {
        case .character(let character):
            // A character that would control the terminal is dropped.
            guard String(character) == String(character).harmless else { return nil }
            text.insert(character, at: cursor)
            cursor += 1
        case .enter: return enter()
        case .tab: return .completionWanted
        case .left: move(to: cursor - 1)
        case .right: move(to: cursor + 1)
        case .home: move(to: 0)
        case .end: move(to: text.count)
        case .wordLeft: move(to: wordStart)
        case .wordRight: move(to: wordEnd)
        case .up: recall(-1)
        case .down: recall(1)
        case .backspace: delete(from: cursor - 1, to: cursor)
        case .delete: delete(from: cursor, to: cursor + 1)
        case .deleteToEnd: delete(from: cursor, to: text.count)
        case .deleteToStart: delete(from: 0, to: cursor)
        case .deleteWord: delete(from: blankStart, to: cursor)
        case .controlC:
            let wasEmpty = text.isEmpty
            clear()
            return .interrupted(wasEmpty: wasEmpty)
        case .controlD:
            if text.isEmpty { return .ended }
            delete(from: cursor, to: cursor + 1)
        case .pageUp, .pageDown: return nil
        case .controlL: return .redrawWanted
        case .controlZ: return .suspended
        }
        return .edited
    }

    private mutating func enter() -> Outcome {
        // A completed word has a blank after it.
        let line = String(text[..<(text.lastIndex { $0 != " " }.map { $0 + 1 } ?? 0)])
        clear()
        if !line.isEmpty, line != history.last {
            history.append(line)
            if history.count > Self.historyLimit { history.removeFirst() }
        }
        place = history.count
        return .entered(line)
    }

    private mutating func clear() {
        text = []
        cursor = 0
        draft = []
        place = history.count
    }

    private mutating func move(to position: Int) { cursor = min(max(0, position), text.count) }

    private mutating func delete(from start: Int, to end: Int) {
        let range = max(0, start)..<max(max(0, start), min(end, text.count))
        text.removeSubrange(range)
        cursor = range.lowerBound
    }

    /// Shows the next line of the history, in one direction, that begins like the draft.
    private mutating func recall(_ step: Int) {
        if place == history.count { draft = text }
        var next = place + step
        while history.indices.contains(next), !history[next].hasPrefix(String(draft)) { next += step }
        guard (0...history.count).contains(next) else { return }
        place = next
        text = next == history.count ? draft : Array(history[next])
        cursor = text.count
    }

    private var wordStart: Int {
        var position = cursor
        while position > 0, !isWord(text[position - 1]) { position -= 1 }
        while position > 0, isWord(text[position - 1]) { position -= 1 }
        return position
    }

    private var wordEnd: Int {
        var position = cursor
        while position < text.count, !isWord(text[position]) { position += 1 }
        while position < text.count, isWord(text[position]) { position += 1 }
        return position
    }

    /// Where the word of ctrl-W begins, which only blanks end.
    private var blankStart: Int {
        var position = cursor
        while position > 0, text[position - 1] == " " { position -= 1 }
        while position > 0, text[position - 1] != " " { position -= 1 }
        return position
    }

    private func isWord(_ character: Character) -> Bool { character.isLetter || character.isNumber }

    // MARK: Drawing

    /// Draws the line over the one that the cursor is in, and puts the cursor where it belongs. A line that is longer than
    /// the terminal is shown in part.
    public func drawn(width: Int) -> String {
        let room = max(1, width - prompt.count - 1)
        var start = 0
        var column = text[..<cursor].reduce(0) { $0 + $1.displayWidth }
        while column > room, start < cursor {
            column -= text[start].displayWidth
            start += 1
        }
        var (shown, used) = ("", 0)
        for character in text[start...] {
            guard used + character.displayWidth <= room else { break }
            shown.append(character)
            used += character.displayWidth
        }
        let place = prompt.count + column
        return "\r\(prompt)\(shown)\u{1B}[K\r" + (place > 0 ? "\u{1B}[\(place)C" : "")
    }

    /// Erases the line, so that something else can be written.
    public static let erased = "\r\u{1B}[K"
}
