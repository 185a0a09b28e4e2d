/// Sessions with output, each once: first those with a pending reply, then those with rows only, and otherwise in the order in
/// which they became ready.
///
/// A slot is in one of two linked lists or in none, so that it can be removed from the middle.
struct ReadyQueue {
    enum Line: UInt8 {
        case none, answers, rows
    }

    /// Small and adjacent numbers: a change queues all followers of its key, and most of thousands of sessions are out of the
    /// cache.
    private struct Place {
        var line = Line.none
        var previous: Int32 = -1
        var next: Int32 = -1
    }

    private struct Ends {
        var first: Int32 = -1
        var last: Int32 = -1
    }

    private var places: [Place] = []
    private var answers = Ends()
    private var rows = Ends()
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    /// Whether a session with a pending reply is queued.
    var hasAnswers: Bool { answers.first >= 0 }

    /// Resets a slot for another session, which is not queued.
    mutating func open(slot: Int32) {
        while places.count <= Int(slot) { places.append(Place()) }
        remove(slot: slot)
    }

    /// Queues the session of a slot at the end of a list. A session queued for rows moves to the list of replies; otherwise a
    /// queued session keeps its place.
    @inline(__always)
    mutating func append(slot: Int32, to line: Line) {
        let former = places[Int(slot)].line
        guard former == .none || former == .rows && line == .answers else { return }
        if former == .rows { remove(slot: slot) }
        if line == .answers { Self.append(slot, .answers, to: &answers, &places) }
        if line == .rows { Self.append(slot, .rows, to: &rows, &places) }
        count += 1
    }

    @inline(__always)
    private static func append(_ slot: Int32, _ line: Line, to ends: inout Ends, _ places: inout [Place]) {
        places[Int(slot)] = Place(line: line, previous: ends.last)
        if ends.last >= 0 { places[Int(ends.last)].next = slot } else { ends.first = slot }
        ends.last = slot
    }

    /// Removes and returns the next slot.
    mutating func popFirst() -> Int32? {
        let slot = hasAnswers ? answers.first : rows.first
        guard slot >= 0 else { return nil }
        remove(slot: slot)
        return slot
    }

    /// Removes a slot whose session has no output left, or is gone.
    mutating func remove(slot: Int32) {
        let place = places[Int(slot)]
        switch place.line {
        case .none: return
        case .answers: Self.remove(place, from: &answers, &places)
        case .rows: Self.remove(place, from: &rows, &places)
        }
        places[Int(slot)] = Place()
        count -= 1
    }

    private static func remove(_ place: Place, from ends: inout Ends, _ places: inout [Place]) {
        if place.previous >= 0 { places[Int(place.previous)].next = place.next } else { ends.first = place.next }
        if place.next >= 0 { places[Int(place.next)].previous = place.previous } else { ends.last = place.previous }
    }
}
