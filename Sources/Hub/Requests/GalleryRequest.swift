internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

/// A `GALLERY` that continues after the kind `last`; `count` kinds have been sent.
struct GalleryCursor: Sendable {
    let request: Request
    /// `nil` for all families, without previews.
    let surface: Surface?
    let place: WidgetPlace?
    /// It is for a place that shows controls and no widgets.
    let isElsewhere: Bool
    /// The name of the last kind. Other kinds may be in force by then.
    var last: String?
    var count = 0
}

// GALLERY: the kinds of widgets that a person can place.
extension Hub {
    /// How many of the activities visible to an account are searched for values.
    private static let visibleLimit = 1_024

    mutating func beginGallery(
        _ view: ViewName?, _ placement: String?, _ request: Request, from session: Session, to writer: inout LineWriter
    ) {
        do throws(WireError) {
            if let placement { try checkPlace(placement) }
        } catch {
            return refuse(request.id, error, to: &writer)
        }
        let place = placement.flatMap { WidgetPlace(rawValue: $0) }
        let surface: Surface? = if case .surface(let surface) = view ?? session.defaultView { surface } else { nil }
        session.outbox.append(
            .gallery(
                GalleryCursor(
                    request: request, surface: surface, place: place, isElsewhere: placement != nil && place == nil)))
    }

    /// Writes kinds of the gallery, at least one, until there is no room.
    ///
    /// - Returns: Where to continue; `nil` if it is complete.
    mutating func writeGallery(
        _ cursor: GalleryCursor, for session: Session, limit: Int, to writer: inout LineWriter
    ) -> GalleryCursor? {
        var cursor = cursor
        for index in cursor.isElsewhere ? [] : store.versionsInForce {
            let kind = store.kind(version: index)
            guard case .widget(let definition) = kind.body, cursor.last.map({ $0 < kind.name }) ?? true else {
                continue
            }
            guard writer.count < limit else { return cursor }
            cursor.last = kind.name
            let scenes = cursor.surface.map { surface in
                WidgetGallery.scenes(of: definition, on: surface, at: cursor.place, traits: session.traits)
            }
            let families = scenes?.map(\.family) ?? (definition.isEach ? [] : definition.families)
            guard !families.isEmpty else { continue }
            let options = options(of: definition, index, for: session.account)
            let device = Int(session.device)
            var body = JSONWriter()
            WidgetGallery.write(
                kind, definition, scenes: scenes ?? [], isWatch: cursor.surface == .watch,
                device: Catalogue.devices.indices.contains(device) ? Catalogue.devices[device] : nil,
                options: { options[$0.name] ?? WidgetGallery.Options(values: $0.options) },
                control: { key, _, writer in writeSample(ofControl: key, to: &writer) }, to: &body)
            writer.widget(name: kind.name, families: families.map(\.rawValue), body: body.take())
            cursor.count += 1
        }
        writer.beginOK(id: cursor.request.id)
        writer.attribute("count", cursor.count)
        writer.ignored(cursor.request.ignored)
        writer.end()
        return nil
    }

    /// The values of a kind's parameters among activities, by the parameters' names (W81).
    private func options(
        of kind: WidgetKind, _ index: Int, for account: String?
    ) -> [String: WidgetGallery.Options] {
        guard let aggregate = kind.aggregate else { return [:] }
        var options: [String: WidgetGallery.Options] = [:]
        let limit = WidgetGallery.optionLimit
        if let account, !aggregate.isForAll {
            // The values of an account are visible to that account only.
            let configurations = store.configurations(ofAggregate: index, aggregate, for: account, Self.visibleLimit)
            for (parameter, _) in aggregate.groups {
                // Compared by bytes: two spellings of one text are two values, as they are two groups.
                let values = Set(configurations.compactMap { $0[parameter]?.string.map { Array($0.utf8) } })
                    .sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
                options[parameter] = WidgetGallery.Options(
                    values: Array(values.prefix(limit)), moreCount: max(0, values.count - limit))
            }
            return options
        }
        for (parameter, _) in aggregate.groups {
            let first = store.firstValues(of: parameter, ofAggregate: index, limit: limit)
            options[parameter] = WidgetGallery.Options(values: first.values, moreCount: first.more)
        }
        return options
    }

    /// Writes a control of a preview, inert and in its kind's initial look; `false` if there is no such kind.
    private func writeSample(ofControl text: String, to writer: inout JSONWriter) -> Bool {
        guard let key = Key(text), let kind = store.kind(named: key.kind) else { return false }
        let viewer = ControlViewer(placement: nil)
        switch kind.body {
        case .toggle(let toggle):
            ControlRow.writeEmbedded(
                Toggle(), key: key, kind: toggle, title: kind.title, for: viewer, isInteractive: false, to: &writer)
        case .button(let button):
            ControlRow.writeEmbedded(
                Button(), key: key, kind: button, title: kind.title, for: viewer, isInteractive: false, to: &writer)
        case .activity, .widget: return false
        }
        return true
    }
}
