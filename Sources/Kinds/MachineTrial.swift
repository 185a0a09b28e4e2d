internal import TelltaleModel
public import TelltaleStatechart

/// Runs a machine without a daemon, for `telltale kinds run` (Protocols/Programs/README.md).
///
/// The caller feeds bytes of input and takes ``output``. A line is an event's name, optionally with the JSON tail of `EVT`
/// (`ready {"content-state":{"shelf":"B"}}`), of which only the content has an effect, or `after 5m`, which advances the
/// clock and fires due timers in order. Empty lines and lines that begin with `#` give no output. Any other line has the
/// verdict `bad_line`.
public struct MachineTrial: Sendable {
    public enum Format: Sendable {
        /// The event, its verdict and the active states' paths, separated by spaces. The first line has the paths
        /// alone.
        case text
        /// `{"event":…,"verdict":…,"configuration":[…],"leaves":[…]}`; the first two are null in the first line.
        case json
    }

    /// Complete output lines, each with its LF. The caller empties it.
    public var output: [UInt8] = []
    /// Messages about input that could not be parsed or carried out, a sentence each. The caller empties it.
    public var complaints: [String] = []
    /// The number of lines that could not be parsed.
    public private(set) var malformedLineCount = 0

    private let kind: ActivityKind
    private let format: Format
    private var instance: MachineInstance
    private var values = MachineValues()
    private var now = Timestamp(milliseconds: 0)
    /// The beginning of a line whose end has not arrived.
    private var rest: [UInt8] = []
    private var lineNumber = 0
    private var events: [[UInt8]: KnownEvent] = [:]
    private var tails: [StateList: [UInt8]] = [:]
    private var isDone: Bool

    /// A parsed event name.
    private struct KnownEvent {
        /// The name after `accept`; `nil` if no event can have it.
        var name: String?
        /// The beginning of the output line, up to the verdict.
        var head: [UInt8]
    }

    private enum Limit {
        /// The largest number of names and configurations that are cached; others are formatted each time.
        static let cache = 4096
        /// The largest number of timers that one line fires. A machine whose timers arm each other would never
        /// terminate.
        static let firings = 1_000_000
        /// The size limit of attributes and content together, in bytes (Protocols/Line/line-protocol.md §11).
        static let content = 4096
    }

    /// Enters the machine's initial states and writes the first line.
    ///
    /// - Throws: ``MachineError`` if the machine cannot start.
    public init(_ kind: ActivityKind, format: Format) throws(MachineError) {
        self.kind = kind
        self.format = format
        let (instance, result) = try kind.statechart.start(at: now, values: &values, contentLimit: Limit.content)
        self.instance = instance
        isDone = result.isDone
        if isDone { self.instance.cancelDeadlines() }
        if format == .json { output.append(contentsOf: #"{"event":null,"verdict":null,"#.utf8) }
        appendTail()
    }

    /// Processes a piece of the input, which may end anywhere in a line.
    public mutating func feed(_ bytes: ArraySlice<UInt8>) {
        var start = bytes.startIndex
        while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
            if rest.isEmpty {
                take(line: bytes[start..<end])
            } else {
                rest.append(contentsOf: bytes[start..<end])
                let line = rest
                rest = []
                take(line: line[...])
            }
            start = end + 1
        }
        rest.append(contentsOf: bytes[start...])
    }

    /// Processes a last line without an LF.
    public mutating func finish() {
        let line = rest
        rest = []
        if !line.isEmpty { take(line: line[...]) }
    }

    private mutating func take(line: ArraySlice<UInt8>) {
        lineNumber += 1
        var line = line
        while let last = line.last, last == 0x20 || last == 0x0D || last == 0x09 { line.removeLast() }
        while let first = line.first, first == 0x20 || first == 0x09 { line.removeFirst() }
        guard let first = line.first, first != UInt8(ascii: "#") else { return }
        guard let space = line.firstIndex(of: 0x20) else { return take(event: line, content: [:]) }
        let word = line[..<space]
        let tail = line[space...].drop { $0 == 0x20 }
        if word.elementsEqual("after".utf8) {
            take(delay: tail, line: line)
        } else {
            take(event: word, tail: tail, line: line)
        }
    }

    // MARK: - Events

    private mutating func take(event word: ArraySlice<UInt8>, tail: ArraySlice<UInt8>, line: ArraySlice<UInt8>) {
        let bytes = Array(tail)
        guard let tail = try? JSONParser().parse(bytes.span), let object = tail.object else {
            return refuse(
                KnownEvent(name: nil, head: head(of: line)),
                "\"\(Self.text(line))\" is neither an event's name, nor one with a JSON object behind it")
        }
        let content = tail["content-state"] ?? [:]
        let unknown = EventTail.unknownMembers(of: object)
        guard unknown.isEmpty, content.object != nil else {
            let fault =
                unknown.isEmpty
                ? "\"content-state\" is to be an object" : "an event has no \(unknown.joined(separator: ", "))"
            return refuse(
                KnownEvent(name: nil, head: head(of: line)),
                "\(fault): content is written as in EVT, {\"content-state\":{…}}")
        }
        take(event: word, content: content)
    }

    private mutating func take(event word: ArraySlice<UInt8>, content: JSON) {
        let event = known(word)
        guard let name = event.name else {
            return refuse(event, "\"\(Self.text(word))\" is not an event's name: use 1 to 64 of A-Z a-z 0-9 _ . : -")
        }
        do throws(MachineError) {
            append(event, verdict: try handle(name, content: content).rawValue)
        } catch {
            complain("\(name): \(error)")
            append(event, verdict: Self.machineError)
        }
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
        if content.object?.isEmpty ?? true {
            let result = try kind.statechart.handle(
                event: name, content: content, at: now, instance: &instance, values: &values,
                contentLimit: Limit.content)
            settle(result)
            return result.verdict
        }
        // As in the daemon, the content of an event is merged only if the event is taken.
        var merged = values
        merged.content = merged.content.merging(content)
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

    private mutating func take(delay: ArraySlice<UInt8>, line: ArraySlice<UInt8>) {
        let event = KnownEvent(name: nil, head: head(of: line))
        guard let span = Milliseconds(duration: Self.text(delay)) else {
            return refuse(event, "\"\(Self.text(delay))\" is not a duration: write for example after 5m")
        }
        now = now + span
        do throws(MachineError) {
            append(event, verdict: (try fire(dueBy: now) ? Verdict.applied : .noop).rawValue)
        } catch {
            complain("\(Self.text(line)): \(error)")
            append(event, verdict: Self.machineError)
        }
    }

    /// - Returns: Whether a timer was due.
    @discardableResult
    private mutating func fire(dueBy time: Timestamp) throws(MachineError) -> Bool {
        var count = 0
        while let deadline = instance.deadline, deadline <= time {
            guard count < Limit.firings else {
                complain("more than \(Limit.firings) timers fell due at once: the rest are dropped")
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

    private static let machineError = "machine_error"
    private static let badLine = "bad_line"

    private mutating func known(_ word: ArraySlice<UInt8>) -> KnownEvent {
        let bytes = Array(word)
        if let event = events[bytes] { return event }
        let text = Self.text(word)
        let event = KnownEvent(
            name: EventName.isValid(text) || text.hasPrefix(Statechart.donePrefix) ? kind.accept[text] ?? text : nil,
            head: head(of: word))
        if events.count >= Limit.cache { events = [:] }
        events[bytes] = event
        return event
    }

    private func head(of line: ArraySlice<UInt8>) -> [UInt8] {
        switch format {
        case .text: return Array(line) + [0x20]
        case .json:
            var head = Array(#"{"event":"#.utf8)
            head += JSON.string(Self.text(line)).text
            head.append(contentsOf: #","verdict":""#.utf8)
            return head
        }
    }

    private mutating func append(_ event: KnownEvent, verdict: String) {
        output.append(contentsOf: event.head)
        output.append(contentsOf: verdict.utf8)
        switch format {
        case .text: output.append(0x20)
        case .json: output.append(contentsOf: "\",".utf8)
        }
        appendTail()
    }

    /// Appends the configuration and the line's end.
    private mutating func appendTail() {
        let configuration = instance.configuration(in: kind.statechart)
        if let tail = tails[configuration] { return output.append(contentsOf: tail) }
        let paths = configuration.map { kind.statechart.states[$0.rawValue].path }
        var tail: [UInt8] = []
        switch format {
        case .text: tail.append(contentsOf: paths.joined(separator: " ").utf8)
        case .json:
            let leaves = instance.leaves(in: kind.statechart).map { kind.statechart.states[$0.rawValue].path }
            tail.append(contentsOf: #""configuration":"#.utf8)
            tail += JSON.array(paths.map { .string($0) }).text
            tail.append(contentsOf: #","leaves":"#.utf8)
            tail += JSON.array(leaves.map { .string($0) }).text
            tail.append(UInt8(ascii: "}"))
        }
        tail.append(UInt8(ascii: "\n"))
        if tails.count >= Limit.cache { tails = [:] }
        tails[configuration] = tail
        output.append(contentsOf: tail)
    }

    private mutating func refuse(_ line: KnownEvent, _ message: String) {
        malformedLineCount += 1
        complain(message)
        append(line, verdict: Self.badLine)
    }

    private mutating func complain(_ message: String) { complaints.append("line \(lineNumber): \(message)") }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
}
