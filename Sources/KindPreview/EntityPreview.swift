public import Kinds
public import Machines
public import TelltaleModel

/// One entity of a kind, run by itself: without a daemon, a connection and a clock.
///
/// It decides as the daemon does, by the same machines and surfaces. An activity begins with its first event, and is alone on
/// every screen. A control has a provider from the beginning, and every screen is the one that taps.
///
/// A preview keeps a bounded log. Its machine bounds the cost of one step; the caller is asked between the parts of a step
/// whether the preview may go on.
public struct EntityPreview: Sendable {
    public enum Step: Hashable, Sendable {
        /// `EVT`: the name that its sender uses.
        case event(String, EventDetails)
        /// Time passes; deadlines that fall due meanwhile happen at their own time.
        case pass(Milliseconds)
        /// A person sets a toggle.
        case set(Bool)
        /// A person presses a button.
        case press
        /// The provider reports the value of its device.
        case report(Bool)
        /// The provider has done what it was asked; a toggle's provider may report the value.
        case done(Bool?)
        /// The provider could not do it.
        case fail(String?)
        /// The provider comes or goes.
        case serve(Bool)
    }

    /// One line of the log.
    public struct Entry: Hashable, Sendable {
        /// The number of its step, from 0.
        public var step: Int
        public var time: Timestamp
        /// The name of the event; `deadline` for one that fell due; for a control the verb: `set`, `press`, `done` and so on.
        public var name: String
        /// `nil` where the step was refused; ``note`` then says why.
        public var verdict: Verdict?
        /// As ``state`` after it.
        public var state: String
        public var note: String?
        public var alert: ActivityAlert?
    }

    enum Body: Sendable {
        /// `nil` before it has begun.
        case activity(ActivityKind, Activity?)
        case toggle(ToggleKind, Toggle)
        case button(ButtonKind, Button)
    }

    public let kind: Kind
    public let key: Key
    public internal(set) var now: Timestamp
    /// Everything that happened, oldest first; the newest ``logLimit`` entries.
    public internal(set) var log: [Entry] = []
    /// How many steps were taken.
    public private(set) var stepCount = 0

    var body: Body
    private let settings = ActivitySettings()
    private var operationCount: Int64 = 0

    public static let logLimit = 1_000
    /// The most deadlines of one step. A machine whose timers arm each other would never end.
    public static let deadlineLimit = 1_000

    /// The connections of the provider and of the screens.
    static let provider: ConnectionNumber = 1
    static let screen: ConnectionNumber = 2

    /// - Parameters:
    ///   - id: The second half of the key.
    ///   - now: When the preview begins.
    /// - Returns: `nil` where `id` is none, and for a widget: it has no machine to be tried.
    public init?(_ kind: Kind, id: String, at now: Timestamp) {
        guard let key = Key(kind: kind.name, id: id) else { return nil }
        (self.kind, self.key, self.now) = (kind, key, now)
        switch kind.body {
        case .activity(let definition): body = .activity(definition, nil)
        case .toggle(let definition): body = .toggle(definition, Toggle(provider: Self.provider))
        case .button(let definition): body = .button(definition, Button(provider: Self.provider))
        case .widget: return nil
        }
    }

    // MARK: - The state now

    /// As in the reply to an event, or in the history of a control; empty for an activity that has not begun.
    public var state: String {
        switch body {
        case .activity(_, let activity): activity?.statePath ?? ""
        case .toggle(_, let toggle): toggle.phase.rawValue + (toggle.value.map { $0 ? " on" : " off" } ?? "")
        case .button(_, let button): button.phase.rawValue
        }
    }

    /// When something falls due next; `nil` where nothing will.
    public var deadline: Timestamp? {
        switch body {
        case .activity(_, let activity): activity?.deadline
        case .toggle(_, let toggle): toggle.deadline
        case .button(_, let button): button.deadline
        }
    }

    /// The alert of the last step, where it came with one.
    public var alert: ActivityAlert? { log.last { $0.alert != nil && $0.step == stepCount - 1 }?.alert }

    // MARK: - Steps

    /// Takes a step.
    ///
    /// A step that the machine refuses is one too: the log says why, and nothing else changes.
    ///
    /// - Parameter mayGoOn: Is asked before each thing that falls due; a preview that may not go on is left in between.
    /// - Returns: Whether the step was finished.
    public mutating func performStep(_ step: Step, mayGoOn: () -> Bool = { true }) -> Bool {
        stepCount += 1
        let target: Timestamp = if case .pass(let span) = step { now + span } else { now }
        guard fireDue(by: target, mayGoOn) else { return false }
        now = target
        switch step {
        case .pass:
            break
        case .event(let name, let details):
            post(ActivityEvent(type: name, details: details), name)
        case .set, .press, .report, .done, .fail, .serve:
            act(step)
        }
        return true
    }

    private mutating func note(
        _ name: String, _ verdict: Verdict?, at time: Timestamp, note: String? = nil, alert: ActivityAlert? = nil
    ) {
        if log.count >= Self.logLimit { log.removeFirst(log.count - Self.logLimit + 1) }
        log.append(
            Entry(step: stepCount - 1, time: time, name: name, verdict: verdict, state: state, note: note, alert: alert)
        )
    }

    private mutating func note(_ name: String, _ outcome: ActivityOutcome, at time: Timestamp) {
        var words: String?
        if let failure = outcome.failure {
            words = ActivityRejection.machine(failure).description
        } else if let place = outcome.guardErrorLocation {
            words = "the guard at \(place) cannot be evaluated, and counts as false"
        }
        note(name, outcome.verdict, at: time, note: words, alert: outcome.alert)
    }

    private mutating func refuse(_ name: String, _ why: String) { note(name, nil, at: now, note: why) }

    /// - Returns: `false` where it may not go on.
    private mutating func fireDue(by time: Timestamp, _ mayGoOn: () -> Bool) -> Bool {
        for count in 0... {
            guard let due = deadline, due <= time else { return true }
            guard count < Self.deadlineLimit else {
                note("deadline", nil, at: due, note: "more than \(Self.deadlineLimit) things fall due in one step")
                return true
            }
            guard mayGoOn() else { return false }
            now = max(now, due)
            switch body {
            case .activity(let definition, var activity):
                guard let outcome = activity?.deadlineReached(by: time, settings: settings) else { return true }
                body = .activity(definition, activity)
                note("deadline", outcome, at: due)
            case .toggle(let definition, var toggle):
                guard let outcome = try? toggle.apply(.deadlineReached, kind: definition, at: due) else { return true }
                body = .toggle(definition, toggle)
                note("deadline", outcome.verdict, at: due, note: Self.words(outcome))
            case .button(let definition, var button):
                guard let outcome = try? button.apply(.deadlineReached, key: key, kind: definition, at: due) else {
                    return true
                }
                body = .button(definition, button)
                note("deadline", outcome.verdict, at: due, note: Self.words(outcome))
            }
        }
        return true
    }

    // MARK: - An activity

    private mutating func post(_ event: ActivityEvent, _ name: String) {
        guard case .activity(let definition, let current) = body else {
            return refuse(name, "a control takes no events: set or press it")
        }
        do throws(ActivityRejection) {
            guard var activity = current, !activity.isReplaced(by: event) else {
                let (started, outcome) = try Activity.start(
                    key: key, kind: definition, event: event, accounts: [], settings: settings, at: now)
                body = .activity(definition, started)
                return note(name, outcome, at: now)
            }
            let outcome = try activity.apply(event, settings: settings, at: now)
            body = .activity(definition, activity)
            note(name, outcome, at: now)
        } catch {
            refuse(name, error.description)
        }
    }

    // MARK: - A control

    private mutating func act(_ step: Step) {
        let name = step.name
        do throws(ControlRejection) {
            switch body {
            case .activity:
                refuse(name, "an activity takes events: a control is set or pressed")
            case .toggle(let definition, var toggle):
                guard let event = toggleEvent(step, toggle) else { return refuse(name, "there is nothing to answer") }
                let outcome = try toggle.apply(event, kind: definition, at: now)
                body = .toggle(definition, toggle)
                note(name, outcome.verdict, at: now, note: Self.words(outcome))
            case .button(let definition, var button):
                guard let event = buttonEvent(step, button) else { return refuse(name, "there is nothing to answer") }
                let outcome = try button.apply(event, key: key, kind: definition, at: now)
                body = .button(definition, button)
                note(name, outcome.verdict, at: now, note: Self.words(outcome))
            }
        } catch {
            refuse(name, error.message)
        }
    }

    private mutating func nextOperation() -> OperationID {
        operationCount += 1
        return OperationID(operationCount)
    }

    private mutating func toggleEvent(_ step: Step, _ toggle: Toggle) -> ToggleEvent? {
        let operation = toggle.flight?.operation.id
        return switch step {
        case .set(let value):
            .tapped(value, operation: nextOperation(), connection: Self.screen, isLocked: false)
        case .report(let value): .reported(value, observedAt: nil)
        case .done(let value): operation.map { .done($0, value: value, by: Self.provider) }
        case .fail(let message): operation.map { .failed($0, Self.failure(message), by: Self.provider) }
        case .serve(let isThere): .providerChanged(to: isThere ? Self.provider : nil)
        case .press, .event, .pass: nil
        }
    }

    private mutating func buttonEvent(_ step: Step, _ button: Button) -> ButtonEvent? {
        let operation = button.flight?.operation
        return switch step {
        case .press: .tapped(operation: nextOperation(), isLocked: false)
        case .done: operation.map { .done($0, by: Self.provider) }
        case .fail(let message): operation.map { .failed($0, Self.failure(message), by: Self.provider) }
        case .serve(let isThere): .providerChanged(to: isThere ? Self.provider : nil)
        case .set, .report, .event, .pass: nil
        }
    }

    private static func failure(_ message: String?) -> ProviderFailure? {
        message.map { ProviderFailure(code: nil, message: $0) }
    }

    /// The actions that a control's owner would carry out, in words.
    private static func words(_ outcome: ControlOutcome) -> String? {
        let parts = outcome.steps.map { step in
            switch step {
            case .perform(let performance):
                "the provider is asked to \(performance.tap.name)\(performance.tap.value.map { $0 ? " on" : " off" } ?? "")"
            case .ended(let end): "the operation ends: \(end.result.name)"
            case .raise(let event): "raises \(event.event) for \(event.kind)/\(event.id)"
            }
        }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }
}

extension EntityPreview.Step {
    /// As ``EntityPreview/Entry/name`` has it.
    var name: String {
        switch self {
        case .event(let name, _): name
        case .pass: "after"
        case .set: "set"
        case .press: "press"
        case .report: "report"
        case .done: "done"
        case .fail: "fail"
        case .serve(let isThere): isThere ? "provider-came" : "provider-left"
        }
    }
}
