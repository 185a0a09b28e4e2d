/// Sessions that have something to send, each of them once: first those that are owed an answer, then those that are owed rows alone,
/// and else in the order in which they came to have it.
///
/// A slot stands in one of two lines, or in none; each names the one before and the one behind it, so that it can leave a line from
/// its middle.
struct ReadyQueue {
    enum Line: UInt8 {
        case none, answers, rows
    }

    /// In small numbers, beside each other: a change asks for the line of everybody who follows its key, and of thousands of sessions
    /// most are long out of the cache.
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
    /// Whether a session stands there that is owed an answer.
    var hasAnswers: Bool { answers.first >= 0 }

    /// Another session has the slot from now on, and it does not stand here.
    mutating func open(slot: Int32) {
        while places.count <= Int(slot) { places.append(Place()) }
        remove(slot: slot)
    }

    /// Lets the session of a slot wait at the end of a line. One that waits for rows moves into the line of answers; else one that
    /// waits keeps its place.
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

    /// Takes the slot whose turn it is.
    mutating func popFirst() -> Int32? {
        let slot = hasAnswers ? answers.first : rows.first
        guard slot >= 0 else { return nil }
        remove(slot: slot)
        return slot
    }

    /// The session of a slot has nothing to send any more, or is gone.
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
