internal import FanOut
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel

// The form in which a session shows a key.
extension RowRenderer {
    /// The form in which a subscription of `session` shows an entity now; `nil` if it does not show it.
    func form(
        of entity: EntityIndex, for subscription: Subscription, of session: Session, _ store: borrowing EntityStore
    ) -> RowForm? {
        let terms = subscription.terms
        guard store.isListed(entity), store.isVisible(entity, to: terms.account, digest: terms.accountDigest)
        else { return store.isWidget(entity) ? unplacedForm(of: entity, for: subscription, of: session, store) : nil }
        guard case .surface(let surface) = terms.view else {
            // With a placement, a control is shown as in that place, on any device.
            guard store.isControl(entity), terms.placement != nil else { return fullForm(of: entity, session, store) }
            return controlForm(of: entity, surface: nil, placement: terms.placement, session, store)
        }
        switch store[entity].state {
        case .none: return nil
        case .activity(let activity):
            let placement =
                terms.competes
                ? renewed(
                    subscription.backlog?.placements[entity.rawValue] ?? .hidden, of: activity, at: entity, surface,
                    session,
                    store)
                : placementAlone(
                    of: activity, at: entity, surface: surface, traits: session.traits,
                    hasAccount: terms.account != nil,
                    store)
            guard placement.isShown else { return nil }
            return activityForm(of: entity, surface, placement, session, store)
        case .toggle, .button:
            return controlForm(of: entity, surface: surface, placement: terms.placement, session, store)
        case .widget: return widgetForm(of: entity, surface, terms.widgets, terms.account, session, store)
        case .tile:
            let view = BoardView(surface: surface, terms: terms.widgets, account: terms.account, session: session)
            return tileForm(of: entity, view, store)
        }
    }

    /// The form of a tile that nobody placed, whose key has no state. Whether one is shown depends on the device.
    @inline(never)
    private func unplacedForm(
        of entity: EntityIndex, for subscription: Subscription, of session: Session, _ store: borrowing EntityStore
    ) -> RowForm? {
        guard let view = BoardView(subscription, session), let tile = unplacedTile(at: entity, store),
            subscription.mayBeShown(unplacedOf: tile.account, isRelevantTile: tile.tile.isRelevantWidget)
        else { return nil }
        guard let form = form(of: tile, at: entity, view, store) else { return nil }
        return .widget(widgetForms.number(of: form, at: entity))
    }

    /// The form of a tile; `nil` if the view does not show it. Never inlined, like the form of a widget.
    @inline(never)
    private func tileForm(of entity: EntityIndex, _ view: BoardView, _ store: borrowing EntityStore) -> RowForm? {
        let session = view.session
        let viewing = TileViewing(
            entity: entity.rawValue, surface: view.surface, terms: view.terms, account: view.account,
            traits: session.traits, device: session.device)
        if !session.hasTapped, let known = widgetForms.known(viewing, store.sequence, time) { return known }
        let drawn: WidgetForm? =
            if let tile = store.boardTile(at: entity) { form(of: tile, at: entity, view, store) } else { nil }
        let form = drawn.map { RowForm.widget(widgetForms.number(of: $0, at: entity)) }
        if !session.hasTapped { widgetForms.keep(form, of: viewing) }
        return form
    }

    /// The form of a widget; `nil` if the place does not show it.
    ///
    /// Never inlined: it would cost the forms of activities an allocation.
    @inline(never)
    private func widgetForm(
        of entity: EntityIndex, _ surface: Surface, _ terms: WidgetTerms, _ account: String?, _ session: Session,
        _ store: borrowing EntityStore
    ) -> RowForm? {
        guard !terms.isElsewhere, let widget = store.widget(at: entity), let kind = store.widgetKind(at: entity),
            let scene = WidgetScene(
                kind, surface: surface, place: terms.place, family: terms.family, mode: terms.mode,
                traits: session.traits, hasAccount: account != nil, settings: settings)
        else { return nil }
        let future = widgetForms.future(of: widget, at: entity, kind, time, for: account, store)
        let moments = future.moments
        let count = min(moments.count, Int(terms.ahead) + 1)
        let viewer = ControlViewer(
            placement: nil, connection: tapper(of: entity, session, store), isLocked: session.traits.isLocked)
        let form = WidgetForm(
            scene: widgetForms.box(scene), moments: Array(moments.prefix(count)),
            next: count < moments.count ? moments[count].date : nil,
            continuesAt: count < moments.count ? nil : future.continuesAt, device: session.device,
            viewer: kind.showsControls ? viewer : nil)
        return .widget(widgetForms.number(of: form, at: entity))
    }

    private func placementAlone(
        of activity: ActivityBox, at entity: EntityIndex, surface: Surface, traits: Traits, hasAccount: Bool,
        _ store: borrowing EntityStore
    ) -> Placement {
        Projection.placeAlone(
            store.visibleActivity(activity, at: entity), surface: surface, traits: traits,
            foreground: store.foreground(of: traits), settings: settings, hasAccount: hasAccount)
    }

    /// The placement of a competing activity, which was determined when it last moved: what its views depend on may follow its
    /// state.
    private func renewed(
        _ placement: Placement, of activity: ActivityBox, at entity: EntityIndex, _ surface: Surface,
        _ session: Session,
        _ store: borrowing EntityStore
    ) -> Placement {
        guard activity.value.kind.circumstancesFollowState else { return placement }
        return Projection.renewed(
            placement, of: store.visibleActivity(activity, at: entity), surface: surface, traits: session.traits,
            settings: settings, hasAccount: true)
    }

    private func activityForm(
        of entity: EntityIndex, _ surface: Surface, _ placement: Placement, _ session: Session,
        _ store: borrowing EntityStore
    ) -> RowForm {
        .activity(
            surface, placement,
            viewer: ControlViewer(
                placement: nil, connection: tapper(of: entity, session, store), isLocked: session.traits.isLocked))
    }

    /// The number of a connection that is shown the requested value of a control instead of the confirmed one: one of the few
    /// that tapped what is pending. `nil` = it is shown the same as every session and can share their row.
    func tapper(
        of entity: EntityIndex, _ session: Session, _ store: borrowing EntityStore
    ) -> ConnectionNumber? {
        guard session.hasTapped else { return nil }
        switch store[entity].state {
        case .toggle(let toggle): return toggle.isTapped(by: session.id.number) ? session.id.number : nil
        case .button: return nil
        case .none, .activity, .widget, .tile:
            // Unknown until the row has been drawn.
            guard shows(controlsIn: entity) else { return session.id.number }
            for key in controls(in: entity) {
                if let control = store.index(of: key), tapper(of: control, session, store) != nil {
                    return session.id.number
                }
            }
            return nil
        }
    }

    /// The full view. A control has one for all sessions except those that tapped what is pending: they see their requested value
    /// here too. A connection taps or stops waiting only with a new `rev`.
    private func fullForm(of entity: EntityIndex, _ session: Session, _ store: borrowing EntityStore) -> RowForm {
        guard store.isControl(entity) else { return .full }
        return .control(ControlViewer(placement: nil, connection: tapper(of: entity, session, store)))
    }

    private func controlForm(
        of entity: EntityIndex, surface: Surface?, placement: String?, _ session: Session,
        _ store: borrowing EntityStore
    ) -> RowForm? {
        let isLocked = session.traits.isLocked
        let place =
            placement.flatMap { ControlPlacement(rawValue: $0) }
            ?? surface.flatMap { ControlPlacement.standard(on: $0, isLocked: isLocked) }
        guard let place else { return nil }
        return .control(
            ControlViewer(placement: place, connection: tapper(of: entity, session, store), isLocked: isLocked))
    }

    // MARK: GET, LIST, OPEN

    /// The row of one entity by itself, for GET and LIST; `nil` if the view does not show it.
    ///
    /// A dismissed activity can still be requested in full.
    mutating func loneBody(
        of entity: EntityIndex, view: ViewName, widgets: WidgetTerms = WidgetTerms(), for session: Session,
        _ store: borrowing EntityStore
    ) -> [UInt8]? {
        guard case .surface(let surface) = view else {
            return body(of: entity, fullForm(of: entity, session, store), store)
        }
        switch store[entity].state {
        case .none: return nil
        case .activity(let activity):
            let placement = placementAlone(
                of: activity, at: entity, surface: surface, traits: session.traits,
                hasAccount: session.account != nil, store)
            guard placement.isShown else { return nil }
            return body(of: entity, activityForm(of: entity, surface, placement.withoutAlert, session, store), store)
        case .toggle, .button:
            guard let form = controlForm(of: entity, surface: surface, placement: nil, session, store) else {
                return nil
            }
            return body(of: entity, form, store)
        case .widget:
            let form = widgetForm(of: entity, surface, widgets, session.account, session, store)
            return form.flatMap { body(of: entity, $0, store) }
        case .tile:
            let view = BoardView(surface: surface, terms: widgets, account: session.account, session: session)
            return tileForm(of: entity, view, store).flatMap { body(of: entity, $0, store) }
        }
    }

    /// The row of a tile that nobody placed, for GET and LIST; `nil` if the view does not show it.
    func loneBody(
        of tile: BoardTile, view: ViewName, widgets: WidgetTerms, for session: Session, _ store: borrowing EntityStore
    ) -> [UInt8]? {
        guard case .surface(let surface) = view else { return nil }
        let view = BoardView(surface: surface, terms: widgets, account: session.account, session: session)
        guard let form = form(of: tile, at: nil, view, store) else { return nil }
        var writer = JSONWriter()
        var contents = RowContents()
        return Self.writeTile(tile, at: nil, form, store, &contents, to: &writer) ? writer.bytes : nil
    }

    /// The body of a GET for an activity that the view does not show.
    func hiddenBody(of entity: EntityIndex, _ store: borrowing EntityStore) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("presentation")
        writer.null()
        if let activity = store.activity(at: entity) {
            writer.member("lifecycle", activity.value.lifecycle.rawValue)
        }
        writer.endObject()
        return writer.bytes
    }

    /// The link for a tap on a widget or on a part of it; `nil` if the device does not show the widget.
    func openedBody(
        of entity: EntityIndex, _ widget: Widget, part: String?, for session: Session, _ store: borrowing EntityStore
    ) -> [UInt8]? {
        let surface = session.surface ?? .desktop
        guard let kind = store.kind(at: entity), let definition = store.widgetKind(at: entity),
            let key = store[entity].key, store.isListed(entity)
        else { return nil }
        // A tap does not name the family, so the first one that the surface has decides.
        let scenes = definition.families.lazy.compactMap { family in
            WidgetPlace.allCases.lazy.compactMap { place in
                WidgetScene(
                    definition, surface: surface, place: place, family: family, traits: session.traits,
                    hasAccount: session.account != nil)
            }.first { !$0.isPreview }
        }
        guard let scene = scenes.first else { return nil }
        var writer = JSONWriter()
        WidgetRow.writeOpened(
            widget, key: key, kind: kind, definition: definition, scene: scene, part: part,
            moments: store.future(of: widget, at: entity, definition, time, for: session.account).moments, to: &writer)
        return writer.bytes
    }

    /// The view of an opened activity: the Lock Screen view and the deep link. On a desktop, it opens from the activity's item in
    /// the menu bar. `nil` if there is nothing to open.
    mutating func openedBody(
        of entity: EntityIndex, for session: Session, _ store: borrowing EntityStore
    ) -> [UInt8]? {
        guard let activity = store.activity(at: entity), store.isListed(entity) else { return nil }
        let surface = session.surface ?? .desktop
        let placement = Projection.opened(
            store.visibleActivity(activity, at: entity), surface: surface, traits: session.traits, settings: settings)
        guard placement.isShown else { return nil }
        // An opened activity is shown in one place, whatever places a row of the surface has.
        let drawn: Surface = surface == .phone || surface == .pad ? .desktop : surface
        return body(of: entity, activityForm(of: entity, drawn, placement, session, store), store)
    }

    // MARK: Alerts

    /// An alert of commit `rev` as the subscription's surface draws it. It may wait, and the device may lock meanwhile, so a private
    /// one comes in both forms.
    func announcement(
        _ alert: ActivityAlert, rev: Int64, of entity: EntityIndex, for subscription: Subscription, of session: Session,
        _ store: borrowing EntityStore
    ) -> Announcement {
        guard case .surface(let surface) = subscription.terms.view, let activity = store.activity(at: entity) else {
            return .alert(rev: rev, json: [])
        }
        let style = Projection.alertStyle(
            of: store.visibleActivity(activity, at: entity), surface: surface, traits: session.traits,
            foreground: store.foreground(of: session.traits), settings: settings)
        guard let style else { return .alert(rev: rev, json: []) }
        func body(_ alert: ActivityAlert) -> [UInt8] {
            var writer = JSONWriter()
            alert.write(style: style.rawValue, to: &writer)
            return writer.bytes
        }
        let isPrivate = alert.summary != nil
        return .alert(
            rev: rev, json: body(alert),
            redacted: isPrivate ? body(alert.redacted(title: store.kind(at: entity)?.title ?? "")) : nil)
    }

    // MARK: Competition

    /// Recomputes what a subscription shows, and marks rows that look different as dirty.
    mutating func project(
        _ index: SubscriptionIndex, of session: Session, _ subscriptions: inout SubscriptionRegistry,
        _ store: borrowing EntityStore
    ) {
        guard let (redrawsControls, mayGainWidgets) = subscriptions.change(index, { $0.takeProjection() }) else {
            return
        }
        // A new situation may also show widgets that the subscriber does not hold.
        var widgets: Set<Int32> = []
        if subscriptions[index]?.competingAccount != nil {
            projectCompeting(index, of: session, &subscriptions, store)
            guard mayGainWidgets || redrawsControls else { return }
            if subscriptions.projectsByScan(index, redrawsControls: redrawsControls, store) { return }
            guard let subscription = subscriptions[index], let account = subscription.competingAccount else { return }
            let digest = subscription.terms.accountDigest
            for entity in store.others(visibleTo: account, digest: digest, followedBy: subscription.selector)
            where mayGainWidgets && subscription.isLive && store.isWidget(entity) { widgets.insert(entity.rawValue) }
        } else {
            if subscriptions.projectsByScan(index, redrawsControls: redrawsControls, store) { return }
            widgets = projectFew(index, of: session, &subscriptions, store, isSituated: mayGainWidgets)
        }
        guard let subscription = subscriptions[index] else { return }
        if mayGainWidgets {
            widgets.formUnion(subscription.backlog?.widgets.keys.map { $0 } ?? [])
            if subscription.isLive {
                widgets.formUnion(subscriptions.presentTiles(for: subscription, store).map(\.rawValue))
            }
        }
        let commit = store.sequence + 1
        for raw in widgets.sorted() {
            let entity = EntityIndex(raw)
            let form = widgetForm(form(of: entity, for: subscription, of: session, store))
            guard subscriptions.isDrawnDifferently(form, entity, to: subscription, at: time, store) else { continue }
            subscriptions.markSurroundings(of: entity, to: index, since: commit, store)
        }
        guard redrawsControls else { return }
        for raw in subscription.allShown.keys.sorted() {
            let entity = EntityIndex(raw)
            guard store.isControl(entity) || shows(controlsIn: entity) else { continue }
            subscriptions.markSurroundings(of: entity, to: index, since: commit, store)
        }
    }

    /// Projects each activity of a subscription to few keys separately. With an account, each competes alone.
    ///
    /// - Returns: The widgets that it follows, if it is live.
    private func projectFew(
        _ index: SubscriptionIndex, of session: Session, _ subscriptions: inout SubscriptionRegistry,
        _ store: borrowing EntityStore, isSituated: Bool
    ) -> Set<Int32> {
        guard let subscription = subscriptions[index], case .surface(let surface) = subscription.terms.view else {
            return []
        }
        var widgets: Set<Int32> = []
        var (candidates, visible): ([EntityIndex], [VisibleActivity]) = ([], [])
        let (account, digest) = (subscription.terms.account, subscription.terms.accountDigest)
        for entity in store.visible(to: account, digest: digest, followedBy: subscription.selector) {
            guard let activity = store.activity(at: entity) else {
                if isSituated, subscription.isLive, store.isWidget(entity) { widgets.insert(entity.rawValue) }
                continue
            }
            candidates.append(entity)
            visible.append(store.visibleActivity(activity, at: entity))
        }
        let placements = Projection.project(
            surface: surface, traits: session.traits, foreground: store.foreground(of: session.traits),
            activities: visible, settings: settings, competing: subscription.terms.competes, hasAccount: account != nil)
        var shown: [Int32: Placement] = [:]
        for (entity, placement) in zip(candidates, placements) where placement.isShown {
            shown[entity.rawValue] = placement
        }
        let before = subscription.allShown
        if subscription.terms.competes { subscriptions.change(index) { $0.needBacklog().placements = shown } }
        shown = shown.mapValues(\.withoutAlert)
        let commit = store.sequence + 1
        // Before the snapshot or the resume is complete, every row is pending anyway.
        for entity in candidates where before[entity.rawValue] != shown[entity.rawValue] {
            guard subscription.isLive || before[entity.rawValue] != nil else { continue }
            subscriptions.markSurroundings(of: entity, to: index, since: commit, store)
        }
        // Controls do not compete.
        for raw in before.keys.sorted() where shown[raw] == nil {
            guard case .activity = store[EntityIndex(raw)].state else { continue }
            subscriptions.markSurroundings(of: EntityIndex(raw), to: index, since: commit, store)
        }
        return widgets
    }

    /// Computes the placements of the activities in a view of an account.
    ///
    /// - Returns: Those that have one, in no order.
    mutating func place(
        _ index: SubscriptionIndex, of session: Session, _ subscriptions: inout SubscriptionRegistry,
        _ store: borrowing EntityStore
    ) -> [EntityIndex] {
        guard let subscription = subscriptions[index], subscription.competingAccount != nil,
            case .surface(let surface) = subscription.terms.view
        else { return [] }
        let scene = Lineups.Scene(surface, session.traits, foreground: store.foreground(of: session.traits))
        let (settings, limit) = (settings, store.activitiesPerView)
        let found = lineup(
            for: subscription.terms, kind: subscription.kind, revision: subscriptions.competitorRevision, store)
        let placed = placements(of: found, in: scene, limit: limit) { entities in
            let visible = store.visibleActivities(at: entities)
            return Projection.project(
                surface: surface, traits: scene.traits, foreground: scene.foreground, activities: visible,
                settings: settings, competing: true, limit: limit)
        }
        var placements = placed.placements
        for entity in found.lineup.entities {
            guard let placement = placements[entity.rawValue], let activity = store.activity(at: entity),
                activity.value.kind.circumstancesFollowState
            else { continue }
            placements[entity.rawValue] = renewed(placement, of: activity, at: entity, surface, session, store)
        }
        subscriptions.change(index) { subscription in
            let backlog = subscription.needBacklog()
            (backlog.placements, backlog.placedCount) = (placements, placed.count)
        }
        subscriptions.setDepth(found.lineup.depth, of: index)
        return placed.placements.keys.map { EntityIndex($0) }
    }

    /// Recomputes the placements in a view of an account, and marks rows that look different as dirty.
    private mutating func projectCompeting(
        _ index: SubscriptionIndex, of session: Session, _ subscriptions: inout SubscriptionRegistry,
        _ store: borrowing EntityStore
    ) {
        let former = subscriptions[index]?.backlog?.placements ?? [:]
        let placed = place(index, of: session, &subscriptions, store)
        guard let subscription = subscriptions[index], let account = subscription.competingAccount,
            let backlog = subscription.backlog
        else { return }
        let concerned = Set(former.keys).union(placed.map(\.rawValue)).sorted().map { EntityIndex($0) }
        let different = concerned.filter {
            subscription.shown($0) != backlog.placements[$0.rawValue]?.withoutAlert
        }
        let digest = subscription.terms.accountDigest
        let isSeen = Set(different.filter { store.isListed($0) && store.isVisible($0, to: account, digest: digest) })
        for entity in different.filter({ isSeen.contains($0) }) + different.filter({ !isSeen.contains($0) }) {
            if backlog.placements[entity.rawValue] == nil {
                backlog.noteLeaving(entity, since: subscription.sentCursor + 1)
            }
            subscriptions.markSurroundings(of: entity, to: index, since: store.sequence + 1, store)
        }
    }
}

extension EntityStore {
    fileprivate func visibleActivity(_ activity: ActivityBox, at entity: EntityIndex) -> VisibleActivity {
        VisibleActivity(activity.value, index: entity.rawValue, app: appNumber(version: self[entity].kind))
    }

    /// The activities of a lineup. Keys break ties between them: indices differ between nodes, and the rank in the lineup
    /// changes with the score, which does not matter between apps (C8).
    fileprivate func visibleActivities(at entities: [EntityIndex]) -> [VisibleActivity] {
        var (visible, keys): ([VisibleActivity], [Key]) = ([], [])
        for entity in entities {
            guard let activity = activity(at: entity) else { continue }
            visible.append(visibleActivity(activity, at: entity))
            keys.append(activity.value.key)
        }
        let order = keys.indices.sorted { keys[$0] < keys[$1] }
        for (rank, position) in order.enumerated() { visible[position].index = Int32(rank) }
        return visible
    }

    /// The number of the app in the foreground of a device.
    fileprivate func foreground(of traits: Traits) -> Int32? {
        traits.foreground.flatMap { number(ofApp: $0) }
    }
}
