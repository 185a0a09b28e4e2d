/// A first-in, first-out queue of event numbers that lives for one step.
///
/// Removed events are skipped, not moved: a step has few, and ends soon.
struct EventQueue {
    private var events: [Int] = []
    private var start = 0

    mutating func append(_ event: Int) { events.append(event) }

    mutating func popFirst() -> Int? {
        guard start < events.count else { return nil }
        defer { start += 1 }
        return events[start]
    }

    mutating func removeAll() {
        events = []
        start = 0
    }
}
