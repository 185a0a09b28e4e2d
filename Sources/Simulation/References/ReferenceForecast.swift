import TelltaleModel

/// The model of one widget that is asked for: the kind `weather` of ``SimulatedWidgets``. All times are in milliseconds.
///
/// It knows what was answered to which refresh, and when the next refresh is due (rules W10 to W16).
struct ReferenceForecast {
    /// Two refreshes begin so far apart.
    static let floor: Int64 = 30_000
    /// How long a provider may take.
    static let timeout: Int64 = 8_000
    private static let pauses: [Int64] = [5_000, 15_000, 60_000, 300_000]

    private(set) var widget = ReferenceWidget(staleAfter: nil)
    /// Asks that no answer came to in time.
    private(set) var timedOut: [String] = []
    /// Its place in the minute behind a policy's date.
    private let spread: Int64
    private var isServed = false
    private var flight: (operation: String, begun: Int64)?
    private var plan: Int64?
    private var behind: Int64?
    private var refreshedAt: Int64?
    private var failureCount = 0

    init(key: String) {
        spread = Int64(StableHash.of(Array(key.utf8).span) % 60) * 1_000
    }

    /// - Parameter tail: What the record reports of its event.
    /// - Returns: The fault of the record, if it has one.
    mutating func applyRecord(_ record: HistoryRecord, tail: JSONObject) -> String? {
        let now = record.heard
        switch record.type {
        case "created":
            widget.begin()
            plan = now
        case "provider-came": provider(isThere: true, now)
        case "provider-left", "restarted": provider(isThere: false, now)
        case "asked":
            if let flight { return "it is asked again while \(flight.operation) is under way" }
            guard isServed else { return "nobody is there, and it is asked" }
            guard plan == record.happened else {
                return "it is asked as of \(record.happened), and that is due at \(plan.map { "\($0)" } ?? "no time")"
            }
            (flight, plan, refreshedAt) = (("o\(record.sequence)", now), nil, now)
        case "reload": return reload(record, now)
        case "failed":
            guard record.operation == flight?.operation else { return expect("ignored", record) }
            failed(now)
        case "deadline":
            guard let flight else { return "nothing is under way, and it is given up" }
            timedOut.append(flight.operation)
            failed(now)
        case "timeline": return answered(record, tail, now)
        case _: return "a widget that is asked for has \(record.type)"
        }
        return expect("applied", record)
    }

    private func expect(_ verdict: String, _ record: HistoryRecord) -> String? {
        record.verdict == verdict ? nil : "\(record.type) is \(record.verdict), and not \(verdict)"
    }

    private mutating func provider(isThere: Bool, _ now: Int64) {
        isServed = isThere
        guard flight != nil else { return }
        (flight, plan, behind) = (nil, min(now, behind ?? now), nil)
    }

    private mutating func reload(_ record: HistoryRecord, _ now: Int64) -> String? {
        let wish = max(now, refreshedAt.map { $0 + Self.floor } ?? now)
        guard flight == nil else {
            behind = min(wish, behind ?? wish)
            return expect("deferred", record)
        }
        plan = min(wish, plan ?? wish)
        return expect(isServed && plan ?? .max <= now ? "applied" : "deferred", record)
    }

    private mutating func failed(_ now: Int64) {
        let pause = Self.pauses[min(failureCount, Self.pauses.count - 1)]
        failureCount += 1
        (flight, plan, behind) = (nil, min(now + pause, behind ?? .max), nil)
    }

    private mutating func answered(_ record: HistoryRecord, _ tail: JSONObject, _ now: Int64) -> String? {
        guard let flight, record.operation == flight.operation else { return expect("ignored", record) }
        guard let entries = ReferenceWidget.entries(in: tail), let last = entries.last else {
            return "it takes entries that are none"
        }
        if let other = entries.first(where: { !$0.number.hasPrefix(flight.operation + ".") }) {
            return "the answer to \(flight.operation) is \(other.number)"
        }
        widget.replace(by: entries, at: now)
        (self.flight, failureCount) = (nil, 0)
        let earliest = (refreshedAt ?? 0) + Self.floor
        switch tail["policy"] {
        case "never"?: plan = nil
        case .object(let policy)?: plan = max((policy["after"]?.integer ?? 0) * 1_000 + spread, earliest)
        case _: plan = max(last.date + spread, earliest)
        }
        if let behind { plan = min(behind, plan ?? .max) }
        behind = nil
        // An answer may say what is shown.
        return record.verdict == "noop" ? nil : expect("applied", record)
    }

    /// The fault of one that has come to rest, if it has one.
    func fault(atRest now: Int64) -> String? {
        let latitude: Int64 = 5_000
        if let flight, flight.begun + Self.timeout + latitude < now {
            return "still waits for the answer to \(flight.operation), after \(now - flight.begun) ms"
        }
        if isServed, flight == nil, let plan, plan + latitude < now { return "was to be asked \(now - plan) ms ago" }
        return nil
    }
}
