public import Kinds
public import TelltaleModel

/// One kind of widget in the gallery: what a person sees of it before placing it (Protocols/Widgets/README.md).
public enum WidgetGallery {
    /// The size limit for all previews of one kind, in bytes. The first one is always included.
    public static let previewByteLimit = 32_768
    /// The most values of a parameter, and the most recommended configurations.
    public static let optionLimit = 64
    /// The size limit for the values of all parameters of a kind, and for its recommended configurations, in bytes.
    public static let optionByteLimit = 16_384

    /// The values that a person may choose for a parameter, and how many more there are.
    public struct Options: Hashable, Sendable {
        public var values: [String]
        public var moreCount: Int

        public init(values: [String] = [], moreCount: Int = 0) {
            (self.values, self.moreCount) = (values, moreCount)
        }
    }

    /// The families of a kind that a surface shows, each in its gallery look, in the order of the kind (W83).
    ///
    /// - Parameters:
    ///   - place: Shows them as in this place; `nil` for the surface's gallery. A car and StandBy have no gallery: they show them
    ///     as in place.
    ///   - traits: The gallery assumes a device that is unlocked and lit.
    /// - Returns: Empty for a kind whose widgets come with their activities: there is nothing to place.
    public static func scenes(
        of kind: WidgetKind, on surface: Surface, at place: WidgetPlace?, traits: Traits
    ) -> [WidgetScene] {
        guard !kind.isEach else { return [] }
        var lit = traits
        (lit.isLocked, lit.isLuminanceReduced, lit.isWristDown, lit.isLightLow) = (false, false, false, false)
        let standard: WidgetPlace =
            surface == .carplay || surface == .standby ? WidgetScene.standardPlace(on: surface) : .gallery
        return kind.families.compactMap { family in
            WidgetScene(
                kind, surface: surface, place: place ?? standard, family: family, traits: lit, isSample: true)
        }
    }

    /// Appends a kind of the gallery as one JSON object.
    ///
    /// - Parameters:
    ///   - scenes: One for each preview.
    ///   - isWatch: A watch offers only the recommended configurations, if there are any (W80).
    ///   - options: The values of a parameter that does not list its own.
    public static func write(
        _ kind: Kind, _ definition: WidgetKind, scenes: [WidgetScene], isWatch: Bool,
        device: Catalogue.Device? = nil, options: (WidgetParameter) -> Options,
        control: SurfaceRow.ControlWriter, to writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.member("app", kind.app)
        writer.member("title", kind.title)
        if !definition.about.isEmpty { writer.member("description", definition.about) }
        if let tint = definition.editTint { writer.member("editTint", tint) }
        if !definition.parameters.isEmpty {
            writer.name("parameters")
            writer.beginArray()
            var room = optionByteLimit
            for parameter in definition.parameters {
                let offered = isWatch ? recommendedValues(of: parameter, definition) : nil
                write(parameter, offered ?? options(parameter), room: &room, to: &writer)
            }
            writer.endArray()
        }
        writeRecommended(kind, definition, to: &writer)
        writePreviews(kind, definition, scenes, device: device, control: control, to: &writer)
        writer.endObject()
    }

    /// `nil` for a kind without recommendations.
    private static func recommendedValues(of parameter: WidgetParameter, _ definition: WidgetKind) -> Options? {
        let recommended = definition.recommendedConfigurations
        guard !recommended.isEmpty else { return nil }
        var values: [String] = []
        for (_, configuration) in recommended {
            let text = configuration[parameter.name].map { $0.string ?? $0.description }
            if let text, !values.contains(text) { values.append(text) }
        }
        return Options(values: values)
    }

    private static func write(
        _ parameter: WidgetParameter, _ options: Options, room: inout Int, to writer: inout JSONWriter
    ) {
        var values: [JSON] = []
        for value in options.values {
            let byteCount = value.utf8.count
            guard values.count < optionLimit, byteCount <= room else { break }
            room -= byteCount
            values.append(.string(value))
        }
        let moreCount = options.moreCount + options.values.count - values.count
        writer.beginObject()
        writer.member("name", parameter.name)
        writer.member("title", parameter.title)
        writer.member("type", parameter.type.rawValue)
        if let standard = parameter.standard { writer.member(named: "default", standard) }
        if !values.isEmpty { writer.member("options", .array(values)) }
        if moreCount > 0 { writer.member("more", moreCount) }
        writer.endObject()
    }

    private static func writeRecommended(_ kind: Kind, _ definition: WidgetKind, to writer: inout JSONWriter) {
        let all = definition.recommendedConfigurations
        guard !all.isEmpty else { return }
        writer.name("recommended")
        writer.beginArray()
        var (count, room) = (0, optionByteLimit)
        for (id, configuration) in all.prefix(optionLimit) {
            room -= configuration.textByteCount
            guard room >= 0 else { break }
            count += 1
            writer.beginObject()
            writer.member("key", "\(kind.name)/\(id)")
            writer.member("configuration", configuration)
            writer.endObject()
        }
        writer.endArray()
        if count < all.count { writer.member("moreRecommended", all.count - count) }
    }

    private static func writePreviews(
        _ kind: Kind, _ definition: WidgetKind, _ scenes: [WidgetScene], device: Catalogue.Device?,
        control: SurfaceRow.ControlWriter, to writer: inout JSONWriter
    ) {
        let id = definition.instances.first ?? "sample"
        guard !scenes.isEmpty, let key = Key(kind: kind.name, id: id) else { return }
        writer.name("previews")
        writer.beginArray()
        var (byteCount, count) = (0, 0)
        for scene in scenes {
            var preview = JSONWriter()
            WidgetRow.writePreview(
                key: key, kind: kind, definition: definition, scene: scene, device: device, control: control,
                to: &preview)
            let bytes = preview.take()
            byteCount += bytes.count
            guard count == 0 || byteCount <= previewByteLimit else { break }
            writer.raw(bytes)
            count += 1
        }
        writer.endArray()
        if count < scenes.count { writer.member("more", true) }
    }
}
