public import Kinds
internal import Machines

/// What one placement draws of a control. What it does not show is `nil`.
public struct ControlParts: Hashable, Sendable {
    public var symbol: String?
    public var title: String?
    /// The value in words: `On`.
    public var text: String?
    public var tint: String?
    public var hint: String?
    /// A momentary text after an action.
    public var status: String?

    /// The system's blue: the tint of a toggle that has none (G7).
    public static let standardTint = "blue"

    /// A toggle (rules.md 6.2, 6.3).
    ///
    /// - Parameters:
    ///   - shown: What to draw; `nil` = unknown, drawn as its preview, which is off (G4).
    ///   - title: The kind's title.
    ///   - placement: `nil` = all parts.
    public init(toggle kind: ToggleKind, shown: Bool?, title: String, placement: ControlPlacement?) {
        let shown = placement == .gallery ? false : shown
        let isOn = shown ?? false
        symbol = isOn ? kind.symbolOn : kind.symbolOff
        self.title = title
        text = shown.map { $0 ? kind.valueOn : kind.valueOff }
        tint = isOn ? kind.tint ?? Self.standardTint : nil
        hint = kind.hint(whileOn: isOn, title: title)
        keep(what: placement)
    }

    /// A button.
    public init(button kind: ButtonKind, title: String, placement: ControlPlacement?) {
        symbol = kind.symbol
        self.title = title
        tint = kind.tint
        hint = kind.actionHint.map { "Hold to \($0)" } ?? "Hold for '\(title)'"
        keep(what: placement)
    }

    /// Takes out what the locked screen must not tell (G13).
    mutating func redact(offSymbol: String) {
        if symbol != nil { symbol = offSymbol }
        title = nil
        text = nil
        tint = nil
        hint = nil
        status = nil
    }

    private mutating func keep(what placement: ControlPlacement?) {
        guard let placement else { return }
        if !placement.showsSymbol || symbol == "" { symbol = nil }
        if !placement.showsTitle { title = nil }
        if !placement.showsText { text = nil }
        if !placement.showsTint { tint = nil }
        if !placement.showsHint { hint = nil }
    }
}

extension ToggleKind {
    /// What holding the Action button will do: it names the state that the action leads to (G8).
    func hint(whileOn isOn: Bool, title: String) -> String {
        if let hint = isOn ? hintOn : hintOff { return "Hold to \(hint)" }
        let next = isOn ? valueOff : valueOn
        let standard = ToggleKind()
        if valueOn != standard.valueOn || valueOff != standard.valueOff { return "Hold for \(next)" }
        return "Hold to Turn \(isOn ? "Off" : "On") '\(title)'"
    }
}
