public import TelltaleModel
public import TelltaleWire

/// A trace as an order system would post it: every event, in order, with the time at which it is due.
///
/// Cases run side by side, by their own times. A row without a time, or with one before its predecessor's, is due with
/// its predecessor: the clock of a source may run backwards, and an order system posts in order. The
/// `other.final_status` of a case follows its last row where the source has no event for that end (Programs/README.md).
public struct ReplayPlan: Sendable {
    public struct Post: Sendable {
        public var command: EventCommand
        /// After the trace's first event, in the trace's own time.
        public var due: Milliseconds
    }

    public struct Case: Sendable {
        public var key: Key
        /// The final state according to the data (``Trace/Case/expectedState``).
        public var expectedState: String
    }

    /// Sorted by `due`; posts that are due at once keep the order of the file.
    public let posts: [Post]
    /// In the order of their first rows.
    public let cases: [Case]
    /// The time of the first event that has one.
    public let start: Timestamp

    /// Final states that a trace has no event for.
    public static let postedStatuses: Set<String> = ["canceled", "unavailable"]

    public init(_ trace: Trace, kind: String) throws(TraceError) {
        var posts: [(post: Post, line: Int, row: Int)] = []
        let start = trace.cases.lazy.flatMap(\.rows).compactMap(\.time).min() ?? Timestamp(milliseconds: 0)
        var cases: [Case] = []
        for each in trace.cases {
            guard let key = Key(kind: kind, id: each.id) else {
                throw TraceError(line: 1, "\(kind)/\(each.id) is no key")
            }
            cases.append(Case(key: key, expectedState: each.expectedState ?? ""))
            var due = Milliseconds.zero
            var line = 0
            for (index, row) in each.rows.enumerated() {
                if let time = row.time { due = max(due, time - start) }
                line = row.line
                var content = row.other
                // An order system does not know the final status before the end.
                content["final_status"] = nil
                posts.append((Self.post(key, row.event, row: index + 1, content: content, due: due), line, index))
            }
            if let status = each.finalStatus, Self.postedStatuses.contains(status) {
                let row = each.rows.count + 1
                posts.append((Self.post(key, status, row: row, content: JSONObject(), due: due), line, row))
            }
        }
        // Swift's sort is stable in practice and not by promise, so the order is made total.
        posts.sort { ($0.post.due, $0.line, $0.row) < ($1.post.due, $1.line, $1.row) }
        self.init(posts: posts.map(\.post), cases: cases, start: start)
    }

    init(posts: [Post], cases: [Case], start: Timestamp) {
        self.posts = posts
        self.cases = cases
        self.start = start
    }

    /// The same cases, posted in another way.
    func with(_ posts: [Post]) -> ReplayPlan { ReplayPlan(posts: posts, cases: cases, start: start) }

    /// `src=sim eid=CASE-ROW ver=ROW`, and no `at`: the time of the event is the time of its arrival.
    private static func post(
        _ key: Key, _ event: String, row: Int, content: JSONObject, due: Milliseconds
    ) -> Post {
        var command = EventCommand(key: key, type: event)
        command.source = "sim"
        command.eid = "\(key.id)-\(row)"
        command.version = Int64(row)
        if !content.isEmpty { command.tail["content-state"] = .object(content) }
        return Post(command: command, due: due)
    }

    /// Each case's own clock slowed, while the calendar in which cases begin stays as it was.
    ///
    /// A flight takes hours and its calendar years: at any speed that makes the calendar bearable, no eye sees a flight.
    public func slowed(by factor: Int64) -> ReplayPlan {
        var starts: [Key: Milliseconds] = [:]
        return sorted(
            posts.map { post in
                let start = starts[post.command.key] ?? post.due
                starts[post.command.key] = start
                let own = Milliseconds(post.due.count - start.count).multiplied(by: factor)
                return Post(command: post.command, due: Milliseconds(start.count.addingSaturated(own.count)))
            })
    }

    /// The same order of events, evenly spread over `span`: nights and quiet years take no time.
    public func paced(over span: Milliseconds) -> ReplayPlan {
        let count = Int64(max(1, posts.count))
        return with(
            posts.enumerated().map { index, post in
                Post(command: post.command, due: Milliseconds(span.multiplied(by: Int64(index)).count / count))
            })
    }

    /// The plan in its own rhythm, from 0 to `span`.
    public func squeezed(into span: Milliseconds) -> ReplayPlan {
        let last = max(1, posts.last?.due.count ?? 1)
        return with(
            posts.map {
                Post(
                    command: $0.command,
                    due: Milliseconds(Int64(Double($0.due.count) / Double(last) * Double(span.count))))
            })
    }

    /// Several traces beside each other, each from its own beginning.
    public init(merging plans: [ReplayPlan]) {
        self.init(
            posts: plans.flatMap(\.posts), cases: plans.flatMap(\.cases),
            start: plans.map(\.start).min() ?? Timestamp(milliseconds: 0))
        self = sorted(posts)
    }

    private func sorted(_ posts: [Post]) -> ReplayPlan {
        let order = posts.enumerated().sorted { ($0.element.due, $0.offset) < ($1.element.due, $1.offset) }
        return with(order.map(\.element))
    }
}

/// How fast a trace's own time runs.
public enum ReplaySpeed: Hashable, Sendable {
    /// As fast as the daemon takes it.
    case maximum
    /// So many times as fast as it was: 1 is real time.
    case times(Double)

    /// `max`, or a number above 0.
    public init?(_ text: String) {
        if text == "max" {
            self = .maximum
        } else if let factor = Double(text), factor.isFinite, factor > 0 {
            self = .times(factor)
        } else {
            return nil
        }
    }

    /// When, after the replay's start, something of the trace's time is due. Saturates.
    public func delay(until due: Milliseconds) -> Milliseconds {
        switch self {
        case .maximum: return .zero
        case .times(let factor):
            let count = (Double(due.count) / factor).rounded(.up)
            return count < Double(Int64.max) ? Milliseconds(Int64(count)) : Milliseconds(.max)
        }
    }
}

extension Int64 {
    fileprivate func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

extension Trace.Case {
    /// The final state of this case according to the data, in the names of the shipped kinds (Programs/README.md).
    ///
    /// An order's source gives a final status. Where no event of the source has that name, it is the state of the last
    /// event. A flight's source gives no status, so its last event decides.
    public var expectedState: String? {
        if let finalStatus { return Self.statesOfStatuses[finalStatus] ?? finalStatus }
        return rows.last.map { Self.statesOfEvents[$0.event] ?? $0.event }
    }

    private static let statesOfStatuses = [
        "shipped": "handed_to_carrier", "invoiced": "approved", "processing": "approved",
    ]
    private static let statesOfEvents = [
        "scheduled_departure": "scheduled", "arrived_dest_local": "arrived", "diverted_or_unknown": "diverted",
    ]
}

/// Whether every case ended as the data says.
public struct OutcomeCheck: Hashable, Sendable {
    public struct Disagreement: Hashable, Sendable, CustomStringConvertible {
        public var key: Key
        public var expected: String
        public var found: String
        /// The place that shows the state.
        public var place: String

        public var description: String { "\(key): the data says \(expected), \(place) says \(found)" }
    }

    public private(set) var agreementCount = 0
    public private(set) var disagreements: [Disagreement] = []
    /// Cases by the states that the data gives them.
    public private(set) var counts: [String: Int] = [:]

    public init() {}

    public var isClean: Bool { disagreements.isEmpty }

    /// - Parameters:
    ///   - expected: The state that the data gives.
    ///   - found: Each place that shows the case, and the state that it shows; `nil` for none.
    public mutating func compare(_ key: Key, expected: String, found: [(place: String, state: String?)]) {
        counts[expected, default: 0] += 1
        let wrong = found.filter { $0.state != expected }
        if wrong.isEmpty { agreementCount += 1 }
        disagreements += wrong.map {
            Disagreement(key: key, expected: expected, found: $0.state ?? "nothing", place: $0.place)
        }
    }

    /// `484 delivered, 5 handed_to_carrier`: the most frequent first.
    public var countsText: String {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.value) \($0.key)" }
            .joined(separator: ", ")
    }
}
