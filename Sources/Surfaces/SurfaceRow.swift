public import Kinds
public import Machines
public import TelltaleModel

/// The body of a row in a surface view (Protocols/Line/line-protocol.md §6).
public enum SurfaceRow {
    /// Writes an embedded control as one JSON value. Returns `false`, and writes nothing, if the control is unknown.
    public typealias ControlWriter = (_ key: String, _ isInteractive: Bool, _ writer: inout JSONWriter) -> Bool

    /// Appends the row as one JSON object. It depends only on the activity's state, the placement, the surface and the
    /// output of `control`.
    ///
    /// - Precondition: The placement is visible. For a hidden one, an object without a presentation is written.
    public static func write(
        _ activity: Activity, kind: Kind, placement: Placement, surface: Surface,
        control: ControlWriter = { _, _, _ in false }, to writer: inout JSONWriter
    ) {
        guard case .activity(let definition) = kind.body else {
            writer.beginObject()
            writer.endObject()
            return
        }
        withoutActuallyEscaping(control) { control in
            let drawing = SurfaceRowDrawing(
                lifecycle: activity.lifecycle, definition: definition, context: activity.viewContext,
                surface: surface,
                placement: placement, control: control)
            write(drawing, kind: kind, to: &writer)
        }
    }

    private static func write(_ drawing: SurfaceRowDrawing, kind: Kind, to writer: inout JSONWriter) {
        let (placement, surface) = (drawing.placement, drawing.surface)
        writer.beginObject()
        let isTwofold = surface == .phone || surface == .pad
        if !isTwofold, let presentation = placement.presentation {
            writer.member("presentation", presentation.rawValue)
        }
        writer.member("order", Int(placement.order))
        if !isTwofold { writer.member("interactive", placement.isInteractive) }
        writer.member("lifecycle", drawing.lifecycle.rawValue)
        writer.member("stale", drawing.lifecycle == .stale)
        writer.member("app", kind.app)
        if surface == .watch, placement.options.contains(.joined) {
            writer.member("appName", appName(of: kind.app))
        }
        writer.member("title", kind.title)
        if isTwofold {
            drawing.writeParts(to: &writer)
        } else {
            drawing.writeOptions(to: &writer)
            if let presentation = placement.presentation {
                drawing.writeView(presentation, isInteractive: placement.isInteractive, to: &writer)
            }
            if placement.options.contains(.banner) { drawing.writeBanner(isFullScreen: true, to: &writer) }
        }
        // E12: a link may reveal as much as the views of a kind that is private as a whole.
        let isHidden = placement.isRedacted && drawing.definition.isPrivacySensitive
        if let url = drawing.definition.url, !isHidden { writer.member("url", url.rendered(in: drawing.context)) }
        writer.endObject()
    }

    /// The last component of `com.example.coffee`, capitalised: `Coffee`.
    static func appName(of app: String) -> String {
        let last = app.split(separator: ".").last.map { String($0) } ?? app
        return last.prefix(1).uppercased() + last.dropFirst()
    }
}

/// One row in progress.
private struct SurfaceRowDrawing {
    let lifecycle: Activity.Lifecycle
    let definition: ActivityKind
    let context: TemplateContext
    let surface: Surface
    let placement: Placement
    let control: SurfaceRow.ControlWriter

    /// Writes an object for each of the two places at which a device shows the activity.
    func writeParts(to writer: inout JSONWriter) {
        guard placement.isShown else { return }
        writer.name("lockScreen")
        writer.beginObject()
        writer.member("presentation", Presentation.lockScreen.rawValue)
        writer.member("order", Int(placement.order))
        writer.member("interactive", placement.isInteractive)
        writeOptions(to: &writer)
        writeView(.lockScreen, isInteractive: placement.isInteractive, to: &writer)
        writer.endObject()

        switch placement.island {
        case .none: break
        case .compact: writeIsland(.compact, order: 1, isAttached: true, to: &writer)
        case .attached: writeIsland(.minimal, order: 1, isAttached: true, to: &writer)
        case .detached: writeIsland(.minimal, order: 2, isAttached: false, to: &writer)
        }
        if placement.options.contains(.expanded) { writeExpanded(to: &writer) }
        if placement.options.contains(.banner) { writeBanner(isFullScreen: false, to: &writer) }
    }

    /// Writes the island's presentation, and the expanded one for a long press or an alert.
    private func writeIsland(
        _ presentation: Presentation, order: Int, isAttached: Bool, to writer: inout JSONWriter
    ) {
        writer.name("island")
        writer.beginObject()
        writer.member("presentation", presentation.rawValue)
        writer.member("order", order)
        writer.member("interactive", false)
        writer.member("attached", isAttached)
        writeView(presentation, isInteractive: false, to: &writer)
        writeExpanded(to: &writer)
        writer.endObject()
    }

    private func writeExpanded(to writer: inout JSONWriter) {
        writer.name("expanded")
        writer.beginObject()
        writer.member("presentation", Presentation.expanded.rawValue)
        writer.member("interactive", true)
        writeView(.expanded, isInteractive: true, to: &writer)
        writer.endObject()
    }

    func writeBanner(isFullScreen: Bool, to writer: inout JSONWriter) {
        writer.name("banner")
        writer.beginObject()
        writer.member("presentation", Presentation.lockScreen.rawValue)
        writer.member("interactive", !isFullScreen && placement.isInteractive)
        if isFullScreen {
            writer.member("fullScreen", true)
            writer.member("scale", 2)
        }
        writeView(.lockScreen, isInteractive: !isFullScreen && placement.isInteractive, to: &writer)
        writer.endObject()
    }

    func writeOptions(to writer: inout JSONWriter) {
        if placement.options.contains(.joined) { writer.member("joined", true) }
        if placement.options.contains(.luminanceReduced) { writer.member("luminance", "reduced") }
        if placement.options.contains(.night) { writer.member("night", true) }
        if placement.options.contains(.highlighted) { writer.member("highlighted", true) }
        if placement.options.contains(.fullScreen) {
            writer.member("fullScreen", true)
            writer.member("scale", 2)
        }
    }

    /// Writes `view`, and what of it is private or hidden (E8, E9).
    func writeView(_ presentation: Presentation, isInteractive: Bool, to writer: inout JSONWriter) {
        let isRedacted = placement.isRedacted
        var circumstances = Circumstances(surface: surface)
        circumstances.isDark = placement.isUnder(.darkness)
        circumstances.isLuminanceReduced = placement.isUnder(.reducedLuminance)
        circumstances.hasAccount = !placement.isUnder(.noAccount)
        let view = definition.views[presentation].drawn(circumstances, context)
        let isJoined = placement.options.contains(.joined)
        let limit = Catalogue.textLimit(presentation, on: surface, isJoined: isJoined)
        writer.name("view")
        (isRedacted ? view.redacted : view.parts).write(
            to: &writer, context: context, textLimit: limit, isInteractive: isInteractive
        ) { key, writer in
            if control(key, isInteractive, &writer) { return }
            // The control does not exist, and its room stays empty.
            writer.beginObject()
            writer.member("key", key)
            writer.member("interactive", false)
            writer.endObject()
        }
        guard !view.privateParts.isEmpty else { return }
        writer.member(isRedacted ? "redacted" : "private", .array(view.privateParts.map { .string($0) }))
        if !isRedacted, let summary = view.summary {
            writer.member("summary", ViewTemplate.cut(summary.rendered(in: context), to: limit))
        }
    }
}

extension ActivityViews {
    subscript(presentation: Presentation) -> ActivityView {
        switch presentation {
        case .compact: compact
        case .minimal: minimal
        case .expanded: expanded
        case .lockScreen: lockScreen
        case .small: small ?? lockScreen
        }
    }
}
