public import TelltaleModel

/// Decides from full rows whether what `set`, `press` and `post` wait for has come.
public struct AwaitedOutcome: Hashable, Sendable {
    public enum Goal: Hashable, Sendable {
        /// A control has carried out the tap; an activity has ended.
        case done
        /// An activity is in the state of this path; a toggle is `on` or `off`, or a control is in a phase.
        case state(String)

        /// The value of `--wait`.
        public init(_ text: String) { self = text == "done" ? .done : .state(text) }
    }

    public enum Verdict: Hashable, Sendable {
        case waiting, reached
        /// It cannot come any more, and why.
        case failed(String)
    }

    private let goal: Goal
    /// The operation of the tap; `nil` for an event, and for a tap that changed nothing.
    private let operation: String?

    public init(_ goal: Goal, operation: String?) { (self.goal, self.operation) = (goal, operation) }

    /// - Parameter row: A row of the full view that is as new as the reply to the command.
    public func verdict(of row: JSONObject) -> Verdict {
        row["control"] == nil ? activityVerdict(row) : controlVerdict(row)
    }

    /// - Parameter state: The path of a state that was entered and may have been left again.
    public func verdict(ofMilestone state: String) -> Verdict { goal == .state(state) ? .reached : .waiting }

    /// - Parameter why: The reason of the deletion of the row.
    public func verdict(ofDeletion why: String) -> Verdict {
        goal == .done && operation == nil ? .reached : .failed("it is gone (\(why))")
    }

    private func activityVerdict(_ row: JSONObject) -> Verdict {
        let lifecycle = row["lifecycle"]?.string ?? ""
        let hasEnded = ["ended", "dismissed"].contains(lifecycle)
        guard case .state(let wanted) = goal else { return hasEnded ? .reached : .waiting }
        let states = (row["configuration"]?.array ?? []).compactMap(\.string) + [row["state"]?.string ?? ""]
        if states.contains(wanted) { return .reached }
        return hasEnded ? .failed("it ended as \(row["state"]?.string ?? "?")") : .waiting
    }

    private func controlVerdict(_ row: JSONObject) -> Verdict {
        let ended = [row["last"]].compactMap(\.self) + (row["ended"]?.array ?? [])
        let own = operation.flatMap { name in ended.first { $0["op"]?.string == name } }
        if let own, own["result"]?.string != "confirmed" { return .failed(Self.reason(own)) }
        switch goal {
        case .done: return operation == nil || own != nil ? .reached : .waiting
        case .state(let wanted):
            let value = row["value"]?.bool.map { $0 ? "on" : "off" }
            if wanted == value || wanted == row["phase"]?.string { return .reached }
            return own == nil ? .waiting : .failed("it is \(value ?? row["phase"]?.string ?? "unknown")")
        }
    }

    private static func reason(_ end: JSON) -> String {
        if end["result"]?.string == "superseded" { return "another tap took its place" }
        let reason = end["reason"]?.string ?? "it was not done"
        return end["message"]?.string.map { "\(reason): \($0)" } ?? reason
    }
}
