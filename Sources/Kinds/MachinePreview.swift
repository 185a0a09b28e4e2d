internal import TelltaleModel
public import TelltaleStatechart

/// Runs a machine without a daemon, for `telltale kinds run` (Protocols/Programs/README.md).
///
/// A line is an event's name, optionally with the JSON tail of `EVT` (`ready {"content-state":{"shelf":"B"}}`), of which only
/// the content has an effect, or `after 5m`, which advances the clock and fires due timers in order. Any other line has the
/// verdict `bad_line`.
public struct MachinePreview: Sendable {
    public enum Format: Sendable {
        /// The event, its verdict and the active states' paths, separated by spaces. The first line has the paths
        /// alone.
        case text
        /// `{"event":…,"verdict":…,"configuration":[…],"leaves":[…]}`; the first two are null in the first line.
        case json
    }

    /// What is printed for a line.
    public struct Answer: Sendable {
        public var text: String
        /// What could not be parsed or carried out, a sentence each.
        public var complaints: [String] = []
        /// Whether the line could not be parsed.
        public var isMalformed = false
    }

    private let kind: ActivityKind
    private let format: Format
    private var instance: MachineInstance
    private var values = MachineValues()
    private var now = Timestamp(milliseconds: 0)
    private var isDone: Bool
    /// Of the line at hand.
    private var complaints: [String] = []

    private enum Limit {
        /// The largest number of timers that one line fires. A machine whose timers arm each other would never
        /// terminate.
        static let firings = 1_000_000
        /// The size limit of attributes and content together, in bytes (Protocols/Line/line-protocol.md §11).
        static let content = 4096
    }

    /// Enters the machine's initial states.
    ///
    /// - Throws: ``MachineError`` if the machine cannot start.
    public init(_ kind: ActivityKind, format: Format) throws(MachineError) {
        self.kind = kind
        self.format = format
        let (instance, result) = try kind.statechart.start(at: now, values: &values, contentLimit: Limit.content)
        self.instance = instance
        isDone = result.isDone
        if isDone { self.instance.cancelDeadlines() }
    }

    /// The line before any event.
    public var start: String { shown(nil) }

    /// Takes a line of the input, without blanks around it: an event or `after`, and what stands behind.
    public mutating func answerWord(_ line: String) -> Answer {
        let parts = line.split(separator: " ", maxSplits: 1).map { String($0) }
        let (word, tail) = (parts.first ?? "", parts.count > 1 ? parts[1].trimmed : "")
        complaints = []
        do throws(Malformed) {
            if word == "after", !tail.isEmpty { return try pass(tail, line) }
            return try answerWord(word, content: tail.isEmpty ? [:] : Self.content(tail, line))
        } catch {
            return Answer(text: shown((line, "bad_line")), complaints: [error.reason], isMalformed: true)
        }
    }

    private struct Malformed: Error { var reason: String }

    // MARK: - Events

    private static func content(_ text: String, _ line: String) throws(Malformed) -> JSON {
        guard let tail = try? JSONParser.parse(text), let object = tail.object else {
            throw Malformed(reason: "\"\(line)\" is neither an event's name, nor one with a JSON object behind it")
        }
        let content = tail["content-state"] ?? [:]
        let unknown = EventTail.unknownMembers(of: object)
        guard unknown.isEmpty, content.object != nil else {
            let fault =
                unknown.isEmpty
                ? "\"content-state\" is to be an object" : "an event has no \(unknown.joined(separator: ", "))"
            throw Malformed(reason: "\(fault): content is written as in EVT, {\"content-state\":{…}}")
        }
        return content
    }

    private mutating func answerWord(_ word: String, content: JSON) throws(Malformed) -> Answer {
        guard EventName.isValid(word) || word.hasPrefix(Statechart.donePrefix) else {
            throw Malformed(reason: "\"\(word)\" is not an event's name: use 1 to 64 of A-Z a-z 0-9 _ . : -")
        }
        let name = kind.accept[word] ?? word
        return answer(to: word, named: name) { (trial) throws(MachineError) in
            try trial.handle(name, content: content)
        }
    }

    private mutating func answer(
        to event: String, named name: String, _ step: (inout Self) throws(MachineError) -> Verdict
    ) -> Answer {
        var verdict = "machine_error"
        do throws(MachineError) { verdict = try step(&self).rawValue } catch { complaints.append("\(name): \(error)") }
        return Answer(text: shown((event, verdict)), complaints: complaints)
    }

    private mutating func handle(_ name: String, content: JSON) throws(MachineError) -> Verdict {
        if isDone {
            let before = values
            if !(content.object?.isEmpty ?? true) { values.content = values.content.merging(content) }
            guard
                let result = try kind.statechart.reopen(
                    event: name, content: content, at: now, instance: &instance, values: &values,
                    contentLimit: Limit.content)
            else {
                values = before
                return .ignored
            }
            settle(result)
            return result.verdict
        }
        try fire(dueBy: now)
        guard !isDone else { return .ignored }  // A due timer ended the activity.
        // As in the daemon, the content of an event is merged only if the event is taken.
        var merged = values
        if !(content.object?.isEmpty ?? true) { merged.content = merged.content.merging(content) }
        let result = try kind.statechart.handle(
            event: name, content: content, at: now, instance: &instance, values: &merged, contentLimit: Limit.content)
        if result.verdict != .ignored, result.verdict != .deferred { values = merged }
        settle(result)
        return result.verdict
    }

    /// Cancels the timers of an ended activity, as the owner of a machine must.
    private mutating func settle(_ result: StepResult) {
        isDone = result.isDone
        if isDone { instance.cancelDeadlines() }
    }

    // MARK: - Time

    private mutating func pass(_ span: String, _ line: String) throws(Malformed) -> Answer {
        guard let length = Milliseconds(duration: span) else {
            throw Malformed(reason: "\"\(span)\" is not a duration: write for example after 5m")
        }
        now = now + length
        return answer(to: line, named: line) { (trial) throws(MachineError) in
            try trial.fire(dueBy: trial.now) ? .applied : .noop
        }
    }

    /// - Returns: Whether a timer was due.
    @discardableResult
    private mutating func fire(dueBy time: Timestamp) throws(MachineError) -> Bool {
        var count = 0
        while let deadline = instance.deadline, deadline <= time {
            guard count < Limit.firings else {
                complaints.append("more than \(Limit.firings) timers fell due at once: the rest are dropped")
                instance.cancelDeadlines()
                throw .alwaysLoop
            }
            count += 1
            do throws(MachineError) {
                guard
                    let result = try kind.statechart.fireDeadline(
                        dueBy: time, instance: &instance, values: &values, contentLimit: Limit.content)
                else { break }
                settle(result)
            } catch {
                kind.statechart.dropDeadline(dueBy: time, instance: &instance)
                throw error
            }
        }
        return count > 0
    }

    // MARK: - Lines

    private func shown(_ step: (event: String, verdict: String)?) -> String {
        let paths = instance.configuration(in: kind.statechart).map { kind.statechart.states[$0.rawValue].path }
        guard format == .json else {
            return ((step.map { [$0.event, $0.verdict] } ?? []) + paths).joined(separator: " ")
        }
        let leaves = instance.leaves(in: kind.statechart).map { kind.statechart.states[$0.rawValue].path }
        let (event, verdict) = (
            step.map { JSON.string($0.event) } ?? .null, step.map { JSON.string($0.verdict) } ?? .null
        )
        return """
            {"event":\(event),"verdict":\(verdict),"configuration":\(JSON.array(paths.map { .string($0) })),\
            "leaves":\(JSON.array(leaves.map { .string($0) }))}
            """
    }
}
