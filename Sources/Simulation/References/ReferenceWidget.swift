import TelltaleModel

/// The model of one widget of posted timelines: the kind `sales` of ``SimulatedWidgets``. All times are in milliseconds.
///
/// It knows which number is shown at any moment, and when that counts as out of date.
struct ReferenceWidget {
    /// The picture of a widget on a device.
    struct Drawn: Hashable {
        /// `nil` = the placeholder.
        var number: String?
        var isStale = false

        /// A view of `null`.
        static let nothing = Drawn(number: "nothing at all")
    }

    /// From a date on, what is drawn and how much it matters.
    struct Entry {
        var date: Int64
        var number: String
        var score: Double?
        /// How long the score counts, in milliseconds; 0 = until the next entry.
        var lasts: Int64 = 0
    }

    private var entries: [Entry] = []
    private var sentAt: Int64?
    private(set) var isThere = false
    /// It was there, and has been taken away.
    private(set) var hasEnded = false
    private var newestVersion: Int64?
    private var newestMoment = Int64.min

    static let usualStaleAfter: Int64 = 20_000
    /// `nil` = its content is never out of date.
    private let staleAfter: Int64?

    init(staleAfter: Int64? = usualStaleAfter) { self.staleAfter = staleAfter }

    /// It is there, and has no content.
    mutating func begin() { isThere = true }

    /// When its content is out of date.
    private var staleAt: Int64? { sentAt.flatMap { reported in staleAfter.map { reported + $0 } } }

    func drawn(at time: Int64) -> Drawn {
        guard let shown = entries.last(where: { $0.date <= time }) else { return Drawn() }
        return Drawn(number: shown.number, isStale: staleAt.map { time >= $0 } ?? false)
    }

    /// How much it matters.
    var relevance: ReferenceRelevance {
        ReferenceRelevance(
            entries: isThere
                ? entries.map { ReferenceRelevance.Entry(date: $0.date, score: $0.score, lasts: $0.lasts) } : [])
    }

    /// The moments at which ``drawn(at:)`` may change.
    var moments: [Int64] { entries.map(\.date) + (staleAt.map { [$0] } ?? []) }

    private func phase(at time: Int64) -> String {
        guard isThere else { return "gone" }
        guard let place = entries.lastIndex(where: { $0.date <= time }) else { return "placeholder" }
        return place == entries.count - 1 ? "exhausted" : "fresh"
    }

    /// - Parameter tail: What the record reports of its event.
    /// - Returns: The fault of the record, if it has one.
    mutating func applyRecord(_ record: HistoryRecord, tail: JSONObject) -> String? {
        let expected: [String]
        switch record.type {
        case "created":
            self = ReferenceWidget()
            isThere = true
            expected = ["applied"]
        case "kind-changed": expected = ["applied"]
        case "pruned":
            guard !isThere else { return "it is forgotten while it is there" }
            self = ReferenceWidget()
            return nil
        case "reload": expected = [isThere ? "noop" : "ignored"]
        case "end":
            expected = [!isThere ? "ignored" : isOld(record, tail) ? "stale" : "applied"]
            if expected == ["applied"] {
                remember(record, tail)
                (isThere, hasEnded, entries) = (false, true, [])
            }
        case "timeline":
            if isOld(record, tail) {
                expected = ["stale"]
            } else {
                // One that comes in the same millisecond may say nothing new.
                expected = sentAt == record.heard && isThere ? ["applied", "noop"] : ["applied"]
                remember(record, tail)
                guard let posted = Self.entries(in: tail) else { return "it takes entries that are none" }
                replace(by: posted, at: record.heard)
            }
        case _: return "a widget has \(record.type)"
        }
        guard expected.contains(record.verdict) else {
            return "\(record.type) is \(record.verdict), and not \(expected.joined(separator: " or "))"
        }
        let phase = phase(at: record.heard)
        return record.state == phase ? nil : "it is \(record.state) after \(record.type), and not \(phase)"
    }

    mutating func replace(by posted: [Entry], at now: Int64) {
        let shown = isThere ? entries.last { $0.date <= now } : nil
        if let place = posted.lastIndex(where: { $0.date <= now }) {
            entries = Array(posted[place...])
        } else {
            // The shown entry stays until the first date.
            entries = (shown.map { [$0] } ?? []) + posted
        }
        (sentAt, isThere, hasEnded) = (now, true, false)
    }

    private func isOld(_ record: HistoryRecord, _ tail: JSONObject) -> Bool {
        if let version = tail["ver"]?.integer, let newestVersion, version < newestVersion { return true }
        return record.happened < newestMoment
    }

    private mutating func remember(_ record: HistoryRecord, _ tail: JSONObject) {
        newestMoment = max(newestMoment, record.happened)
        if let version = tail["ver"]?.integer { newestVersion = max(newestVersion ?? version, version) }
    }

    static func entries(in tail: JSONObject) -> [Entry]? {
        guard case .array(let elements)? = tail["entries"] else { return nil }
        var entries: [Entry] = []
        for element in elements {
            guard let entry = element.object, let date = entry["date"]?.integer,
                let number = entry["content-state"]?.object?["n"]?.string
            else { return nil }
            let relevance = entry["relevance"]?.object
            entries.append(
                Entry(
                    date: date * 1_000, number: number, score: relevance?["score"]?.double,
                    lasts: (relevance?["for"]?.integer ?? 0) * 1_000))
        }
        return entries
    }
}

/// The model of the kind `hours` of ``SimulatedWidgets``, whose content is a matter of the time alone.
struct ReferenceSchedule {
    /// After how long it begins again, since when it counts, and the slots in each period, with their numbers; rising.
    private let period: Int64
    private let origin: Int64
    private let slots: [(start: Int64, number: String)]

    private static let day: Int64 = 86_400_000

    /// - Parameter isWeekly: Its slots are days apart.
    init(isWeekly: Bool) {
        guard isWeekly else {
            (period, origin) = (Self.day, 0)
            let numbers = SimulatedWidgets.firstSlot..<SimulatedWidgets.firstSlot + SimulatedWidgets.slotCount
            slots = numbers.map { ($0 * 120_000, "\($0)") }
            return
        }
        // 1970-01-01 was a Thursday, and a week begins on Monday.
        (period, origin) = (7 * Self.day, -3 * Self.day)
        let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
        slots = SimulatedWidgets.weeklySlots.enumerated().map { index, slot in
            (Int64(days.firstIndex(of: slot.day) ?? 0) * Self.day + slot.minute * 60_000, "\(index)")
        }
    }

    func drawn(at time: Int64) -> ReferenceWidget.Drawn {
        let past = (time - origin) % period
        // Before the first of a period, it is the last one of the period before.
        return ReferenceWidget.Drawn(number: (slots.last { $0.start <= past } ?? slots[slots.count - 1]).number)
    }

    /// The moments in `range` at which ``drawn(at:)`` changes.
    func moments(in range: ClosedRange<Int64>) -> [Int64] {
        let first = range.lowerBound - (range.lowerBound - origin) % period
        return stride(from: first, through: range.upperBound, by: Int(period)).flatMap { start in
            slots.map { start + $0.start }
        }
        .filter(range.contains)
    }
}
