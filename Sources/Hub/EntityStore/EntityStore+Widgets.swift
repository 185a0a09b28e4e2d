internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

// The effects of journal entries on widgets.
extension EntityStore {
    func widget(at entity: EntityIndex) -> Widget? {
        if case .widget(let widget) = entities[entity].state { widget } else { nil }
    }

    /// The version of its kind that a widget uses.
    func widgetKind(at entity: EntityIndex) -> WidgetKind? {
        if case .widget(let kind)? = kind(at: entity)?.body { kind } else { nil }
    }

    /// Whether keys of this kind name are widgets by the kinds in force.
    func isWidgetKind(_ name: some StringProtocol) -> Bool {
        guard let index = kinds.current[String(name)] else { return false }
        if case .widget = kinds.versions[index].body { return true }
        return false
    }

    /// Posts an event to a widget.
    ///
    /// - Parameters:
    ///  - known: The index of its key, if it has one.
    ///   - kindIndex: The version of the kind in force.
    mutating func applyToWidget(
        _ posted: PostedEvent, at known: EntityIndex?, kind: WidgetKind, _ kindIndex: Int, sequence: Int64
    ) throws(WireError) -> DecisionResult {
        let command = posted.command
        let former = known.flatMap { self.widget(at: $0) }
        var unknown: [String] = []
        let event = try widgetEvent(of: command, kind: kind, unknown: &unknown)
        var widget: Widget
        if let former {
            widget = former
        } else {
            guard let configuration = configuration(of: command.key, in: kind) else {
                throw WireError(
                    .unknownKey, "\(command.key) is no configuration of its kind; KIND tells its parameters")
            }
            guard case .timeline = event else { throw .unknownKey(command.key) }
            widget =
                kind.isAsked
                ? Widget(asking: command.key, configuration: configuration, accounts: command.accounts, at: time)
                : Widget(configuration: configuration, accounts: command.accounts, at: time)
        }
        let begins = former.map { $0.isGone } ?? true
        widget.reviveAsking(with: kind, key: command.key, at: time)
        let outcome = widget.apply(
            event, happenedAt: command.happenedAt, version: command.version, kind: kind,
            aheadLimit: settings.activities.aheadLimit, floor: settings.widgetFloor, at: time)
        // A refused timeline creates no widget.
        guard former != nil || outcome.isChanged else {
            return DecisionResult(verdict: outcome.verdict, unknownToWidget: unknown)
        }
        let entity = intern(command.key)
        var result = replaceWidget(at: entity, by: widget, kind: kindIndex, outcome, sequence: sequence)
        result.unknownToWidget = unknown
        result.beginsAsking = begins && kind.isAsked
        if let operation = outcome.ended { ended(operation) }
        return result
    }

    /// - Parameter unknown: Receives the names of the tail that are not known.
    private func widgetEvent(
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
    mutating func applyToWidget(_ entry: JournalEntry, sequence: Int64) throws(WireError) -> DecisionResult? {
        guard let key = entry.key, let kindIndex = kinds.current[String(key.kind)],
            case .widget(let kind) = kinds.versions[kindIndex].body
        else { return nil }
        guard let configuration = configuration(of: key, in: kind) else { throw .unknownKey(key) }
        switch entry {
        case .created:
            let begun =
                kind.activityKind != nil ? try derivedWidget(key, kind: kind, configuration: configuration) : nil
            let entity = intern(key)
            if exists(entity), !isGone(entity) { throw WireError(.internal, "\(key) exists") }
            let posted =
                kind.isAsked
                ? Widget(asking: key, configuration: configuration, at: time)
                : Widget(configuration: configuration, at: time)
            let widget = begun ?? posted
            return replaceWidget(
                at: entity, by: widget, kind: kindIndex, Widget.Outcome(.applied, isChanged: true), sequence: sequence)
        case .kindChanged:
            guard let entity = index(of: key), var widget = self.widget(at: entity) else { throw .unknownKey(key) }
            if kind.activityKind != nil {
                let former = widget
                widget = try derivedWidget(key, kind: kind, configuration: configuration)
                widget.keepTallies(of: former)
            } else if widget.isDerived || widget.isAggregate {
                widget = Widget(configuration: configuration, accounts: widget.accounts, at: time)
            }
            if let operation = widget.alignAsking(with: kind, key: key, at: time) { ended(operation) }
            let outcome = widget.apply(.kindChanged(configuration: configuration), kind: kind, at: time)
            return replaceWidget(at: entity, by: widget, kind: kindIndex, outcome, sequence: sequence)
        default:
            guard let event = try askingEvent(of: entry, sequence: sequence) else {
                throw WireError(.badAction, "\(key) is a widget, not a control")
            }
            return try ask(event, of: key, kind: kind, kindIndex, sequence: sequence)
        }
    }

    /// The step of a widget's refresh that an entry stands for; `nil` if none.
    private func askingEvent(of entry: JournalEntry, sequence: Int64) throws(WireError) -> Widget.AskingEvent? {
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
        case .asked, .deadline: return .deadlineReached(OperationID(sequence))
        default: return nil
        }
    }

    /// Applies a step of a refresh to a widget.
    private mutating func ask(
        _ event: Widget.AskingEvent, of key: Key, kind: WidgetKind, _ kindIndex: Int, sequence: Int64
    ) throws(WireError) -> DecisionResult {
        guard let entity = index(of: key), var widget = self.widget(at: entity) else { throw .unknownKey(key) }
        guard widget.isAsked else {
            if case .reload = event { return DecisionResult(verdict: .noop, entity: entity, rev: entities[entity].rev) }
            throw WireError(.badAction, "no provider is asked for \(key)")
        }
        let outcome = widget.apply(event, kind: kind, floor: settings.widgetFloor, at: time, wall: wall)
        var result = replaceWidget(
            at: entity, by: widget, kind: kindIndex, Widget.Outcome(outcome.verdict, isChanged: outcome.isChanged),
            sequence: sequence)
        if let operation = outcome.ended { ended(operation) }
        if let ask = outcome.ask {
            result.calls.append((key, .timeline(ask)))
            began(ask.operation, on: key)
        }
        return result
    }

    /// Stores a changed widget.
    private mutating func replaceWidget(
        at entity: EntityIndex, by widget: Widget, kind kindIndex: Int, _ outcome: Widget.Outcome, sequence: Int64
    ) -> DecisionResult {
        let rev = outcome.isChanged ? sequence : entities[entity].rev
        put(widget, at: entity, kind: kindIndex, rev: rev, sequence: sequence)
        var writer = BinaryWriter()
        widget.encode(to: &writer)
        let phase = self.phase(of: widget, at: entity)
        var result = DecisionResult(
            verdict: outcome.verdict, entity: entity, rev: rev, state: phase, description: StateName(phase),
            stateHash: StableHash.of(writer.bytes.span))
        if outcome.isChanged { result.change = Change(entity: entity, isWidget: true, commit: sequence) }
        return result
    }

    /// Stores a widget at the index of its key.
    mutating func put(_ widget: Widget, at entity: EntityIndex, kind: Int, rev: Int64, sequence: Int64) {
        if let former = self.widget(at: entity), former.accounts != widget.accounts {
            readdress(entity, from: former.accounts, commit: sequence)
        }
        let goneAt = widget.isGone ? entities[entity].dismissedAt ?? wall : nil
        mutate(entity) { place in
            place.state = .widget(widget)
            place.kind = kind
            place.rev = rev
            place.dismissedAt = goneAt
            place.isWidget = true
        }
    }

    /// The state of a widget in one word, for replies and histories.
    func phase(of widget: Widget, at entity: EntityIndex) -> String {
        widgetKind(at: entity).map { widget.phase(at: time, kind: $0).rawValue } ?? ""
    }

    /// The keys of the controls in a widget's views, with the content at the newest record.
    func controlKeys(of widget: Widget, at entity: EntityIndex) -> [String] {
        guard let kind = widgetKind(at: entity), kind.showsControls, let key = entities[entity].key else { return [] }
        return future(of: widget, at: entity, kind, time).moments.flatMap { moment -> [String] in
            switch moment.content {
            case .content(let content):
                kind.controlKeys(
                    in: kind.context(key: key, content: content, configuration: widget.configuration))
            case .activity(let sight):
                kind.controlKeys(in: sight.context(key: key, configuration: widget.configuration))
            case .values(let values):
                kind.controlKeys(in: kind.context(key: key, values: values, configuration: widget.configuration))
            case .placeholder, .nothing: []
            }
        }
    }

    /// Whether a screen may have used up the entries in the row of a widget's newest commit.
    ///
    /// - Parameter ahead: How many later entries a row has.
    func mayBeUsedUp(_ entity: EntityIndex, ahead: Int) -> Bool {
        guard let widget = self.widget(at: entity), let kind = widgetKind(at: entity) else { return false }
        if let keptCount = widget.keptCount {
            // Dates of relevance are not counted.
            if kind.relevance?.hasDates == true { return true }
            // Deadlines that came as predicted were in that row too.
            let future = future(of: widget, at: entity, kind, time)
            return future.continuesAt != nil || Int(keptCount) + future.moments.count > ahead + 1
        }
        // A row has at most one more entry for each tally.
        if let tallies = widget.tallies { return tallies.count > ahead }
        guard kind.isPushed else { return true }
        // A row made later starts with a later moment.
        let moments = widget.moments(at: widget.asOf ?? widget.createdAt, kind: kind)
        guard moments.count <= ahead + 1 else { return true }
        let byteCount = moments.reduce(0) { sum, moment in
            guard case .content(let content) = moment.content else { return sum + kind.viewByteCount }
            return sum + kind.viewByteCount + 4 * content.textByteCount
        }
        return byteCount > WidgetTimeline.byteLimit
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
