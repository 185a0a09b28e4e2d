public import Kinds
public import TelltaleModel

/// One kind of widget in the gallery: what a person is told of it before it is placed (Protocols/Widgets/README.md).
public enum WidgetGallery {
    /// The previews of one kind are at most so many bytes together; the first one is always told.
    public static let previewByteLimit = 32_768
    /// At most so many values of a parameter, and recommended configurations, are told.
    public static let optionLimit = 64
    /// The values of all parameters of a kind are at most so many bytes together; and so are the recommended
    /// configurations.
    public static let optionByteLimit = 16_384

    /// The values that a person may choose for a parameter, and how many more there are.
    public struct Options: Hashable, Sendable {
        public var values: [String]
        public var moreCount: Int

        public init(values: [String] = [], moreCount: Int = 0) {
            (self.values, self.moreCount) = (values, moreCount)
        }
    }

    /// The families of a kind that a surface shows, each as it looks in the gallery, in the order of the kind (W83).
    ///
    /// - Parameters:
    ///   - place: As it looks in this place; `nil` for the gallery of the surface, which a car and StandBy have not:
    ///     there it is as it looks in them.
    ///   - traits: A gallery is looked at with a device that is unlocked and lit.
    /// - Returns: Nothing for a kind that comes by itself, with its activities: there is nothing to place.
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

    /// Appends what the gallery tells of a kind, as one JSON object.
    ///
    /// - Parameters:
    ///   - scenes: One for each preview.
    ///   - isWatch: A watch offers the recommended configurations alone, where there are any (W80).
    ///   - options: The values of a parameter that lists none itself.
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

    /// `nil` for a kind that recommends nothing.
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
