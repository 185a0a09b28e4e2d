public import Kinds
public import Machines
public import TelltaleModel

extension ControlRow {
    /// Appends a toggle that is part of an activity's view, with its current state.
    ///
    /// - Parameters:
    ///   - key: The control's own key.
    ///   - viewer: The viewer; its placement is ignored.
    ///   - isInteractive: Whether controls at this place are active. In CarPlay (Protocols/Surfaces/rules.md 3.5) and
    ///     on a locked device none is.
    public static func writeEmbedded(
        _ toggle: Toggle, key: Key, kind: ToggleKind, title: String, for viewer: ControlViewer, isInteractive: Bool,
        to writer: inout JSONWriter
    ) {
        let isRedacted = kind.privacySensitive && viewer.isRedacted
        let shown = isRedacted ? nil : toggle.shown(to: viewer.connection, kind: kind)
        var parts = ControlParts(toggle: kind, shown: shown, title: title, placement: .controlCenterMedium)
        if isRedacted { parts.redact(offSymbol: kind.symbolOff) }
        writer.beginObject()
        writer.member("key", key.text)
        writer.member("control", "toggle")
        writer.name("shown")
        if let shown { writer.value(shown) } else { writer.null() }
        writer.member("phase", toggle.phase.rawValue)
        writer.member("available", toggle.isAvailable)
        writeEnd(parts, isInteractive: isInteractive && !viewer.isLocked, to: &writer)
    }

    /// Appends a button that is part of an activity's view.
    ///
    /// - Parameters: As for a toggle.
    public static func writeEmbedded(
        _ button: Button, key: Key, kind: ButtonKind, title: String, for viewer: ControlViewer, isInteractive: Bool,
        to writer: inout JSONWriter
    ) {
        var parts = ControlParts(button: kind, title: title, placement: .controlCenterMedium)
        if kind.privacySensitive, viewer.isRedacted { parts.redact(offSymbol: kind.symbol) }
        writer.beginObject()
        writer.member("key", key.text)
        writer.member("control", "button")
        writer.member("phase", button.phase.rawValue)
        writer.member("available", button.isAvailable(kind: kind))
        writeEnd(parts, isInteractive: isInteractive && !viewer.isLocked, to: &writer)
    }

    private static func writeEnd(_ parts: ControlParts, isInteractive: Bool, to writer: inout JSONWriter) {
        writer.member("interactive", isInteractive)
        if let symbol = parts.symbol { writer.member("symbol", symbol) }
        if let title = parts.title { writer.member("title", title) }
        if let text = parts.text { writer.member("text", text) }
        if let tint = parts.tint { writer.member("tint", tint) }
        writer.endObject()
    }
}
