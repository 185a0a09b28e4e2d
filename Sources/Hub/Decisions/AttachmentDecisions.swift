internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

/// What a record about an activity means for the controls that belong to it. Each control gets its own record.
enum ControlConsequence: Sendable {
    case none
    /// The activity begins, and its controls begin with it.
    case begin
    /// The activity's accounts changed, and so do those of its controls.
    case readdress
    /// The activity has left, and its controls with it.
    case end
}

/// Controls that belong to activities.
enum AttachmentDecisions {
    /// The controls that begin with an activity: those that it names by its own keys, of control kinds in force.
    ///
    /// A control listed under `instances` of its kind exists independently. One that already belongs to an activity stays there.
    static func controlsToAttach(to entity: EntityIndex, _ store: borrowing EntityStore) -> [Key] {
        guard let activity = store.activity(at: entity), case .activity(let kind)? = store.kind(at: entity)?.body else {
            return []
        }
        return kind.views.ownControlKeys(in: activity.value.templateContext).compactMap { text in
            guard let key = Key(text), let kind = store.kind(named: key.kind), kind.isControl,
                !kind.hasInstance(String(key.id))
            else { return nil }
            guard let known = store.index(of: key), store.exists(known), !store.isGone(known) else { return key }
            return store.attachment(of: known)?.activity == nil ? key : nil
        }
    }

    /// Controls that live activities name and that new kinds make possible.
    static func missingAttachments(_ store: borrowing EntityStore) -> [JournalEntry] {
        var missing: [JournalEntry] = []
        var taken: Set<Key> = []
        for entity in store.existing {
            guard let activity = store.activity(at: entity), activity.isLive, let key = store[entity].key,
                store.hasOwnControls(version: store[entity].kind)
            else { continue }
            for control in controlsToAttach(to: entity, store) where taken.insert(control).inserted {
                missing.append(.attached(control, to: key))
            }
        }
        return missing
    }

    /// The live activity that a control will belong to.
    static func owner(named key: Key, _ store: borrowing EntityStore) throws(WireError) -> (
        entity: EntityIndex, activity: ActivityBox
    ) {
        guard let entity = store.index(of: key), let activity = store.activity(at: entity), activity.isLive else {
            throw .unknownKey(key)
        }
        return (entity, activity)
    }

    /// Attaches an existing control to an activity.
    ///
    /// - Parameter isNew: No account has seen it under this key.
    static func attach(
        _ control: EntityIndex, to owner: (entity: EntityIndex, activity: ActivityBox), isNew: Bool,
        _ store: inout EntityStore
    ) {
        let (before, accounts) = (store.audience(of: control), owner.activity.accounts)
        if !isNew, before != accounts { store.readdress(control, from: before, commit: store.nextSequence) }
        store.setAttachment(Attachments.Attachment(activity: owner.entity, accounts: accounts), of: control)
    }

    /// Detaches a control because its activity is gone.
    static func detach(_ key: Key, _ store: inout EntityStore) throws(WireError) -> DecisionResult {
        guard let entity = store.index(of: key), store.exists(entity), !store.isGone(entity),
            let attachment = store.attachment(of: entity)
        else { throw .unknownKey(key) }
        for operation in store.operations(at: entity) { store.ended(operation) }
        let owner = store.owner(of: entity)
        store.setAttachment(Attachments.Attachment(activity: nil, accounts: attachment.accounts), of: entity)
        let (now, rev) = (store.wall, store.nextSequence)
        store.mutate(entity) { place in
            if case .toggle = place.state { place.state = .toggle(Toggle(provider: nil)) }
            if case .button = place.state { place.state = .button(Button(provider: nil)) }
            place.rev = rev
            place.dismissedAt = now
        }
        return DecisionResult(
            verdict: .applied, entity: entity, rev: rev, description: StateName("gone"),
            change: Change(entity: entity, commit: rev, activity: owner))
    }
}

extension Kind {
    /// Whether its file lists the control `id`, which then exists independently.
    fileprivate func hasInstance(_ id: String) -> Bool {
        switch body {
        case .toggle(let toggle): toggle.instances.contains(id)
        case .button(let button): button.instances.contains(id)
        case .activity, .widget: false
        }
    }
}
