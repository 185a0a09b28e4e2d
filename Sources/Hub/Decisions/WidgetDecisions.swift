internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

/// The effects of journal entries on widgets.
enum WidgetDecisions {
    /// Posts an event to a widget.
    ///
    /// - Parameters:
    ///   - known: The index of its key, if it has one.
    ///   - kindIndex: The version of the kind in force.
    static func post(
        _ posted: PostedEvent, at known: EntityIndex?, kind: WidgetKind, _ kindIndex: Int, _ store: inout EntityStore
    ) throws(WireError) -> DecisionResult {
        let command = posted.command
        let former = known.flatMap { store.widget(at: $0) }
        var unknown: [String] = []
        let event = try Self.event(of: command, kind: kind, unknown: &unknown)
        var widget: Widget
        if let former {
            widget = former
        } else {
            guard let configuration = store.configuration(of: command.key, in: kind) else {
                throw WireError(
                    .unknownKey, "\(command.key) is no configuration of its kind; KIND tells its parameters")
            }
            guard case .timeline = event else { throw .unknownKey(command.key) }
            widget =
                kind.isRefreshed
                ? Widget(refresh: command.key, configuration: configuration, accounts: command.accounts, at: store.time)
                : Widget(configuration: configuration, accounts: command.accounts, at: store.time)
        }
        let begins = former.map { $0.isGone } ?? true
        widget.reviveRefresh(with: kind, key: command.key, at: store.time)
        let outcome = widget.apply(
            event, happenedAt: command.happenedAt, version: command.version, kind: kind,
            aheadLimit: store.settings.activities.aheadLimit, floor: store.settings.widgetFloor, at: store.time)
        // A refused timeline creates no widget.
        guard former != nil || outcome.isChanged else {
            return DecisionResult(verdict: outcome.verdict, unknownToWidget: unknown)
        }
        let entity = store.intern(command.key)
        var result = replace(at: entity, by: widget, kind: kindIndex, outcome, &store)
        result.unknownToWidget = unknown
        result.beginsRefresh = begins && kind.isRefreshed
        if let operation = outcome.ended { store.ended(operation) }
        return result
    }

    /// - Parameter unknown: Receives the names of the tail that are not known.
    private static func event(
        of command: EventCommand, kind: WidgetKind, unknown: inout [String]
    ) throws(WireError) -> Widget.Event {
        let name = command.key.kind
        switch command.type {
        case "reload":
            unknown = command.membersUnknownToWidget
            return .reload
        case "timeline", "end":
            guard kind.isPushed else {
                throw WireError(.badAction, "the content of \(name) is computed by its kind, and is not posted")
            }
            if command.type == "end" {
                unknown = command.membersUnknownToWidget
                return .ended
            }
            do throws(WidgetRejection) {
                return .timeline(try WidgetTimeline(tail: command.tail, unknown: &unknown))
            } catch {
                throw WireError(error)
            }
        default:
            throw WireError(
                .badAction, "\(name) is a widget: it takes type=timeline, type=reload and type=end, not \(command.type)"
            )
        }
    }

    /// Lets one of the hub's own entries create a widget or move it to the version in force.
    ///
    /// - Returns: `nil` if the entry does not concern a widget.
    static func apply(_ entry: JournalEntry, _ store: inout EntityStore) throws(WireError) -> DecisionResult? {
        guard let key = entry.key, let (kindIndex, kind) = store.widgetKind(inForce: key.kind) else {
            return nil
        }
        guard let configuration = store.configuration(of: key, in: kind) else { throw .unknownKey(key) }
        switch entry {
        case .created:
            let begun =
                kind.activityKind != nil ? try store.derivedWidget(key, kind: kind, configuration: configuration) : nil
            let entity = store.intern(key)
            if store.exists(entity), !store.isGone(entity) { throw WireError(.internal, "\(key) exists") }
            let posted =
                kind.isRefreshed
                ? Widget(refresh: key, configuration: configuration, at: store.time)
                : Widget(configuration: configuration, at: store.time)
            let widget = begun ?? posted
            return replace(
                at: entity, by: widget, kind: kindIndex, Widget.Outcome(.applied, isChanged: true), &store)
        case .kindChanged:
            guard let entity = store.index(of: key), var widget = store.widget(at: entity) else {
                throw .unknownKey(key)
            }
            if kind.activityKind != nil {
                let former = widget
                widget = try store.derivedWidget(key, kind: kind, configuration: configuration)
                widget.keepTallies(of: former)
            } else if widget.isDerived || widget.isAggregate {
                widget = Widget(configuration: configuration, accounts: widget.accounts, at: store.time)
            }
            if let operation = widget.alignRefresh(with: kind, key: key, at: store.time) { store.ended(operation) }
            let outcome = widget.apply(.kindChanged(configuration: configuration), kind: kind, at: store.time)
            return replace(at: entity, by: widget, kind: kindIndex, outcome, &store)
        default:
            guard let event = try refreshEvent(of: entry, store) else {
                throw WireError(.badAction, "\(key) is a widget, not a control")
            }
            return try refresh(event, of: key, kind: kind, kindIndex, &store)
        }
    }

    /// The step of a widget's refresh that an entry stands for; `nil` if none.
    private static func refreshEvent(of entry: JournalEntry, _ store: borrowing EntityStore) throws(WireError) -> Widget
        .RefreshEvent?
    {
        switch entry {
        case .providerChanged(_, let provider, _): return .providerChanged(to: provider)
        case .restarted: return .restarted
        case .supplied(_, let operation, let json, let connection):
            var unknown: [String] = []
            do throws(WidgetRejection) {
                let timeline = try WidgetTimeline(tail: json.object ?? JSONObject(), unknown: &unknown)
                return .answered(operation, timeline, by: connection)
            } catch {
                throw WireError(error)
            }
        case .failed(_, let operation, _, let connection): return .failed(operation, by: connection)
        case .reloaded(_, let isFree): return .reload(isFree: isFree)
        case .refreshStarted, .deadline: return .deadlineReached(OperationID(store.nextSequence))
        default: return nil
        }
    }

    /// Applies a step of a refresh to a widget.
    private static func refresh(
        _ event: Widget.RefreshEvent, of key: Key, kind: WidgetKind, _ kindIndex: Int, _ store: inout EntityStore
    ) throws(WireError) -> DecisionResult {
        guard let entity = store.index(of: key), var widget = store.widget(at: entity) else { throw .unknownKey(key) }
        guard widget.isRefreshed else {
            if case .reload = event { return DecisionResult(verdict: .noop, entity: entity, rev: store[entity].rev) }
            throw WireError(.badAction, "no provider is asked for \(key)")
        }
        let outcome = widget.apply(
            event, kind: kind, floor: store.settings.widgetFloor, at: store.time, wall: store.wall)
        var result = replace(
            at: entity, by: widget, kind: kindIndex, Widget.Outcome(outcome.verdict, isChanged: outcome.isChanged),
            &store)
        if let operation = outcome.ended { store.ended(operation) }
        if let ask = outcome.refresh {
            result.calls.append((key, .timeline(ask)))
            store.began(ask.operation, on: key)
        }
        return result
    }

    /// Stores a changed widget.
    private static func replace(
        at entity: EntityIndex, by widget: Widget, kind kindIndex: Int, _ outcome: Widget.Outcome,
        _ store: inout EntityStore
    ) -> DecisionResult {
        let rev = outcome.isChanged ? store.nextSequence : store[entity].rev
        put(widget, at: entity, kind: kindIndex, rev: rev, &store)
        var writer = BinaryWriter()
        widget.encode(to: &writer)
        let phase = store.phase(of: widget, at: entity)
        var result = DecisionResult(
            verdict: outcome.verdict, entity: entity, rev: rev, state: phase, description: StateName(phase),
            stateHash: StableHash.of(writer.bytes.span))
        if outcome.isChanged { result.change = Change(entity: entity, isWidget: true, commit: store.nextSequence) }
        return result
    }

    /// Stores a widget at the index of its key.
    static func put(_ widget: Widget, at entity: EntityIndex, kind: Int, rev: Int64, _ store: inout EntityStore) {
        if let former = store.widget(at: entity), former.accounts != widget.accounts {
            store.readdress(entity, from: former.accounts, commit: store.nextSequence)
        }
        let goneAt = widget.isGone ? store[entity].dismissedAt ?? store.wall : nil
        store.mutate(entity) { place in
            place.state = .widget(widget)
            place.kind = kind
            place.rev = rev
            place.dismissedAt = goneAt
            place.isWidget = true
        }
    }
}

extension EventCommand {
    /// The names of its tail that a widget does not know.
    var membersUnknownToWidget: [String] {
        guard type == "timeline" else { return tail.map(\.name) }
        var unknown: [String] = []
        _ = try? WidgetTimeline(tail: tail, unknown: &unknown)
        return unknown
    }
}

extension WireError {
    init(_ rejection: WidgetRejection) {
        var details = JSONObject()
        details["path"] = .string(rejection.path)
        let code: ErrorCode =
            switch rejection {
            case .badTail: .badJSON
            case .tooLarge: .tooLarge
            }
        self.init(code, rejection.description, details: details)
    }
}
