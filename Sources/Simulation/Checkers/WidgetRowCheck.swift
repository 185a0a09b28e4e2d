import TelltaleModel

/// The row of a widget as a device draws it: without asking anybody, for as long as its entries last.
struct WidgetRowCheck {
    struct Entry {
        var date: Int64
        var drawn: ReferenceWidget.Drawn
        var view: JSONObject
    }

    let body: JSONObject
    let entries: [Entry]

    init?(_ text: [UInt8]) {
        guard let body = (try? JSONParser().parse(text.span))?.object, case .array(let elements)? = body["entries"]
        else {
            return nil
        }
        var entries: [Entry] = []
        for element in elements {
            guard let entry = element.object, let date = entry["date"]?.integer else { return nil }
            if entry["view"] == .null {
                entries.append(Entry(date: date, drawn: .nothing, view: [:]))
                continue
            }
            guard let view = entry["view"]?.object else { return nil }
            let text = view["title"]?.string ?? view["text"]?.string
            let number = entry["placeholder"]?.bool == true ? nil : text
            entries.append(
                Entry(date: date, drawn: .init(number: number, isStale: entry["stale"]?.bool == true), view: view))
        }
        guard !entries.isEmpty else { return nil }
        (self.body, self.entries) = (body, entries)
    }

    /// The entry that is drawn at a moment; before all of them the first.
    func entry(at time: Int64) -> Entry { entries.last { $0.date <= time } ?? entries[0] }

    /// Whether what is drawn changes, or may be out of date, around a moment.
    func isTurning(around range: ClosedRange<Int64>) -> Bool { entries.contains { range.contains($0.date) } }

    /// The members that a new row of the same commit has too.
    var lasting: JSONObject {
        var lasting = body
        for name in ["entries", "asOf", "more"] { lasting[name] = nil }
        return lasting
    }

    /// The fault of the row of `key`, if it has one: at every moment that it covers, it draws what is to be drawn.
    ///
    /// - Parameters:
    ///   - ahead: How many later entries were asked for.
    ///   - reference: What is to be drawn at a moment.
    ///   - moments: Moments at which that may change.
    func fault(
        ahead: Int, reference: (Int64) -> ReferenceWidget.Drawn, moments: (ClosedRange<Int64>) -> [Int64]
    ) -> String? {
        if entries.count > ahead + 1 { return "has \(entries.count) entries, and \(ahead) later ones were asked for" }
        for (entry, next) in zip(entries, entries.dropFirst()) where entry.date >= next.date {
            return "has an entry of \(next.date) behind one of \(entry.date)"
        }
        let (first, last) = (entries[0].date, entries[entries.count - 1].date)
        // A row with fewer entries than were asked for reports all that is known.
        let isWhole = entries.count <= ahead && body["more"] == nil
        let end = isWhole ? last + 86_400_000 : last
        for time in moments(first...end) + entries.map(\.date) where (first...end).contains(time) {
            let (drawn, due) = (entry(at: time).drawn, reference(time))
            if drawn != due { return "draws \(Self.text(drawn)) at \(time), where it is \(Self.text(due))" }
        }
        return nil
    }

    private static func text(_ drawn: ReferenceWidget.Drawn) -> String {
        (drawn.number ?? "a placeholder") + (drawn.isStale ? ", out of date" : "")
    }
}

/// The widgets of a run, by the records that became durable.
struct WidgetHistory {
    private(set) var current: [String: ReferenceWidget] = [:]
    private(set) var forecasts: [String: ReferenceForecast] = [:]
    /// Cards, and whether they are there.
    private(set) var cards: [String: Bool] = [:]
    private var queue = ReferenceQueue()
    private var foreseen: [ObservationLog.KeyRev: [(date: Int64, drawn: ReferenceWidget.Drawn)]] = [:]
    private var byCommit: [ObservationLog.KeyRev: ReferenceWidget] = [:]
    private let hours: ReferenceSchedule

    init(hours: ReferenceSchedule) { self.hours = hours }

    /// - Returns: The fault of a record, if it has one.
    mutating func applyRecord(_ record: HistoryRecord, of key: String, tail: JSONObject) -> String? {
        if key == SimulatedWidgets.queue, record.type == "created" { queue.begin(record.sequence) }
        if key.hasPrefix("weather/") {
            var forecast = forecasts[key] ?? ReferenceForecast(key: key)
            let fault = forecast.applyRecord(record, tail: tail)
            (forecasts[key], current[key]) = (forecast, forecast.widget)
            if record.rev == record.sequence { byCommit[.init(key: key, rev: record.rev)] = forecast.widget }
            return fault
        }
        guard SimulatedWidgets.isPosted(key) else { return nil }
        var widget = current[key] ?? ReferenceWidget()
        // A widget whose kind is gone is forgotten as it is.
        let isForgotten = key == SimulatedWidgets.trip && record.type == "pruned"
        let fault = isForgotten ? nil : widget.applyRecord(record, tail: tail)
        if isForgotten { widget = ReferenceWidget() }
        current[key] = widget
        if record.rev == record.sequence { byCommit[.init(key: key, rev: record.rev)] = widget }
        return fault
    }

    /// Takes a record about an order. An event that changes its row changes its card, and a deadline does not.
    mutating func applyRecord(_ record: HistoryRecord, ofOrder key: String, _ order: ReferenceOrder) {
        queue.enqueueRecord(record, key, order)
        let card = SimulatedWidgets.card(ofOrder: key)
        let wasThere = cards[card] == true
        cards[card] = order.isOnCard
        guard order.isOnCard, record.rev == record.sequence, record.type != "deadline" || !wasThere else { return }
        foreseen[.init(key: card, rev: record.rev)] = order.foreseen
    }

    /// The fault of a row of a tile, which shows the newest state of a widget.
    func fault(ofTile row: WidgetRowCheck, on widget: String, ahead: Int) -> String? {
        if widget == SimulatedWidgets.queue {
            let values = queue.current
            return row.fault(ahead: ahead, reference: values.drawn) { _ in values.moments }
        }
        if widget.hasPrefix("hours/") { return fault(of: row, key: widget, rev: 0, ahead: ahead) }
        let reference = current[widget] ?? ReferenceWidget()
        return row.fault(ahead: ahead, reference: reference.drawn) { _ in reference.moments }
    }

    /// The fault of a row that a client was sent.
    func fault(of row: WidgetRowCheck, key: String, rev: Int64, ahead: Int) -> String? {
        if SimulatedWidgets.isCard(key) {
            guard let moments = foreseen[.init(key: key, rev: rev)] else {
                return "has rev \(rev), which no event gave it"
            }
            return row.fault(
                ahead: ahead, reference: { time in (moments.last { $0.date <= time } ?? moments[0]).drawn },
                moments: { _ in moments.map(\.date) })
        }
        if key == SimulatedWidgets.queue {
            guard let values = queue.values(at: rev) else { return "has rev \(rev), which changed no value" }
            return row.fault(ahead: ahead, reference: values.drawn) { _ in values.moments }
        }
        if key.hasPrefix("hours/") {
            return row.fault(ahead: ahead, reference: hours.drawn) { range in
                // A schedule goes on for ever: as far as the row goes.
                hours.moments(in: range.lowerBound...(row.entries.last?.date ?? range.lowerBound))
            }
        }
        guard let widget = byCommit[.init(key: key, rev: rev)] else { return "has rev \(rev), which no commit gave it" }
        return row.fault(ahead: ahead, reference: widget.drawn) { _ in widget.moments }
    }
}
