public import Kinds
public import Machines
public import TelltaleModel

/// The body of a widget's row in a surface view: the place, and a timeline that the client draws by itself
/// (Protocols/Widgets/README.md).
public enum WidgetRow {
    /// The size limit for the views of one row, in bytes. The current entry is always included.
    public static let byteLimit = 32_768

    /// Appends the row as one JSON object. It depends on nothing but the arguments and the output of `control`.
    ///
    /// - Parameters:
    ///   - moments: The current moment and the following ones.
    ///   - tile: The position of a widget that was placed.
    ///   - device: The device of the catalogue that the row is for, for the widget's size.
    ///   - isInvalid: Whether an operation is in progress on a control that `control` wrote. Called after the entries.
    /// - Returns: How many of the moments were written.
    /// - Precondition: There is at least one moment.
    @discardableResult
    public static func write(
        _ widget: Widget, key: Key, kind: Kind, definition: WidgetKind, scene: WidgetScene, moments: [WidgetMoment],
        tile: TileViewState? = nil, device: Catalogue.Device? = nil,
        control: SurfaceRow.ControlWriter = { _, _, _ in false }, isInvalid: () -> Bool = { false },
        to writer: inout JSONWriter
    ) -> Int {
        let drawing = WidgetRowDrawing(
            widget: widget, key: key, kind: kind, definition: definition, scene: scene, moments: moments, tile: tile)
        writer.beginObject()
        drawing.writePlace(device: device, to: &writer)
        let count = drawing.writeEntries(control: control, to: &writer)
        drawing.writeEnd(isInvalid: isInvalid(), to: &writer)
        writer.endObject()
        return count
    }

    /// Appends a preview of the gallery: the views of the sample content, marked `sample`, and without it the
    /// placeholder (W84).
    public static func writePreview(
        key: Key, kind: Kind, definition: WidgetKind, scene: WidgetScene, device: Catalogue.Device? = nil,
        control: SurfaceRow.ControlWriter, to writer: inout JSONWriter
    ) {
        let configuration = definition.sampleConfiguration
        let sample = definition.previewContext(key: key, configuration: configuration)
        let moment = WidgetMoment(
            date: Timestamp(milliseconds: 0), content: sample == nil ? .placeholder : .content(.null))
        let drawing = WidgetRowDrawing(
            widget: Widget(configuration: configuration, at: moment.date), key: key, kind: kind,
            definition: definition, scene: scene, moments: [moment], isPreview: true, sample: sample)
        writer.beginObject()
        drawing.writePlace(device: device, to: &writer)
        if sample != nil { writer.member("sample", true) }
        _ = drawing.writeEntries(control: control, to: &writer)
        drawing.writeEnd(isInvalid: false, to: &writer)
        writer.endObject()
    }

    /// Appends the answer of `OPEN`: the link of a part, else that of the widget; without either a tap opens the app.
    public static func writeOpened(
        _ widget: Widget, key: Key, kind: Kind, definition: WidgetKind, scene: WidgetScene, part: String?,
        moments: [WidgetMoment], to writer: inout JSONWriter
    ) {
        let drawing = WidgetRowDrawing(
            widget: widget, key: key, kind: kind, definition: definition, scene: scene, moments: moments)
        writer.beginObject()
        writer.member("app", kind.app)
        writer.member("title", kind.title)
        // W76, W77: a link reveals as much as the part that it belongs to.
        let isHidden = scene.isPlaceholder || (scene.isRedacted && drawing.isPrivate(part))
        let link = part.flatMap { part in
            scene.hasLinks && !isHidden
                ? definition.link(
                    ofPart: part, scene.family, scene.drawing.circumstances, context: drawing.shownContext) : nil
        }
        if let url = link ?? drawing.url { writer.member("url", url) }
        writer.endObject()
    }
}

/// One row in progress.
private struct WidgetRowDrawing {
    let widget: Widget
    let key: Key
    let kind: Kind
    let definition: WidgetKind
    let scene: WidgetScene
    let moments: [WidgetMoment]
    var tile: TileViewState?
    /// It is a preview of the gallery, not a widget.
    var isPreview = false
    /// The sample content, shown instead of that of the moments.
    var sample: TemplateContext?

    func context(_ content: WidgetMoment.Content) -> TemplateContext {
        if let sample { return sample }
        return switch content {
        case .activity(let viewState): viewState.context(key: key, configuration: widget.configuration)
        case .content(let json): definition.context(key: key, content: json, configuration: widget.configuration)
        case .values(let values): definition.context(key: key, values: values, configuration: widget.configuration)
        case .placeholder, .nothing:
            definition.context(key: key, content: .null, configuration: widget.configuration)
        }
    }

    var shownContext: TemplateContext { context(moments.first?.content ?? .placeholder) }

    var url: String? {
        guard scene.opensApp else { return nil }
        return definition.url(in: shownContext, isHidden: scene.isPlaceholder)
    }

    func writePlace(device: Catalogue.Device?, to writer: inout JSONWriter) {
        writer.member("presentation", scene.family.rawValue)
        if !isPreview { writer.member("order", tile?.order ?? 1) }
        tile?.write(to: &writer)
        writer.member("mode", scene.mode.rawValue)
        writer.member("background", scene.background.rawValue)
        writer.member("margin", JSON(scene.margin))
        if scene.scale > 1 { writer.member("scale", scene.scale) }
        if let scale = scene.tileScale { writer.member("scale", JSON(Double(scale) / 100)) }
        if let mounting = scene.mounting { writer.member("mounting", mounting.rawValue) }
        if let behind = scene.behind { writer.member("behind", behind) }
        if scene.place == .carplay { writer.member("style", "standby") }
        if scene.isNight { writer.member("night", true) }
        if scene.isLuminanceReduced { writer.member("luminance", "reduced") }
        if scene.isSimplified { writer.member("detail", "simplified") }
        if scene.isDark { writer.member("appearance", "dark") }
        if scene.platform == "vision" { writer.member("texture", definition.texture) }
        if let device { writeSize(on: device, to: &writer) }
        writer.member("interactive", scene.isInteractive && tile?.isUnavailable != true)
        writer.member("app", kind.app)
        if scene.showsName { writer.member("appName", SurfaceRow.appName(of: kind.app)) }
        writer.member("title", kind.title)
        guard !isPreview else { return }
        let asOf = definition.isPushed ? widget.asOf ?? widget.createdAt : moments.first?.date ?? widget.createdAt
        writer.member("asOf", asOf.milliseconds)
        writer.member("live", definition.isLive)
    }

    private func writeSize(on device: Catalogue.Device, to writer: inout JSONWriter) {
        let size = Catalogue.widgetSizes.first { size in
            size.family == scene.family.rawValue && size.platform == scene.platform
                && (size.screens.isEmpty || size.screens.contains(device.canvas))
        }
        guard let size else { return }
        func write(_ extent: Catalogue.Extent, _ name: StaticString, to writer: inout JSONWriter) {
            writer.name(name)
            writer.beginObject()
            writer.member("width", JSON(extent.width.lowerBound))
            writer.member("height", JSON(extent.height.lowerBound))
            writer.endObject()
        }
        write(size.extent, "size", to: &writer)
        if let device = size.device { write(device, "device", to: &writer) }
    }

    func writeEntries(control: SurfaceRow.ControlWriter, to writer: inout JSONWriter) -> Int {
        let preview = definition.previewContext(key: key, configuration: widget.configuration)
        var entries: [[UInt8]] = []
        var (byteCount, sentCount) = (0, 0)
        for moment in moments {
            var body = JSONWriter()
            write(moment, preview: preview, control: control, to: &body)
            let bytes = body.take()
            // W19: an activity may change without a visible change of its view.
            let isNew = !definition.isDerived || entries.last.map { Self.behindDate($0) } != Self.behindDate(bytes)
            if isNew {
                guard entries.isEmpty || byteCount + bytes.count <= WidgetRow.byteLimit else { break }
                byteCount += bytes.count
                entries.append(bytes)
            }
            sentCount += 1
        }
        writer.name("entries")
        writer.beginArray()
        for entry in entries { writer.raw(entry) }
        writer.endArray()
        if sentCount < moments.count { writer.member("more", true) }
        return sentCount
    }

    /// An encoded entry without its first member, the date.
    private static func behindDate(_ entry: [UInt8]) -> ArraySlice<UInt8> {
        entry.drop { $0 != UInt8(ascii: ",") }
    }

    private func write(
        _ moment: WidgetMoment, preview: TemplateContext?, control: SurfaceRow.ControlWriter,
        to writer: inout JSONWriter
    ) {
        var drawing = scene.drawing
        if case .placeholder = moment.content { drawing.isPlaceholder = true }
        writer.beginObject()
        writer.member("date", moment.date.milliseconds)
        if drawing.isPlaceholder { writer.member("placeholder", true) }
        if moment.isStale { writer.member("stale", true) }
        writer.name("view")
        if case .nothing = moment.content {
            writer.null()
            return writer.endObject()
        }
        definition.write(
            scene.family, drawing, context: context(moment.content), preview: preview, to: &writer
        ) { key, writer in
            if control(key, drawing.isInteractive, &writer) { return }
            // The control does not exist, so its place stays empty.
            writer.beginObject()
            writer.member("key", key)
            writer.member("interactive", false)
            writer.endObject()
        }
        writer.endObject()
    }

    /// Those of all entries, whose views may differ by the state of the activity.
    private var groups: (accent: [String], isPrivate: [String], invalidates: [String]) {
        func groups(_ context: TemplateContext) -> (accent: [String], isPrivate: [String], invalidates: [String]) {
            definition.groups(scene.family, scene.drawing.circumstances, context)
        }
        let first = groups(shownContext)
        guard definition.viewsReadState else { return first }
        func add(_ names: [String], to all: inout [String]) { all += names.filter { !all.contains($0) } }
        return moments.dropFirst().reduce(into: first) { all, moment in
            let other = groups(context(moment.content))
            add(other.accent, to: &all.accent)
            add(other.isPrivate, to: &all.isPrivate)
            add(other.invalidates, to: &all.invalidates)
        }
    }

    func isPrivate(_ part: String?) -> Bool { part.map { groups.isPrivate.contains($0) } ?? false }

    func writeEnd(isInvalid: Bool, to writer: inout JSONWriter) {
        let groups = groups
        if isInvalid, !groups.invalidates.isEmpty { write(groups.invalidates, "invalid", to: &writer) }
        if scene.mode == .accented, !groups.accent.isEmpty { write(groups.accent, "accent", to: &writer) }
        if !groups.isPrivate.isEmpty {
            write(groups.isPrivate, "private", to: &writer)
            if scene.isRedacted { write(groups.isPrivate, "redacted", to: &writer) }
        }
        if let url { writer.member("url", url) }
    }

    private func write(_ names: [String], _ name: StaticString, to writer: inout JSONWriter) {
        writer.member(name, .array(names.map { .string($0) }))
    }
}
