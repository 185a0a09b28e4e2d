import TelltaleModel

// The row of a widget or of a tile as a device draws it at a moment, by what it reports of later ones.
extension JSONObject {
    /// With the `view` of that moment in the place of the entries, and with the turns that have come; other rows as they are.
    ///
    /// - Parameter key: Of the row.
    func drawn(as key: String, at now: Int64) -> JSONObject {
        guard let entries = self["entries"]?.array else { return self }
        var drawn = self
        func newest(_ list: [JSON]) -> JSON? { list.last { ($0["date"]?.integer ?? .max) <= now } }
        let entry = newest(entries) ?? entries.first
        for name in ["view", "stale", "placeholder"] { drawn[name] = entry?[name] }
        if let turn = newest(self["turns"]?.array ?? []) { drawn["top"] = .bool(turn["key"]?.string == key) }
        if let moved = newest(self["orders"]?.array ?? []) { drawn["order"] = moved["order"] }
        for name in ["entries", "turns", "orders", "asOf", "more"] { drawn[name] = nil }
        return drawn
    }

    /// Whether another entry, tile or number comes in these moments.
    func isTurning(around range: ClosedRange<Int64>) -> Bool {
        ["entries", "turns", "orders"].contains { name in
            (self[name]?.array ?? []).contains { range.contains($0["date"]?.integer ?? 0) }
        }
    }
}
