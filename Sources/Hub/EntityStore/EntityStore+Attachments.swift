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

// Controls that belong to activities.
extension EntityStore {
    /// The accounts that may see `entity`; empty = every account.
    func audience(of entity: EntityIndex) -> [String] {
        switch entities[entity].state {
        case .activity(let activity): activity.accounts
        case .widget(let widget): widget.accounts
        case .tile(let item): item.accounts
        case .none, .toggle, .button: attachments[entity]?.accounts ?? []
        }
    }

    /// The activity that a control belongs to, while both exist.
    func owner(of control: EntityIndex) -> ActivityBox? { attachments[control]?.activity.flatMap { activity(at: $0) } }

    /// Whether a control went with its activity, or a widget has ended. Its outcome can be requested until it is pruned.
    func isGone(_ entity: EntityIndex) -> Bool {
        entities[entity].dismissedAt != nil
            && (isControl(entity) || widget(at: entity) != nil || boardItem(at: entity) != nil)
    }

    /// The controls that begin with an activity: those that it names by its own keys, of control kinds in force.
    ///
    /// A control listed under `instances` of its kind exists independently. One that already belongs to an activity stays there.
    func controlsToAttach(to entity: EntityIndex) -> [Key] {
        guard let activity = activity(at: entity), case .activity(let kind)? = kind(at: entity)?.body else { return [] }
        return kind.views.ownControlKeys(in: activity.value.templateContext).compactMap { text in
            guard let key = Key(text), let index = kinds.current[String(key.kind)],
                !kinds.versions[index].hasInstance(String(key.id))
            else { return nil }
            guard kinds.versions[index].isControl else { return nil }
            guard let known = entities.index(of: key), exists(known), !isGone(known) else { return key }
            return attachments[known]?.activity == nil ? key : nil
        }
    }

    /// The keys of the controls of an activity.
    func attachedControls(of activity: EntityIndex) -> [Key] {
        attachments.controls(of: activity).compactMap { entities[$0].key }
    }

    /// Controls that live activities name and that new kinds make possible.
    var missingAttachments: [JournalEntry] {
        var missing: [JournalEntry] = []
        var taken: Set<Key> = []
        for entity in entities.existing {
            guard let activity = activity(at: entity), activity.isLive, let key = entities[entity].key,
                kinds.hasOwnControls(entities[entity].kind)
            else { continue }
            for control in controlsToAttach(to: entity) where taken.insert(control).inserted {
                missing.append(.attached(control, to: key))
            }
        }
        return missing
    }

    /// The live activity that a control will belong to.
    func owner(named key: Key) throws(WireError) -> (entity: EntityIndex, activity: ActivityBox) {
        guard let entity = entities.index(of: key), let activity = activity(at: entity), activity.isLive else {
            throw .unknownKey(key)
        }
        return (entity, activity)
    }

    /// Attaches an existing control to an activity.
    ///
    /// - Parameter isNew: No account has seen it under this key.
    mutating func attach(
        _ control: EntityIndex, to owner: (entity: EntityIndex, activity: ActivityBox), isNew: Bool, sequence: Int64
    ) {
        let (before, accounts) = (audience(of: control), owner.activity.accounts)
        if !isNew, before != accounts { readdress(control, from: before, commit: sequence) }
        setAttachment(Attachments.Attachment(activity: owner.entity, accounts: accounts), of: control)
    }

    /// Detaches a control because its activity is gone.
    mutating func detach(_ key: Key, sequence: Int64) throws(WireError) -> DecisionResult {
        guard let entity = entities.index(of: key), exists(entity), !isGone(entity),
            let attachment = attachments[entity]
        else { throw .unknownKey(key) }
        for operation in operations(at: entity) { ended(operation) }
        let owner = owner(of: entity)
        setAttachment(Attachments.Attachment(activity: nil, accounts: attachment.accounts), of: entity)
        let now = wall
        mutate(entity) { place in
            if case .toggle = place.state { place.state = .toggle(Toggle(provider: nil)) }
            if case .button = place.state { place.state = .button(Button(provider: nil)) }
            place.rev = sequence
            place.dismissedAt = now
        }
        return DecisionResult(
            verdict: .applied, entity: entity, rev: sequence, description: StateName("gone"),
            change: Change(entity: entity, commit: sequence, activity: owner))
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
