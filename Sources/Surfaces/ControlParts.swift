public import Kinds

/// The parts of a control that one placement draws; `nil` for a part that it does not show.
public struct ControlParts: Hashable, Sendable {
    public var symbol: String?
    public var title: String?
    /// The value in words: `On`.
    public var text: String?
    public var tint: String?
    public var hint: String?
    /// A momentary text after an action.
    public var status: String?

    /// The system's blue: the tint of a toggle that declares none (G7).
    public static let standardTint = "blue"

    /// The parts of a toggle (Protocols/Surfaces/rules.md 6.2, 6.3).
    ///
    /// - Parameters:
    ///   - shown: The value to draw; `nil` if unknown, which is drawn as the preview: off (G4).
    ///   - title: The kind's title.
    ///   - placement: `nil` for all parts.
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

    /// The parts of a button.
    public init(button kind: ButtonKind, title: String, placement: ControlPlacement?) {
        symbol = kind.symbol
        self.title = title
        tint = kind.tint
        hint = kind.actionHint.map { "Hold to \($0)" } ?? "Hold for '\(title)'"
        keep(what: placement)
    }

    /// Removes the parts that a locked screen must not reveal (G13).
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
    /// The hint for a long press of the Action button: it names the state after the action (G8).
    func hint(whileOn isOn: Bool, title: String) -> String {
        if let hint = isOn ? hintOn : hintOff { return "Hold to \(hint)" }
        let next = isOn ? valueOff : valueOn
        let standard = ToggleKind()
        if valueOn != standard.valueOn || valueOff != standard.valueOff { return "Hold for \(next)" }
        return "Hold to Turn \(isOn ? "Off" : "On") '\(title)'"
    }
}
