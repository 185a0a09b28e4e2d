internal import TelltaleModel

/// How a piece of text looks.
public struct Ink: Hashable, Sendable {
    public enum Color: UInt8, Hashable, Sendable {
        // The numbers of the 16 colours that every terminal has.
        case red = 31
        case green = 32
        case yellow = 33
        case blue = 34
        case magenta = 35
        case cyan = 36
        case gray = 90

        /// Parses a view's `tint`; `nil` if it is unknown.
        init?(tint: String) {
            switch tint {
            case "red", "pink": self = .red
            case "green", "mint": self = .green
            case "yellow", "orange", "brown": self = .yellow
            case "blue", "indigo": self = .blue
            case "purple": self = .magenta
            case "teal", "cyan": self = .cyan
            case "gray", "grey", "secondary": self = .gray
            case _: return nil
            }
        }
    }

    public var color: Color?
    public var isBold = false
    public var isDim = false

    public init(_ color: Color? = nil, bold: Bool = false, dim: Bool = false) {
        self.color = color
        isBold = bold
        isDim = dim
    }

    public static let plain = Ink()
    public static let bold = Ink(bold: true)
    public static let dim = Ink(dim: true)

    /// The escape code that starts it, or an empty text.
    var code: String {
        var codes: [String] = []
        if isBold { codes.append("1") }
        if isDim { codes.append("2") }
        if let color { codes.append("\(color.rawValue)") }
        return codes.isEmpty ? "" : "\u{1B}[\(codes.joined(separator: ";"))m"
    }
}

/// One line of a drawing.
public struct Line: Hashable, Sendable {
    struct Run: Hashable, Sendable {
        var text: String
        var ink: Ink
    }

    private(set) var runs: [Run] = []
    /// In columns of a terminal.
    public private(set) var width = 0

    public init() {}

    /// Removes control characters, because the text may come from outside.
    public init(_ text: String, _ ink: Ink = .plain) {
        append(text, ink)
    }

    public mutating func append(_ text: String, _ ink: Ink = .plain) {
        let text = text.harmless
        guard !text.isEmpty else { return }
        runs.append(Run(text: text, ink: ink))
        width += text.displayWidth
    }

    public mutating func append(_ line: Line) {
        runs += line.runs
        width += line.width
    }

    /// Appends another part, with a dot between; an empty one is none.
    mutating func add(_ part: Line) {
        guard part.width > 0 else { return }
        if width > 0 { append(" · ", .dim) }
        append(part)
    }

    /// Cut with an ellipsis if it is too long, padded with spaces if it is too short.
    func fitted(to width: Int, centered: Bool = false) -> Line {
        if self.width > width { return cut(to: width) }
        let space = width - self.width
        let before = centered ? space / 2 : 0
        var line = Line(String(repeating: " ", count: before))
        line.append(self)
        line.append(String(repeating: " ", count: space - before))
        return line
    }

    /// Its beginning, if it is longer.
    public func cut(toWidth width: Int) -> Line { self.width > width ? cut(to: width) : self }

    /// `self` at the left and `other` at the right; the left one is cut if both do not fit.
    func justified(with other: Line, to width: Int) -> Line {
        guard other.width > 0 else { return fitted(to: width) }
        let room = max(0, width - other.width - 1)
        var line = fitted(to: room)
        line.append(" ")
        line.append(other)
        return line.fitted(to: width)
    }

    func inked(_ change: (inout Ink) -> Void) -> Line {
        var line = self
        for index in line.runs.indices { change(&line.runs[index].ink) }
        return line
    }

    private func cut(to width: Int) -> Line {
        guard width > 0 else { return Line() }
        var line = Line()
        for run in runs {
            var text = ""
            var used = line.width
            for character in run.text {
                guard used + character.displayWidth <= width - 1 else {
                    line.append(text, run.ink)
                    line.append("…", run.ink)
                    return line.fitted(to: width)
                }
                used += character.displayWidth
                text.append(character)
            }
            line.append(text, run.ink)
        }
        return line.fitted(to: width)
    }

    public func text(color: Bool) -> String {
        var text = ""
        for run in runs {
            let code = color ? run.ink.code : ""
            text += code.isEmpty ? run.text : code + run.text + "\u{1B}[0m"
        }
        return text
    }
}
