public import TelltaleModel
internal import TelltaleWire

extension ReplayPlan {
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

extension Int64 {
    fileprivate func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
