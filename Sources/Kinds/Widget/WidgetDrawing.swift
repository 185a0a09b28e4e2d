public import TelltaleModel

/// What determines how one family's view of a widget is written, besides its content.
public struct WidgetDrawing: Hashable, Sendable {
    /// The treatment of an image.
    public enum ImageTreatment: String, Hashable, Sendable {
        case original, white, accent, desaturated, whiteDesaturated, accentDesaturated
    }

    public var circumstances: Circumstances
    /// Whether buttons take taps here.
    public var isInteractive = false
    /// Whether parts have links of their own here.
    public var hasLinks = false
    /// Colours carry no meaning here (W52).
    public var dropsTint = false
    /// A place that shows images and buttons only where a variant names them (W57, W67).
    public var dropsImage = false
    public var dropsButtons = false
    /// The longest animation, in seconds; 0 for none.
    public var animationLimit = 2.0
    /// Private parts are not sent (W76).
    public var isRedacted = false
    /// All parts are blocks: nothing is known yet, or nothing may be shown.
    public var isPlaceholder = false
    /// By the option of the image; `nil` for the image as it is.
    public var imageTreatments: [ImageTreatment]?

    public init(circumstances: Circumstances) {
        self.circumstances = circumstances
    }

    func treatment(of accent: ImageAccent?) -> ImageTreatment? {
        guard let imageTreatments else { return nil }
        let index = accent.flatMap { ImageAccent.allCases.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
        return imageTreatments.indices.contains(index) ? imageTreatments[index] : nil
    }
}

extension WidgetKind {
    /// The layout of a family in these circumstances, and the parts that a variant names itself.
    private func layout(
        _ family: WidgetFamily, _ circumstances: Circumstances, _ context: TemplateContext
    ) -> (layout: WidgetLayout, ownParts: Set<String>)? {
        guard let view = views[family] else { return nil }
        for variant in view.variants where variant.when.holds(circumstances, context) {
            return (variant.layout, variant.ownParts)
        }
        return (view.base, [])
    }

    /// The parts of a family's view that a row lists: those of the accent group, the private ones, and those that are doubtful
    /// after a tap.
    public func groups(
        _ family: WidgetFamily, _ circumstances: Circumstances, _ context: TemplateContext
    ) -> (accent: [String], isPrivate: [String], invalidates: [String]) {
        guard let layout = layout(family, circumstances, context)?.layout else { return ([], [], []) }
        return (layout.accent, privateParts(of: layout), layout.invalidates)
    }

    private func privateParts(of layout: WidgetLayout) -> [String] {
        isPrivacySensitive ? layout.partNames : layout.isPrivate
    }

    /// The link of the widget; `nil` if it has none, or if the link would reveal what is hidden.
    public func url(in context: TemplateContext, isHidden: Bool) -> String? {
        guard let url, !isHidden || url.parts.allSatisfy(\.isLiteral) else { return nil }
        return url.rendered(in: context)
    }

    /// The link of a part of a family's view; `nil` if it has none.
    public func link(
        ofPart part: String, _ family: WidgetFamily, _ circumstances: Circumstances, context: TemplateContext
    ) -> String? {
        guard !family.isAccessory, let layout = layout(family, circumstances, context)?.layout else { return nil }
        return layout.links.first { $0.part == part }?.link.rendered(in: context)
    }

    /// The keys of the controls in all of its views, in the order of the families.
    public func controlKeys(in context: TemplateContext) -> [String] {
        families.flatMap { views[$0]?.layouts ?? [] }.flatMap(\.parts.controlKeys).map { $0.rendered(in: context) }
    }

    /// Appends the view of a family as one JSON object; an empty one if the kind lacks the family.
    ///
    /// - Parameters:
    ///   - preview: Sample content that determines the length of a placeholder's blocks.
    ///   - button: Writes one button that is a control; exactly one value.
    public func write(
        _ family: WidgetFamily, _ drawing: WidgetDrawing, context: TemplateContext, preview: TemplateContext?,
        to writer: inout JSONWriter, button: (String, inout JSONWriter) -> Void
    ) {
        guard let (layout, ownParts) = layout(family, drawing.circumstances, context) else {
            writer.beginObject()
            return writer.endObject()
        }
        var hidden: Set<String> = []
        if drawing.isRedacted { hidden.formUnion(privateParts(of: layout)) }
        if drawing.dropsTint { hidden.insert("tint") }
        if drawing.dropsImage, !ownParts.contains("image") { hidden.insert("image") }
        if drawing.dropsButtons, !ownParts.contains("buttons") { hidden.insert("buttons") }
        if drawing.circumstances.isBackgroundRemoved { hidden.insert("background") }
        let drawn = LayoutDrawing(
            layout: layout, drawing: drawing, context: context, preview: preview, hidden: hidden)
        drawn.write(to: &writer, button: button)
    }
}

/// One view in progress.
private struct LayoutDrawing {
    let layout: WidgetLayout
    let drawing: WidgetDrawing
    let context: TemplateContext
    let preview: TemplateContext?
    let hidden: Set<String>

    func write(to writer: inout JSONWriter, button: (String, inout JSONWriter) -> Void) {
        let date = layout.parts.part(named: "timer").flatMap { part -> Timestamp? in
            if case .timer(let template) = part { template.value(in: context).flatMap(DateText.timestamp) } else { nil }
        }
        // `else` replaces `text` while there is no date.
        let elseText = date == nil && !drawing.isPlaceholder ? layout.parts.fallback : nil
        writer.beginObject()
        var names = layout.partNames
        if drawing.hasLinks, !layout.links.isEmpty, !drawing.isPlaceholder { names.append("links") }
        for name in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) where !hidden.contains(name) {
            switch name {
            case "text" where elseText != nil:
                if let elseText { writer.member("text", elseText.rendered(in: context)) }
            case "list": if let list = layout.list { write(list, name, isText: false, to: &writer) }
            case "image": if let image = layout.image { write(image, to: &writer) }
            case "background":
                if let background = layout.background, !drawing.isPlaceholder {
                    writer.member(named: name, background.filled(in: context))
                }
            case "animation": writeAnimation(to: &writer)
            case "links": writeLinks(to: &writer)
            default:
                if let part = layout.parts.part(named: name) { write(part, name, date, to: &writer, button: button) }
            }
        }
        writer.endObject()
    }

    private func write(
        _ part: ViewTemplate.Part, _ name: String, _ date: Timestamp?, to writer: inout JSONWriter,
        button: (String, inout JSONWriter) -> Void
    ) {
        switch part {
        case .text(let template): write(template, name, isText: true, to: &writer)
        case .timer(let template):
            if drawing.isPlaceholder {
                write(template, name, isText: false, to: &writer)
            } else if let date {
                writer.member(named: name, .integer(date.milliseconds))
            }
        case .progress(let progress):
            if drawing.isPlaceholder {
                writeBlock(name, length: nil, to: &writer)
            } else {
                progress.write(name: name, to: &writer, context: context)
            }
        case .buttons(let buttons):
            // A placeholder has nothing to tap.
            guard !drawing.isPlaceholder else { return }
            writer.name(of: name)
            writer.beginArray()
            for template in buttons where template.when.holds(in: context) {
                switch template.action {
                case .control(let key): button(key.rendered(in: context), &writer)
                case .link(let link):
                    link.write(to: &writer, context: context, isInteractive: drawing.isInteractive)
                }
            }
            writer.endArray()
        case .region: break  // Views of widgets have no regions.
        case .other(let json):
            if !drawing.isPlaceholder { writer.member(named: name, json.filled(in: context)) }
        }
    }

    /// A text, or any value if the template is a single placeholder.
    private func write(_ template: Template, _ name: String, isText: Bool, to writer: inout JSONWriter) {
        if drawing.isPlaceholder, !template.parts.allSatisfy(\.isLiteral) {
            let sample = preview.map { template.rendered(in: $0) } ?? ""
            return writeBlock(name, length: sample.isEmpty ? nil : sample.count, to: &writer)
        }
        if isText { return writer.member(named: name, .string(template.rendered(in: context))) }
        let value = template.value(in: context) ?? .array([])
        // W93: a list of an aggregate reports how many entries it leaves out.
        writer.member(named: name, value["items"] ?? value)
        if let more = value["more"] { writer.member(named: "more", more) }
    }

    /// The room that a value takes, in characters (W85).
    private func writeBlock(_ name: String, length: Int?, to writer: inout JSONWriter) {
        writer.member(named: name, ["block": .integer(Int64(length ?? 8))])
    }

    private func write(_ image: WidgetLayout.ImageTemplate, to writer: inout JSONWriter) {
        var object = JSONObject()
        if drawing.isPlaceholder, !image.name.parts.allSatisfy(\.isLiteral) {
            object["block"] = .integer(8)
        } else {
            object["name"] = .string(image.name.rendered(in: context))
        }
        if let ratio = image.ratio { object["ratio"] = JSON(ratio) }
        if let treatment = drawing.treatment(of: image.accent) { object["treatment"] = .string(treatment.rawValue) }
        writer.member(named: "image", .object(object))
    }

    private func writeAnimation(to writer: inout JSONWriter) {
        guard let animation = layout.animation, drawing.animationLimit > 0, !drawing.isPlaceholder else { return }
        writer.member(named: "animation", JSON(min(animation, drawing.animationLimit)))
    }

    private func writeLinks(to writer: inout JSONWriter) {
        var object = JSONObject()
        for (part, link) in layout.links where !hidden.contains(part) {
            object[part] = .string(link.rendered(in: context))
        }
        writer.member(named: "links", .object(object))
    }
}
