internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

/// The effects of journal entries on controls.
enum ControlDecisions {
    static func apply(_ entry: JournalEntry, _ store: inout EntityStore) throws(WireError) -> DecisionResult {
        guard let key = entry.key else { throw WireError(.internal, "no control is named") }
        if let result = try WidgetDecisions.apply(entry, &store) { return result }
        let owner = try entry.owner.map { (key) throws(WireError) in try AttachmentDecisions.owner(named: key, store) }
        let known = store.index(of: key).flatMap { store.exists($0) ? $0 : nil }
        let isNew = known.map { store.isGone($0) } ?? true
        if let known, isNew, !entry.beginsControl {
            // A report on a key that is gone came too late.
            var result = DecisionResult(verdict: .ignored, entity: known, rev: store[known].rev)
            (result.description, result.stateHash) = state(at: known, store)
            return result
        }
        if case .created = entry, !isNew { throw WireError(.internal, "\(key) exists") }
        var control = try control(at: isNew ? nil : known, key, by: entry, store)
        var outcome: ControlOutcome
        do throws(ControlRejection) {
            outcome = try control.state.step(
                entry, key: key, kind: store.kind(version: control.kind), at: store.wall,
                operation: OperationID(store.nextSequence))
        } catch {
            throw WireError(
                ErrorCode(rawValue: error.code) ?? .unavailable, "\(key): \(error.message)", details: error.details)
        }
        let entity = store.intern(key)
        place(entity, under: owner, known: known, isNew: isNew, &store)
        let isChanged = outcome.effects.contains(.publish) || isNew || owner != nil
        let rev = isChanged ? store.nextSequence : store[entity].rev
        store.mutate(entity) { place in
            (place.state, place.kind) = control
            place.rev = rev
            if isNew { place.dismissedAt = nil }
        }
        // Its creation is a change even if the machine reports none: a button is reported without a value.
        if isNew, outcome.verdict == .noop { outcome.verdict = .applied }
        var result = DecisionResult(verdict: outcome.verdict, entity: entity, rev: rev)
        result.operation = outcome.operation
        for step in outcome.steps {
            switch step {
            case .perform(let performance):
                result.calls.append((key, .perform(performance)))
                store.began(performance.operation, on: key)
            case .ended(let end): store.ended(end.operation)
            case .raise(let raised): result.raised.append(raised)
            }
        }
        if isChanged { result.change = Change(entity: entity, commit: rev, activity: store.owner(of: entity)) }
        if case .tapped(_, let tap, _, let sender, let eid?, _, _) = entry {
            let identity = TapLedger.Identity(sender: sender, eid: eid)
            store.insertTap(identity, on: key, tap: tap, operation: outcome.operation)
        }
        (result.description, result.stateHash) = state(at: entity, store)
        return result
    }

    /// The control at `known`, or a new one, with the version of its kind that it uses from `entry` on.
    private static func control(
        at known: EntityIndex?, _ key: Key, by entry: JournalEntry, _ store: borrowing EntityStore
    ) throws(WireError) -> (state: EntityState, kind: Int) {
        let name = String(key.kind)
        let current = store.version(named: name)
        if let known {
            let isMoved = if case .kindChanged = entry { true } else { false }
            return (store[known].state, isMoved ? current ?? store[known].kind : store[known].kind)
        }
        guard let current else { throw .unknownKey(key) }
        switch store.kind(version: current).body {
        case .toggle: return (.toggle(Toggle(provider: entry.reporter)), current)
        case .button: return (.button(Button(provider: entry.reporter)), current)
        case .activity: throw WireError(.badAction, "\(name) is a live activity, not a control")
        case .widget: throw WireError(.badAction, "\(name) is a widget, not a control")
        }
    }

    /// Attaches a control to the activity that an entry names, or detaches one that begins again without any.
    private static func place(
        _ entity: EntityIndex, under owner: (entity: EntityIndex, activity: ActivityBox)?, known: EntityIndex?,
        isNew: Bool, _ store: inout EntityStore
    ) {
        if let owner { return AttachmentDecisions.attach(entity, to: owner, isNew: known == nil, &store) }
        guard isNew, known != nil else { return }
        let former = store.audience(of: entity)
        if !former.isEmpty { store.readdress(entity, from: former, commit: store.nextSequence) }
        store.setAttachment(nil, of: entity)
    }

    private static func state(at entity: EntityIndex, _ store: borrowing EntityStore) -> (
        description: StateName, hash: UInt64
    ) {
        var writer = BinaryWriter()
        let description: String
        switch store[entity].state {
        case .toggle(let toggle):
            toggle.encode(to: &writer)
            description = "\(toggle.phase.rawValue) \(toggle.value.map { $0 ? "on" : "off" } ?? "unknown")"
        case .button(let button):
            button.encode(to: &writer)
            description = button.phase.rawValue
        case .none, .activity, .widget, .tile: description = ""
        }
        return (StateName(description), StableHash.of(writer.bytes.span))
    }

    /// The consequences of new kinds for controls. A control has no end at which an old version could retire: controls of a
    /// removed kind go, others move to the new version, and new instances are created.
    static func consequencesOfKinds(_ store: borrowing EntityStore) -> [JournalEntry] {
        var entries: [JournalEntry] = []
        for entity in store.existing {
            guard store.isControl(entity) || store.widget(at: entity) != nil, store.isListed(entity),
                let key = store[entity].key
            else {
                continue
            }
            switch store.version(named: key.kind) {
            case nil: entries.append(.pruned(key))
            case store[entity].kind?: break
            case let version?:
                // A widget goes if its configuration is invalid in the new version.
                if case .widget(let kind) = store.kind(version: version).body, !store.hasPlace(key, in: kind) {
                    entries.append(.pruned(key))
                } else {
                    entries.append(.kindChanged(key))
                }
            }
        }
        return entries + missingInstances(store).map { .created($0) } + AttachmentDecisions.missingAttachments(store)
    }

    /// Controls that their kind files name and that do not exist yet.
    private static func missingInstances(_ store: borrowing EntityStore) -> [Key] {
        var missing: [Key] = []
        for kind in store.kindsInForce {
            let ids: [String] =
                switch kind.body {
                case .toggle(let toggle): toggle.instances
                case .button(let button): button.instances
                case .widget(let widget): widget.instances
                case .activity: []
                }
            for id in ids {
                guard let key = Key(kind: kind.name, id: id) else { continue }
                if let entity = store.index(of: key), store.exists(entity), !store.isGone(entity) { continue }
                missing.append(key)
            }
        }
        return missing + store.missingDerived + store.missingTileWidgets
    }
}

extension EntityState {
    /// Lets the machine of a control take an entry.
    fileprivate mutating func step(
        _ entry: JournalEntry, key: Key, kind: Kind, at wall: Timestamp, operation: OperationID
    ) throws(ControlRejection) -> ControlOutcome {
        switch (self, kind.body) {
        case (.toggle(var toggle), .toggle(let kind)):
            guard let event = ToggleEvent(entry, operation: operation) else { break }
            let outcome = try toggle.apply(event, kind: kind, at: wall)
            self = .toggle(toggle)
            return outcome
        case (.button(var button), .button(let kind)):
            guard let event = ButtonEvent(entry, operation: operation) else { break }
            let outcome = try button.apply(event, key: key, kind: kind, at: wall)
            self = .button(button)
            return outcome
        default: return ControlOutcome(.ignored)
        }
        return ControlOutcome(.applied)
    }
}

extension JournalEntry {
    /// The activity that a control will belong to.
    fileprivate var owner: Key? {
        if case .attached(_, let owner) = self { owner } else { nil }
    }

    /// Whether it restores a control that went with its activity.
    fileprivate var beginsControl: Bool {
        switch self {
        case .attached, .created: true
        default: false
        }
    }

    /// The connection whose report creates a control.
    fileprivate var reporter: ConnectionNumber? {
        if case .reported(_, _, _, let connection) = self { connection } else { nil }
    }
}

extension ToggleEvent {
    fileprivate init?(_ entry: JournalEntry, operation: OperationID) {
        switch entry {
        case .tapped(_, .set(let value), let connection, _, _, let isLocked, _):
            self = .tapped(value, operation: operation, connection: connection, isLocked: isLocked)
        case .reported(_, let value?, let observedAt, _): self = .reported(value, observedAt: observedAt)
        case .done(_, let operation, let value, let connection): self = .done(operation, value: value, by: connection)
        case .failed(_, let operation, let failure, let connection):
            self = .failed(operation, failure, by: connection)
        case .providerChanged(_, let provider, _): self = .providerChanged(to: provider)
        case .restarted: self = .restarted
        case .kindChanged: self = .kindChanged
        case .deadline: self = .deadlineReached
        case .created, .tapped, .reported, .raiseRefused, .settings, .kinds, .event, .dismissed, .seen, .pruned,
            .attached, .detached, .supplied, .reloaded, .refreshStarted, .tile:
            return nil
        }
    }
}

extension ButtonEvent {
    fileprivate init?(_ entry: JournalEntry, operation: OperationID) {
        switch entry {
        case .tapped(_, .press, _, _, _, let isLocked, let account):
            self = .tapped(operation: operation, isLocked: isLocked, account: account)
        case .reported: self = .reported
        case .done(_, let operation, _, let connection): self = .done(operation, by: connection)
        case .failed(_, let operation, let failure, let connection):
            self = .failed(operation, failure, by: connection)
        case .providerChanged(_, let provider, let asksAgain):
            self = .providerChanged(to: provider, refreshesAgain: asksAgain)
        case .raiseRefused(_, let operation, let failure): self = .raiseRefused(operation, failure)
        case .restarted: self = .restarted
        case .kindChanged: self = .kindChanged
        case .deadline: self = .deadlineReached
        case .created, .tapped, .settings, .kinds, .event, .dismissed, .seen, .pruned, .attached, .detached, .supplied,
            .reloaded, .refreshStarted, .tile:
            return nil
        }
    }
}
