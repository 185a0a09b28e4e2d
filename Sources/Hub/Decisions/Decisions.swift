internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

/// What a journal entry does to the store. Each family of keys has a file: activities, controls, their attachments, widgets, tiles.
///
/// Live decisions and recovery use the same code, so the same records give the same state.
enum Decisions {
    /// Applies `entry` at the store's clocks, as the record after the newest one.
    ///
    /// - Throws: The error that the sender receives; nothing has changed then.
    static func apply(_ entry: JournalEntry, _ store: inout EntityStore) throws(WireError) -> DecisionResult {
        switch entry {
        case .event(let posted, let source): return try apply(posted, from: source, &store)
        case .dismissed, .seen, .deadline, .tapped, .reported, .done, .failed: break
        // The entry may concern a widget, and needs its state before this commit.
        default: store.settleAggregates()
        }
        return try store.undoingFailure { store throws(WireError) in try decide(entry, &store) }
    }

    /// Applies an event without wrapping it in a ``JournalEntry``: nearly every entry is one, and it would be unwrapped again at
    /// once.
    static func apply(_ posted: PostedEvent, from source: String, _ store: inout EntityStore) throws(WireError)
        -> DecisionResult
    {
        if store.hasUnsettledWidgets, store.isWidgetKind(posted.command.key.kind) { store.settleAggregates() }
        return try store.undoingFailure { store throws(WireError) in
            try ActivityDecisions.post(posted, from: source, &store)
        }
    }

    /// Like ``apply(_:_:)``. An error leaves changes behind.
    private static func decide(_ entry: JournalEntry, _ store: inout EntityStore) throws(WireError) -> DecisionResult {
        switch entry {
        case .settings(let settings):
            let former = store.settings.activities
            do throws(UnknownRules) {
                store.setSettings(try DecisionSettings(settings))
            } catch {
                throw WireError(.internal, error.description)
            }
            // With a shorter retention, dismissed activities are forgotten before their armed deadlines.
            for entity in store.existing where store[entity].dismissedAt != nil { store.arm(entity) }
            var result = DecisionResult(verdict: .applied)
            result.derived = store.foreseeAnew(since: former)
            return result
        case .kinds(let sources):
            let names = store.adoptKinds(try kinds(of: sources))
            var result = DecisionResult(verdict: .applied)
            result.derived = TileDecisions.adopt(names, &store)
            return result
        case .tile(let entry): return try TileDecisions.arrange(entry, &store)
        case .event(let posted, let source):
            return try ActivityDecisions.post(posted, from: source, &store)
        case .dismissed(let key, let account):
            var result = try ActivityDecisions.apply(key, ActivityEvent(.dismissed(account: account)), &store)
            if case .none = result.controls, result.change != nil, let entity = result.entity,
                store.hasControls(entity)
            {
                result.controls = .readdress
            }
            return result
        case .seen(let key, let account, let rev):
            return try ActivityDecisions.apply(key, ActivityEvent(.seen(account: account, rev: rev)), &store)
        case .created, .tapped, .reported, .done, .failed, .providerChanged, .raiseRefused, .restarted, .kindChanged,
            .attached, .supplied, .reloaded, .refreshStarted:
            return try ControlDecisions.apply(entry, &store)
        case .deadline(let key, _):
            return try ActivityDecisions.fireDeadline(entry, of: key, &store)
        case .detached(let key): return try AttachmentDecisions.detach(key, &store)
        case .pruned(let key): return try forget(key, &store)
        }
    }

    private static func kinds(of sources: [JSON]) throws(WireError) -> [Kind] {
        var kinds: [Kind] = []
        for source in sources {
            guard let kind = Kind.read(journaled: source) else {
                throw WireError(.internal, "a kind of the journal cannot be read any more")
            }
            kinds.append(kind)
        }
        return kinds
    }

    private static func forget(_ key: Key, _ store: inout EntityStore) throws(WireError) -> DecisionResult {
        // A replay frees its place at once, so it would refuse a second removal in the same batch.
        guard let entity = store.index(of: key), store.exists(entity) else { throw .unknownKey(key) }
        var change: Change?
        var rev = store[entity].rev
        if store.isControl(entity) || store.widget(at: entity) != nil, !store.isGone(entity) {
            // No follower has been notified of its end yet.
            rev = store.nextSequence
            change = Change(
                entity: entity, isWidget: store.isWidget(entity), commit: rev, activity: store.owner(of: entity))
            for operation in store.operations(at: entity) { store.ended(operation) }
        }
        if store.attachment(of: entity) != nil { store.setAttachment(nil, of: entity) }
        store.raiseResumeFloor(to: rev)
        let wasShown = store.activity(at: entity) != nil && store.areShownByWidgets(version: store[entity].kind)
        store.mutate(entity) { place in
            place.state = .none
            place.rev = rev
            place.dismissedAt = nil
            place.armed = nil
        }
        var result = DecisionResult(
            verdict: .applied, entity: entity, rev: rev, description: StateName("pruned"), change: change)
        if wasShown {
            result.derived = store.forgetShown(entity)
        } else {
            result.derived = TileDecisions.touch(on: key, &store)
        }
        return result
    }
}

extension WireError {
    static func unknownKey(_ key: Key) -> WireError {
        WireError(.unknownKey, "there is no \(key); LIST shows what there is")
    }
}
