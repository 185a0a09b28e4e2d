internal import FanOut
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel

/// What an encoded row contains, as far as its bytes alone do not show it.
struct RowContents {
    /// The keys of the controls in it.
    var controls: [Key] = []
    /// The number of moments in a widget's row; `nil` for any other row.
    var momentCount: Int?
    /// Whether the control is offered; `nil` if it always is.
    var isOffered: Bool?
}

// The content of rows.
extension RowRenderer {
    /// Writes the row of an entity in a form.
    ///
    /// - Returns: `false` if the entity has no row in that form.
    static func write(
        _ entity: EntityIndex, _ form: RowForm, _ widgetForms: WidgetForms, _ store: borrowing EntityStore,
        _ contents: inout RowContents,
        to writer: inout JSONWriter
    ) -> Bool {
        switch (store[entity].state, form) {
        case (.tile(let item), .full):
            item.writeFullRow(to: &writer)
            return true
        case (.tile, .widget(let number)), (.none, .widget(let number)):
            guard let tile = store.boardTile(at: entity) else { return false }
            return writeTile(tile, at: entity, widgetForms[number], store, &contents, to: &writer)
        case _: break
        }
        guard let kind = store.kind(at: entity) else { return false }
        switch (store[entity].state, form, kind.body) {
        case (.activity(let activity), .full, _): activity.writeFullRow(to: &writer)
        case (.activity(let activity), .activity(let surface, let placement, let viewer), _):
            contents.controls = writeSurfaceRow(
                activity, at: entity, kind, surface, placement, viewer ?? ControlViewer(placement: nil), store,
                to: &writer)
        case (.toggle(let toggle), .control(let viewer), .toggle(let toggleKind)):
            contents.isOffered = store.isOffered(entity)
            ControlRow.write(
                toggle, kind: toggleKind, name: kind.name, title: kind.title, for: viewer,
                isOffered: contents.isOffered ?? true, to: &writer)
        case (.button(let button), .control(let viewer), .button(let buttonKind)):
            contents.isOffered = store.isOffered(entity)
            ControlRow.write(
                button, kind: buttonKind, name: kind.name, title: kind.title, for: viewer,
                isOffered: contents.isOffered ?? true, to: &writer)
        case (.widget(let widget), .full, .widget(let definition)):
            guard let key = store[entity].key else { return false }
            // It is one row for all accounts, so it must not contain anything that depends on one.
            let aggregate = definition.aggregate.flatMap { $0.isForAll ? $0 : nil }
            let values = aggregate.map { store.values(ofAggregate: entity, $0, for: nil) }
            widget.writeFullRow(key: key, kind: definition, values: values ?? JSONObject(), to: &writer)
        case (.widget(let widget), .widget(let number), .widget(let definition)):
            guard let key = store[entity].key else { return false }
            contents = writeWidgetRow(
                widget, key, at: entity, kind, definition, widgetForms[number], store, to: &writer)
        default: return false
        }
        return true
    }

    static func writeWidgetRow(
        _ widget: Widget, _ key: Key, at entity: EntityIndex, _ kind: Kind, _ definition: WidgetKind,
        _ form: WidgetForm,
        _ store: borrowing EntityStore, to writer: inout JSONWriter
    ) -> RowContents {
        var contents = RowContents()
        let device = Int(form.device)
        var viewer = form.viewer ?? ControlViewer(placement: nil)
        viewer.isRedacted = form.scene.isRedacted
        var embedded: [Key] = []
        contents.momentCount = WidgetRow.write(
            widget, key: key, kind: kind, definition: definition, scene: form.scene, moments: form.moments,
            tile: form.tile, device: Catalogue.devices.indices.contains(device) ? Catalogue.devices[device] : nil,
            control: { text, isInteractive, writer in
                guard let key = Key(text) else { return false }
                embedded.append(key)
                return writeEmbedded(
                    key, in: entity, viewer: viewer, isInteractive: isInteractive, store, to: &writer)
            },
            isInvalid: {
                embedded.contains { key in store.index(of: key).map { store.isUnderWay($0) } ?? false }
            }, to: &writer)
        contents.controls = embedded
        return contents
    }

    private static func writeSurfaceRow(
        _ activity: ActivityBox, at entity: EntityIndex, _ kind: Kind, _ surface: Surface, _ placement: Placement,
        _ viewer: ControlViewer, _ store: borrowing EntityStore, to writer: inout JSONWriter
    ) -> [Key] {
        var embedded: [Key] = []
        var viewer = viewer
        viewer.isRedacted = placement.isRedacted
        SurfaceRow.write(
            activity.value, kind: kind, placement: placement, surface: surface,
            control: { text, isInteractive, writer in
                guard let key = Key(text) else { return false }
                embedded.append(key)
                return writeEmbedded(
                    key, in: entity, viewer: viewer, isInteractive: isInteractive, store, to: &writer)
            }, to: &writer)
        return embedded
    }

    /// Writes a control in the view of an activity or a widget. Returns `false` if there is no such control, or if it belongs to
    /// another activity, which may be for other accounts.
    private static func writeEmbedded(
        _ key: Key, in activity: EntityIndex, viewer: ControlViewer, isInteractive: Bool,
        _ store: borrowing EntityStore, to writer: inout JSONWriter
    ) -> Bool {
        guard let entity = store.index(of: key), store.isListed(entity), let kind = store.kind(at: entity),
            store.attachment(of: entity).map({ attachment in
                attachment.activity.map { $0 == activity || $0 == store.activityShown(by: activity) } ?? false
            }) ?? true
        else { return false }
        switch (store[entity].state, kind.body) {
        case (.toggle(let toggle), .toggle(let toggleKind)):
            ControlRow.writeEmbedded(
                toggle, key: key, kind: toggleKind, title: kind.title, for: viewer, isInteractive: isInteractive,
                to: &writer)
        case (.button(let button), .button(let buttonKind)):
            ControlRow.writeEmbedded(
                button, key: key, kind: buttonKind, title: kind.title, for: viewer, isInteractive: isInteractive,
                to: &writer)
        default: return false
        }
        return true
    }
}
