public import Kinds
public import TelltaleModel

/// One widget: the timeline that it was given, or the source that it is computed from.
///
/// A value without a clock: events carry their time, and what is shown at a moment is a function of the value and the
/// moment. So the date of an entry that comes changes nothing here. `Protocols/Machines/widget.table` tests it.
public struct Widget: Sendable {
    public enum Phase: String, CaseIterable, Hashable, Sendable {
        /// Nothing is known yet, or all of it lies ahead.
        case placeholder
        /// More entries lie ahead.
        case fresh
        /// The last entry is shown.
        case exhausted
        /// Ended.
        case gone
    }

    /// Every parameter of its kind with its value.
    public private(set) var configuration: JSON
    /// `for=`: the accounts whose devices may show it, sorted; empty for all accounts.
    public let accounts: [String]
    /// When the key began.
    public let createdAt: Timestamp
    public private(set) var entries: [WidgetEntry] = []
    public private(set) var policy = WidgetPolicy.atEnd
    /// When the newest timeline was taken; `nil` before the first.
    public private(set) var asOf: Timestamp?
    public private(set) var isGone = false
    /// The phase at the commit of its last change.
    public private(set) var committedPhase = Phase.placeholder
    private var newestVersion: Int64?
    private var newestAt = Timestamp.distantPast

    public init(configuration: JSON, accounts: [String] = [], at now: Timestamp) {
        self.configuration = configuration
        self.accounts = accounts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        createdAt = now
    }

    /// An event of a widget.
    public enum Event: Sendable {
        case timeline(WidgetTimeline)
        /// `type=reload`: nothing can be asked again.
        case reload
        case ended
        /// It lives by a newer version of its kind.
        case kindChanged(configuration: JSON)
    }

    /// The result of an event.
    public struct Outcome: Hashable, Sendable {
        public var verdict: Verdict
        /// Its row changed: the key gets a new `rev`.
        public var isChanged: Bool

        public init(_ verdict: Verdict, isChanged: Bool = false) {
            (self.verdict, self.isChanged) = (verdict, isChanged)
        }
    }

    /// Applies one event.
    ///
    /// - Parameters:
    ///   - happenedAt: `at=`; `nil` for the time of receipt.
    ///   - version: `ver=`.
    ///   - aheadLimit: An event that happens later than so long from now is ignored.
    public mutating func apply(
        _ event: Event, happenedAt: Timestamp? = nil, version: Int64? = nil, kind: WidgetKind,
        aheadLimit: Milliseconds = .hours(8), at now: Timestamp
    ) -> Outcome {
        if let happenedAt, happenedAt - now > aheadLimit { return Outcome(.ignored) }
        switch event {
        case .reload: return Outcome(isGone ? .ignored : .noop)
        case .kindChanged(let configuration):
            self.configuration = configuration
            committedPhase = phase(at: now, kind: kind)
            return Outcome(.applied, isChanged: true)
        case .timeline(let timeline):
            guard !isOlder(happenedAt ?? now, version) else { return Outcome(.stale) }
            remember(happenedAt ?? now, version)
            return take(timeline, kind: kind, at: now)
        case .ended:
            guard !isGone else { return Outcome(.ignored) }
            guard !isOlder(happenedAt ?? now, version) else { return Outcome(.stale) }
            remember(happenedAt ?? now, version)
            (isGone, entries, committedPhase) = (true, [], .gone)
            return Outcome(.applied, isChanged: true)
        }
    }

    private mutating func take(_ timeline: WidgetTimeline, kind: WidgetKind, at now: Timestamp) -> Outcome {
        let known = isGone ? [] : entries.cut(at: now)
        var merged = timeline.entries.cut(at: now)
        // The shown entry stays until the first date (W9).
        if let shown = known.first, shown.date <= now, let first = merged.first, first.date > now {
            merged.insert(shown, at: 0)
        }
        // Content that counts as out of date after a while is told to be current again.
        let renews = kind.stale != nil && asOf != now
        if !isGone, asOf != nil, merged == known, timeline.policy == policy, !renews { return Outcome(.noop) }
        (entries, policy, asOf, isGone) = (merged, timeline.policy, now, false)
        committedPhase = phase(at: now, kind: kind)
        return Outcome(.applied, isChanged: true)
    }

    private func isOlder(_ happenedAt: Timestamp, _ version: Int64?) -> Bool {
        if let version, let newestVersion, version < newestVersion { return true }
        return happenedAt < newestAt
    }

    private mutating func remember(_ happenedAt: Timestamp, _ version: Int64?) {
        newestAt = max(newestAt, happenedAt)
        if let version { newestVersion = newestVersion.map { max($0, version) } ?? version }
    }

    public func phase(at now: Timestamp, kind: WidgetKind) -> Phase {
        guard !isGone else { return .gone }
        if case .schedule = kind.source { return .fresh }
        guard let shown = entries.lastIndex(where: { $0.date <= now }) else { return .placeholder }
        return shown == entries.count - 1 ? .exhausted : .fresh
    }

    // MARK: Audience

    public func isVisible(to account: String) -> Bool { accounts.isEmpty || accounts.contains(account) }
}

// MARK: What is shown

/// The content of a widget from a date on: one entry of its row.
public struct WidgetMoment: Hashable, Sendable {
    public enum Content: Hashable, Sendable {
        case placeholder
        case content(JSON)
    }

    public var date: Timestamp
    public var content: Content
    /// Out of date from here on.
    public var isStale: Bool

    public init(date: Timestamp, content: Content, isStale: Bool = false) {
        (self.date, self.content, self.isStale) = (date, content, isStale)
    }
}

extension Widget {
    /// The moment that is shown at `now`, and those that follow; never empty, and with rising dates.
    public func moments(at now: Timestamp, kind: WidgetKind) -> [WidgetMoment] {
        switch kind.source {
        case .schedule(let schedule):
            let moments = schedule.entries(at: now).map { WidgetMoment(date: $0.date, content: .content($0.content)) }
            return withPlaceholder(moments, at: now)
        case .pushed:
            let moments = entries.cut(at: now).map { WidgetMoment(date: $0.date, content: .content($0.content)) }
            return markingStale(withPlaceholder(moments, at: now), after: kind.stale).cut(at: now)
        }
    }

    /// As of when the content is told: of a computed one, since it is what it is.
    public func told(by kind: WidgetKind, at now: Timestamp) -> Timestamp {
        kind.isPushed ? asOf ?? createdAt : moments(at: now, kind: kind)[0].date
    }

    private func withPlaceholder(_ moments: [WidgetMoment], at now: Timestamp) -> [WidgetMoment] {
        if let first = moments.first, first.date <= now { return moments }
        // Before the first entry, whatever the clock says it began at.
        let date = min(asOf ?? createdAt, now)
        return [WidgetMoment(date: date, content: .placeholder)] + moments
    }

    /// Staleness is a moment like any other (W26).
    private func markingStale(_ moments: [WidgetMoment], after span: Milliseconds?) -> [WidgetMoment] {
        guard let span, let asOf else { return moments }
        let staleAt = asOf + span
        var marked: [WidgetMoment] = []
        for (index, moment) in moments.enumerated() {
            guard case .content = moment.content else {
                marked.append(moment)
                continue
            }
            let next = index + 1 < moments.count ? moments[index + 1].date : .distantFuture
            if moment.date < staleAt { marked.append(moment) }
            if next > staleAt {
                var stale = moment
                stale.isStale = true
                stale.date = max(moment.date, staleAt)
                marked.append(stale)
            }
        }
        return marked
    }
}

extension [WidgetMoment] {
    fileprivate func cut(at now: Timestamp) -> [WidgetMoment] {
        guard let shown = lastIndex(where: { $0.date <= now }) else { return self }
        return Array(self[shown...])
    }
}

// MARK: Coding

extension Widget {
    /// Appends everything that it is made of.
    public func encode(to writer: inout BinaryWriter) {
        writer.write(configuration)
        writer.write(accounts) { $0.write($1) }
        writer.write(createdAt)
        writer.write(entries) { writer, entry in
            writer.write(entry.date)
            writer.write(entry.content)
            writer.write(entry.relevance) { $0.write($1) }
        }
        switch policy {
        case .atEnd: writer.write(UInt8(1))
        case .never: writer.write(UInt8(2))
        case .after(let date):
            writer.write(UInt8(3))
            writer.write(date)
        }
        writer.write(asOf) { $0.write($1) }
        writer.write(isGone)
        writer.write(UInt8(Phase.allCases.firstIndex(of: committedPhase) ?? 0))
        writer.write(newestVersion) { $0.write($1) }
        writer.write(newestAt)
    }

    /// Reads what ``encode(to:)`` wrote.
    public init(from reader: inout BinaryReader) throws(BinaryError) {
        configuration = try reader.readJSON()
        accounts = try reader.readArray { (reader) throws(BinaryError) in try reader.readString() }
        createdAt = try reader.readTimestamp()
        entries = try reader.readArray { (reader) throws(BinaryError) in
            WidgetEntry(
                date: try reader.readTimestamp(), content: try reader.readJSON(),
                relevance: try reader.readOptional { (reader) throws(BinaryError) in try reader.readJSON() })
        }
        switch try reader.readByte() {
        case 1: policy = .atEnd
        case 2: policy = .never
        case 3: policy = .after(try reader.readTimestamp())
        default: throw reader.failure("unknown policy")
        }
        asOf = try reader.readOptional { (reader) throws(BinaryError) in try reader.readTimestamp() }
        isGone = try reader.readBool()
        let phase = Int(try reader.readByte())
        guard Phase.allCases.indices.contains(phase) else { throw reader.failure("unknown phase") }
        committedPhase = Phase.allCases[phase]
        newestVersion = try reader.readOptional { (reader) throws(BinaryError) in try reader.readInt64() }
        newestAt = try reader.readTimestamp()
    }

    /// Appends the body of a `view=full` row as one object. It is the same for as long as the `rev` is.
    public func writeFullRow(key: Key, kind: WidgetKind, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("kind", String(key.kind))
        writer.member("source", kind.isPushed ? "pushed" : "schedule")
        writer.member("phase", committedPhase.rawValue)
        writer.member("configuration", configuration)
        if let asOf { writer.member("asOf", asOf.milliseconds) }
        if kind.isPushed {
            writer.name("policy")
            switch policy {
            case .atEnd: writer.value("atEnd")
            case .never: writer.value("never")
            case .after(let date):
                writer.beginObject()
                writer.member("after", date.milliseconds)
                writer.endObject()
            }
            writer.name("entries")
            writer.beginArray()
            for entry in entries {
                writer.beginObject()
                writer.member("date", entry.date.milliseconds)
                writer.member("content", entry.content)
                if let relevance = entry.relevance { writer.member("relevance", relevance) }
                writer.endObject()
            }
            writer.endArray()
        }
        if let stale = kind.stale, let asOf { writer.member("staleAt", (asOf + stale).milliseconds) }
        writer.endObject()
    }
}
