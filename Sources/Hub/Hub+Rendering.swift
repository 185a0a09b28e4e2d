internal import FanOut
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

/// Everything beside an entity's state that decides the bytes of its row: equal forms share one encoding.
enum RowForm: Hashable, Sendable {
    case full
    case activity(Surface, Placement, viewer: ControlViewer?)
    case control(ControlViewer)

    /// The form that is shared when nothing in the row depends on the viewer.
    var withoutViewer: RowForm {
        if case .activity(let surface, let placement, _) = self {
            .activity(surface, placement, viewer: nil)
        } else {
            self
        }
    }

    /// What a subscription remembers of having shown it. The moment of an alert is no part of it, so its end sends nothing.
    var placement: Placement {
        switch self {
        case .activity(_, let placement, _): placement.withoutAlert
        case .full, .control: Placement(nil, order: 0)
        }
    }

    /// The form of a row that comes without an alert.
    var withoutAlert: RowForm {
        if case .activity(let surface, let placement, let viewer) = self {
            .activity(surface, placement.withoutAlert, viewer: viewer)
        } else {
            self
        }
    }
}

extension Hub {
    // MARK: Which form

    /// The form in which a subscription shows an entity now, or `nil` when it does not show it.
    func form(of entity: EntityIndex, for subscription: Subscription) -> RowForm? {
        let terms = subscription.terms
        guard isListed(entity), isVisible(entity, to: terms.account), let session = session(of: subscription) else {
            return nil
        }
        guard case .surface(let surface) = terms.view else {
            // A control that is looked at in one place shows what that place shows, on whatever device.
            guard isControl(entity), terms.placement != nil else { return fullForm(of: entity, session: session.id) }
            return controlForm(of: entity, surface: nil, placement: terms.placement, session: session.id)
        }
        switch entities[entity].state {
        case .none: return nil
        case .activity(let activity):
            let placement =
                terms.competes
                ? subscription.backlog?.placements[entity.rawValue] ?? .hidden
                : placementAlone(of: activity, at: entity, surface: surface, traits: session.traits)
            guard placement.isShown else { return nil }
            return activityForm(of: entity, surface, placement, session: session.id)
        case .toggle, .button:
            return controlForm(of: entity, surface: surface, placement: terms.placement, session: session.id)
        }
    }

    private func placementAlone(
        of activity: ActivityBox, at entity: EntityIndex, surface: Surface, traits: Traits
    ) -> Placement {
        let visible = visibleActivity(activity, at: entity)
        return Projection.project(
            surface: surface, traits: traits, foreground: foreground(of: traits), activities: [visible],
            settings: configuration.surfaces, competing: false
        ).first ?? .hidden
    }

    private func visibleActivity(_ activity: ActivityBox, at entity: EntityIndex) -> VisibleActivity {
        VisibleActivity(activity.value, index: entity.rawValue, app: app(at: entity))
    }

    /// The number of the owner app of an entity.
    private func app(at entity: EntityIndex) -> Int32 {
        kinds.appNumbers[entities[entity].kind]
    }

    private func foreground(of traits: Traits) -> Int32? {
        traits.foreground.flatMap { kinds.number(ofApp: $0) }
    }

    private func activityForm(
        of entity: EntityIndex, _ surface: Surface, _ placement: Placement, session id: SessionID
    ) -> RowForm {
        let isLocked = self[id]?.traits.isLocked ?? false
        return .activity(
            surface, placement,
            viewer: ControlViewer(placement: nil, connection: tapper(of: entity, id), isLocked: isLocked))
    }

    /// The number of a connection that is shown what it wants of a control, rather than what is confirmed: the few that
    /// tapped what is in flight. `nil` = it is shown what everybody is, and can share their row.
    private func tapper(of entity: EntityIndex, _ id: SessionID) -> ConnectionNumber? {
        guard self[id]?.hasTapped == true else { return nil }
        switch entities[entity].state {
        case .toggle(let toggle): return toggle.isTapped(by: id.number) ? id.number : nil
        case .none, .button: return nil
        case .activity:
            // Not known before it has been drawn.
            guard controlReferences.shows(controlsIn: entity) else { return id.number }
            let controls = controlReferences.controls(in: entity).compactMap { entities.index(of: $0) }
            return controls.contains { tapper(of: $0, id) != nil } ? id.number : nil
        }
    }

    /// The full view. Of a control it is one for everybody but those who tapped what is in flight: they see their wish
    /// here too, and a connection taps or stops waiting with a new `rev` alone.
    private func fullForm(of entity: EntityIndex, session id: SessionID) -> RowForm {
        guard isControl(entity) else { return .full }
        return .control(ControlViewer(placement: nil, connection: tapper(of: entity, id)))
    }

    private func controlForm(
        of entity: EntityIndex, surface: Surface?, placement: String?, session id: SessionID
    ) -> RowForm? {
        let isLocked = self[id]?.traits.isLocked ?? false
        let place =
            placement.flatMap { ControlPlacement(rawValue: $0) }
            ?? surface.flatMap { ControlPlacement.standard(on: $0, isLocked: isLocked) }
        guard let place else { return nil }
        return .control(ControlViewer(placement: place, connection: tapper(of: entity, id), isLocked: isLocked))
    }

    // MARK: Bodies

    /// The encoded row of an entity in a form; encoded once as long as the entity does not change.
    mutating func body(of entity: EntityIndex, _ form: RowForm) -> [UInt8]? {
        if let body = rows.body(of: entity, shared(form, of: entity)) { return body }
        var controls: [Key] = []
        guard let body = encode(entity, form, controls: &controls) else { return nil }
        // One with controls changes when they do.
        controlReferences.note(controls, in: entity)
        rows.keep(body, of: entity, controls.isEmpty ? form.withoutViewer : form)
        return body
    }

    /// The form under which an encoded row is shared: one without controls does not depend on who looks at it.
    func shared(_ form: RowForm, of entity: EntityIndex) -> RowForm {
        controlReferences.shows(controlsIn: entity) ? form : form.withoutViewer
    }

    private mutating func encode(_ entity: EntityIndex, _ form: RowForm, controls: inout [Key]) -> [UInt8]? {
        var writer = spare.rows.take() ?? JSONWriter()
        let isWritten = write(entity, form, controls: &controls, to: &writer)
        let body = writer.take()
        spare.rows = consume writer
        return isWritten ? body : nil
    }

    private func write(
        _ entity: EntityIndex, _ form: RowForm, controls: inout [Key], to writer: inout JSONWriter
    ) -> Bool {
        let kindIndex = entities[entity].kind
        guard kinds.versions.indices.contains(kindIndex) else { return false }
        let kind = kinds.versions[kindIndex]
        switch (entities[entity].state, form, kind.body) {
        case (.activity(let activity), .full, _): activity.writeFullRow(to: &writer)
        case (.activity(let activity), .activity(let surface, let placement, let viewer), _):
            var embedded: [Key] = []
            SurfaceRow.write(
                activity.value, kind: kind, placement: placement, surface: surface,
                control: { text, isInteractive, writer in
                    guard let key = Key(text) else { return false }
                    embedded.append(key)
                    return writeEmbedded(
                        key, viewer: viewer ?? ControlViewer(placement: nil), isInteractive: isInteractive,
                        to: &writer)
                }, to: &writer)
            controls = embedded
        case (.toggle(let toggle), .control(let viewer), .toggle(let toggleKind)):
            ControlRow.write(
                toggle, kind: toggleKind, name: kind.name, title: kind.title, for: viewer, to: &writer)
        case (.button(let button), .control(let viewer), .button(let buttonKind)):
            ControlRow.write(
                button, kind: buttonKind, name: kind.name, title: kind.title, for: viewer, to: &writer)
        default: return false
        }
        return true
    }

    /// Writes the control that stands in an activity's view; `false` when there is none of that key.
    private func writeEmbedded(
        _ key: Key, viewer: ControlViewer, isInteractive: Bool, to writer: inout JSONWriter
    ) -> Bool {
        guard let entity = entities.index(of: key) else { return false }
        let kindIndex = entities[entity].kind
        guard kinds.versions.indices.contains(kindIndex) else { return false }
        let kind = kinds.versions[kindIndex]
        switch (entities[entity].state, kind.body) {
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

    // MARK: GET, LIST, OPEN

    /// The row of one entity by itself, as GET and LIST show it; `nil` when the view does not show it.
    ///
    /// A dismissed activity can still be asked for in full.
    mutating func loneBody(of entity: EntityIndex, view: ViewName, session id: SessionID) -> [UInt8]? {
        guard case .surface(let surface) = view else { return body(of: entity, fullForm(of: entity, session: id)) }
        let traits = self[id]?.traits ?? Traits()
        switch entities[entity].state {
        case .none: return nil
        case .activity(let activity):
            let placement = placementAlone(of: activity, at: entity, surface: surface, traits: traits)
            guard placement.isShown else { return nil }
            return body(of: entity, activityForm(of: entity, surface, placement.withoutAlert, session: id))
        case .toggle, .button:
            return controlForm(of: entity, surface: surface, placement: nil, session: id).flatMap {
                body(of: entity, $0)
            }
        }
    }

    /// What GET says of an activity that the view does not show.
    func hiddenBody(of entity: EntityIndex) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("presentation")
        writer.null()
        if let activity = activity(at: entity) { writer.member("lifecycle", activity.value.lifecycle.rawValue) }
        writer.endObject()
        return writer.bytes
    }

    /// What a person sees who opens an activity, on a desktop its item in the menu bar: the Lock Screen view and the deep
    /// link; `nil` where there is nothing to open.
    mutating func openedBody(of entity: EntityIndex, session id: SessionID) -> [UInt8]? {
        guard let activity = activity(at: entity), isListed(entity) else { return nil }
        let surface = self[id]?.surface ?? .desktop
        let placement = Projection.opened(
            visibleActivity(activity, at: entity), surface: surface, traits: self[id]?.traits ?? Traits(),
            settings: configuration.surfaces)
        guard placement.isShown else { return nil }
        // What is opened stands in one place, whatever places a row of the surface has.
        let drawn: Surface = surface == .phone || surface == .pad ? .desktop : surface
        return body(of: entity, activityForm(of: entity, drawn, placement, session: id))
    }

    // MARK: Competition

    /// Projects what a competing subscription shows anew, and owes it the rows that look different now.
    mutating func project(_ index: SubscriptionIndex) {
        subscriptions.change(index) { $0.needsProjection = false }
        guard let subscription = subscriptions[index], case .surface(let surface) = subscription.terms.view,
            let traits = session(of: subscription)?.traits
        else { return }
        var candidates: [EntityIndex] = []
        var visible: [VisibleActivity] = []
        for entity in followed(by: subscription) {
            guard let activity = activity(at: entity) else { continue }
            candidates.append(entity)
            visible.append(visibleActivity(activity, at: entity))
        }
        let placements = Projection.project(
            surface: surface, traits: traits, foreground: foreground(of: traits), activities: visible,
            settings: configuration.surfaces, competing: subscription.terms.competes)
        var shown: [Int32: Placement] = [:]
        for (entity, placement) in zip(candidates, placements) where placement.isShown {
            shown[entity.rawValue] = placement
        }
        let before = subscription.allShown
        if subscription.terms.competes { subscriptions.change(index) { $0.needBacklog().placements = shown } }
        shown = shown.mapValues(\.withoutAlert)
        // Before the snapshot or the resume is sent, every row is on its way anyway.
        for entity in candidates where before[entity.rawValue] != shown[entity.rawValue] {
            guard subscription.isLive || before[entity.rawValue] != nil else { continue }
            oweSurroundings(of: entity, to: index)
        }
        // Controls do not compete.
        for raw in before.keys.sorted() where shown[raw] == nil {
            guard case .activity = entities[EntityIndex(raw)].state else { continue }
            oweSurroundings(of: EntityIndex(raw), to: index)
        }
    }

    // MARK: Alerts

    /// An alert as a subscription's surface draws it; `nil` where it draws none.
    func alertBody(_ alert: ActivityAlert, of entity: EntityIndex, for subscription: Subscription) -> [UInt8]? {
        guard case .surface(let surface) = subscription.terms.view, let activity = activity(at: entity),
            let traits = session(of: subscription)?.traits
        else { return nil }
        let style = Projection.alertStyle(
            of: visibleActivity(activity, at: entity), surface: surface, traits: traits,
            foreground: foreground(of: traits), settings: configuration.surfaces)
        guard let style else { return nil }
        var writer = JSONWriter()
        writer.beginObject()
        // An event's own may be as long as a line, and goes to everybody.
        writer.member("title", Template.bounded(alert.title))
        writer.member("body", Template.bounded(alert.body))
        if let sound = alert.sound { writer.member("sound", Template.bounded(sound)) }
        writer.member("style", style.rawValue)
        writer.endObject()
        return writer.bytes
    }
}
