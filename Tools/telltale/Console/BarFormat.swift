public import Cards
internal import TelltaleModel

/// The status bars that `telltale bar` writes for, each in the format that its manual gives.
///
/// Texts of activities are escaped for each: none of them can begin a tag, a parameter, an action or another line.
public enum BarFormat: String, CaseIterable, Sendable {
    case waybar, i3blocks, polybar, swiftbar, xbar

    /// The command of a click, as words: `telltale set`, `press` or `bar click`.
    public struct Click: Sendable {
        private let program: String
        private let view: String
        private let options: [String]

        /// - Parameters:
        ///   - program: The path of `telltale`.
        ///   - view: The value of `--view`.
        ///   - options: The options that name the daemon and the account.
        public init(program: String, view: String, options: [String]) {
            (self.program, self.view, self.options) = (program, view, options)
        }

        /// For a toggle it contains the value and the `rev` that were shown, so that a daemon with a newer row refuses
        /// it.
        ///
        /// - Returns: `nil` if a click does nothing.
        public func command(for item: BarItem) -> [String]? {
            switch item.action {
            case nil: nil
            case .open?: [program, "bar", "click", item.key, "--view", view] + options
            case .press?: [program, "press", item.key] + options
            case .set(let value)?:
                [program, "set", item.key, value ? "on" : "off"] + (item.rev.map { ["--if", "\($0)"] } ?? []) + options
            }
        }
    }

    private static let dim = "#888888"
    private static let separator = "  "

    /// Whether the program keeps running and writes a block for each change; xbar starts it each time.
    public var isStreaming: Bool { self != .xbar }

    /// The block of the items, with its line end.
    ///
    /// - Parameters:
    ///   - isConnected: Whether the items are current; otherwise they are drawn dim.
    ///   - once: Whether this is the only block: i3blocks then reads three lines.
    public func block(_ items: [BarItem], isConnected: Bool, once: Bool = false, click: Click) -> String {
        switch self {
        case .waybar: Self.waybar(items, isConnected) + "\n"
        case .i3blocks: (once ? Self.i3blocksLines(items, isConnected) : Self.i3blocks(items, isConnected)) + "\n"
        case .polybar: Self.polybar(items, isConnected, click) + "\n"
        case .swiftbar: Self.menu(items, isConnected, click, isSwiftBar: true) + (once ? "" : "~~~\n")
        case .xbar: Self.menu(items, isConnected, click, isSwiftBar: false)
        }
    }

    /// Replaces scalars, not characters: with a combining mark, a sign is another character to Swift, but still the
    /// same sign to a bar.
    private static func escaped(_ text: String, _ replacements: [Unicode.Scalar: String]) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if let replacement = replacements[scalar] {
                scalars.append(contentsOf: replacement.unicodeScalars)
            } else {
                scalars.append(scalar)
            }
        }
        return String(scalars)
    }

    /// One text with one click: buttons, which say nothing, are left to the tooltip and the menu.
    private static func joined(_ items: [BarItem]) -> String {
        let informative = items.filter(\.isInformative)
        return (informative.isEmpty ? items : informative).map(\.text).joined(separator: separator)
    }

    // MARK: waybar (man 5 waybar-custom, return-type json)

    private static func waybar(_ items: [BarItem], _ isConnected: Bool) -> String {
        let status = isConnected ? items.first?.status ?? "empty" : "disconnected"
        let details = items.map(\.detail) + (isConnected ? [] : ["not connected"])
        var object = JSONObject()
        object["text"] = .string(pango(joined(items)))
        object["alt"] = .string(status)
        object["tooltip"] = .string(pango(details.joined(separator: "\n")))
        object["class"] = .string(status)
        object["percentage"] = (items.compactMap(\.percentage).first).map { .integer(Int64($0)) }
        return JSON.object(object).description.harmlessJSON
    }

    /// Text for Pango's markup, which waybar reads.
    private static func pango(_ text: String) -> String {
        escaped(text, ["&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&#39;"])
    }

    // MARK: i3blocks (interval=persist and format=json; or three lines)

    private static func i3blocks(_ items: [BarItem], _ isConnected: Bool) -> String {
        var object = JSONObject()
        object["full_text"] = .string(joined(items))
        object["short_text"] = .string(items.first?.text ?? "")
        if !isConnected || items.first?.isDim == true { object["color"] = .string(dim) }
        // Overrides the block's configuration.
        object["markup"] = "none"
        return JSON.object(object).description.harmlessJSON
    }

    private static func i3blocksLines(_ items: [BarItem], _ isConnected: Bool) -> String {
        let color = !isConnected || items.first?.isDim == true ? "\n\(dim)" : ""
        return "\(joined(items))\n\(items.first?.text ?? "")\(color)"
    }

    // MARK: polybar (custom/script with tail = true)

    private static func polybar(_ items: [BarItem], _ isConnected: Bool, _ click: Click) -> String {
        items.map { item in
            // A percent sign with a brace begins a tag, and there is no way to write one.
            var text = untagged(item.text)
            if !isConnected || item.isDim { text = "%{F\(dim)}\(text)%{F-}" }
            guard let words = click.command(for: item) else { return text }
            // The command ends at the first unescaped colon.
            let command = escaped(shell(words), ["\\": "\\\\", ":": "\\:"])
            return "%{A1:\(command):}\(text)%{A}"
        }.joined(separator: separator)
    }

    private static func untagged(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "{", scalars.last == "%" { scalars.append(" ") }
            scalars.append(scalar)
        }
        return String(scalars)
    }

    /// Words as one command of a shell.
    static func shell(_ words: [String]) -> String {
        words.map { word in
            let isPlain = word.utf8.allSatisfy {
                ($0 >= 0x61 && $0 <= 0x7A) || ($0 >= 0x41 && $0 <= 0x5A) || ($0 >= 0x30 && $0 <= 0x39)
                    || "-_./:@=+,".utf8.contains($0)
            }
            return isPlain && !word.isEmpty ? word : "'" + escaped(word, ["'": "'\\''"]) + "'"
        }.joined(separator: " ")
    }

    // MARK: SwiftBar and xbar (lines with parameters)

    private static func menu(
        _ items: [BarItem], _ isConnected: Bool, _ click: Click, isSwiftBar: Bool
    ) -> String {
        let plain = isSwiftBar ? "emojize=false symbolize=false trim=false" : "emojize=false trim=false"
        let color = isConnected ? "" : " color=\(dim)"
        let title = items.isEmpty ? "·" : menuText(joined(items))
        var lines = ["\(title) | \(plain)\(color)", "---"]
        if !isConnected { lines.append("Not connected | color=\(dim)") }
        if items.isEmpty { lines.append("Nothing under way | color=\(dim)") }
        for item in items {
            var words = plain + (item.isDim || !isConnected ? " color=\(dim)" : "")
            if let action = parameters(of: item, click, isSwiftBar: isSwiftBar) { words += " \(action)" }
            lines.append("\(menuText(item.detail)) | \(words)")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A bar begins the parameters, and dashes in front a separator or a submenu: neither can be escaped.
    private static func menuText(_ text: String) -> String {
        let scalars = escaped(text, ["|": "¦"]).unicodeScalars
        return scalars.first == "-" ? "–" + String(scalars.dropFirst()) : String(scalars)
    }

    /// `nil` if a word cannot be written as a parameter.
    private static func parameters(of item: BarItem, _ click: Click, isSwiftBar: Bool) -> String? {
        if item.action == .open, let url = item.url { return "href=\"\(percentEncoded(url))\"" }
        guard let words = click.command(for: item),
            words.allSatisfy({ !$0.utf8.contains { "\"|\\".utf8.contains($0) } })
        else { return nil }
        let numbered = words.dropFirst().enumerated().map { "param\($0.offset + 1)=\"\($0.element)\"" }
        let program = "\(isSwiftBar ? "bash" : "shell")=\"\(words.first ?? "")\""
        return ([program] + numbered + ["terminal=false refresh=true"]).joined(separator: " ")
    }

    /// A link whose characters do not end the parameter.
    private static func percentEncoded(_ url: String) -> String {
        url.utf8.map { byte -> String in
            guard byte <= 0x20 || byte >= 0x7F || "\"'|\\<>`".utf8.contains(byte) else {
                return String(UnicodeScalar(byte))
            }
            let digits = String(byte, radix: 16, uppercase: true)
            return "%" + (byte < 0x10 ? "0" : "") + digits
        }.joined()
    }
}
