public import Kinds
public import Machines
public import TelltaleModel

/// The row of a toggle or a button: its state, and the parts that its placement shows (Protocols/Line/line-protocol.md
/// §9).
///
/// State: `control value assumed phase wanted shown available last ended`. Parts: `placement symbol title text tint
/// hint status`. `unlock` means that the device must be unlocked before the control acts; `redacted` means that the
/// device is locked and parts are hidden; `offered` is false while no view of its activity offers it. A member that does not apply is omitted, except `value` and `shown` of a
/// toggle, which are `null` while unknown.
public enum ControlRow {
    /// Appends a toggle's row as one JSON object.
    ///
    /// - Parameters:
    ///   - kind: The toggle's kind; `name` and `title` are those of its kind file.
    ///   - viewer: The viewer. Without a placement the row is the whole state and nothing is redacted.
    ///   - isOffered: Whether a view of the activity that it belongs to offers it (E6).
    public static func write(
        _ toggle: Toggle, kind: ToggleKind, name: String, title: String, for viewer: ControlViewer,
        isOffered: Bool = true, to writer: inout JSONWriter
    ) {
        let shown = toggle.shown(to: viewer.connection, kind: kind)
        let isRedacted = kind.privacySensitive && viewer.isLocked && viewer.placement != nil
        var parts = ControlParts(toggle: kind, shown: shown, title: title, placement: viewer.placement)
        if viewer.placement?.showsStatus ?? true { parts.status = status(of: toggle) }
        if isRedacted { parts.redact(offSymbol: kind.symbolOff) }

        writer.beginObject()
        writer.member("control", "toggle")
        if viewer.placement == nil { writer.member("kind", name) }
        member("value", isRedacted ? nil : toggle.value, to: &writer)
        writer.member("assumed", toggle.isAssumed)
        writer.member("phase", toggle.phase.rawValue)
        if let wanted = toggle.wanted, !isRedacted { writer.member("wanted", wanted) }
        member("shown", isRedacted ? nil : shown, to: &writer)
        writer.member("available", toggle.isAvailable)
        writeEnd(
            toggle.last, before: toggle.endedBefore, parts: parts, requiresAuthentication: kind.requiresAuthentication,
            isRedacted: isRedacted, isOffered: isOffered,
            for: viewer, to: &writer)
    }

    /// Appends a button's row as one JSON object.
    ///
    /// - Parameters: As for a toggle.
    public static func write(
        _ button: Button, kind: ButtonKind, name: String, title: String, for viewer: ControlViewer,
        isOffered: Bool = true, to writer: inout JSONWriter
    ) {
        let isRedacted = kind.privacySensitive && viewer.isLocked && viewer.placement != nil
        var parts = ControlParts(button: kind, title: title, placement: viewer.placement)
        if viewer.placement?.showsStatus ?? true { parts.status = status(of: button) }
        if isRedacted { parts.redact(offSymbol: kind.symbol) }

        writer.beginObject()
        writer.member("control", "button")
        if viewer.placement == nil { writer.member("kind", name) }
        writer.member("phase", button.phase.rawValue)
        writer.member("available", button.isAvailable(kind: kind))
        if let coolingUntil = button.coolingUntil { writer.member("coolingUntil", coolingUntil.milliseconds) }
        writeEnd(
            button.last, parts: parts, requiresAuthentication: kind.requiresAuthentication, isRedacted: isRedacted,
            isOffered: isOffered, for: viewer, to: &writer)
    }

    private static func writeEnd(
        _ last: OperationEnd?, before ended: ArraySlice<OperationEnd> = [], parts: ControlParts,
        requiresAuthentication: Bool, isRedacted: Bool, isOffered: Bool, for viewer: ControlViewer,
        to writer: inout JSONWriter
    ) {
        func write(_ end: OperationEnd, to writer: inout JSONWriter) {
            var end = end
            // The provider's own words may reveal the control's state.
            if isRedacted { end.failure = nil }
            end.write(to: &writer)
        }
        if let last {
            writer.name("last")
            write(last, to: &writer)
        }
        if !ended.isEmpty {
            writer.name("ended")
            writer.beginArray()
            for end in ended { write(end, to: &writer) }
            writer.endArray()
        }
        if let placement = viewer.placement { writer.member("placement", placement.rawValue) }
        if let symbol = parts.symbol { writer.member("symbol", symbol) }
        if let title = parts.title { writer.member("title", title) }
        if let text = parts.text { writer.member("text", text) }
        if let tint = parts.tint { writer.member("tint", tint) }
        if let hint = parts.hint { writer.member("hint", hint) }
        if let status = parts.status { writer.member("status", status) }
        if requiresAuthentication, viewer.isLocked { writer.member("unlock", true) }
        if isRedacted { writer.member("redacted", true) }
        if !isOffered { writer.member("offered", false) }
        writer.endObject()
    }

    private static func member(_ name: StaticString, _ value: Bool?, to writer: inout JSONWriter) {
        writer.name(name)
        if let value { writer.value(value) } else { writer.null() }
    }

    /// The status of the last operation, which disappears when another one is in progress.
    private static func status(of toggle: Toggle) -> String? { toggle.flight == nil ? status(after: toggle.last) : nil }
    private static func status(of button: Button) -> String? { button.flight == nil ? status(after: button.last) : nil }

    /// The momentary text after an operation: only for failures, since a success is visible (G10: sparingly).
    private static func status(after last: OperationEnd?) -> String? {
        switch last?.result {
        case nil, .confirmed, .superseded: nil
        case .reverted(.failed): last?.failure?.message ?? "Failed"
        case .reverted(.timeout): "No answer"
        case .reverted(.overridden): "Changed elsewhere"
        case .reverted(.unavailable): "Not available"
        }
    }
}
