/// The timers of an instance, by deadline; equal deadlines in the order in which they were armed.
///
/// The first timer is stored inline. Few instances ever have more, and an ordinary step arms and cancels one.
struct TimerList: Hashable, Sendable, RandomAccessCollection {
    typealias Timer = MachineInstance.Timer

    // `nil` only if `more` is empty as well, so that equal lists are equal values.
    private var head: Timer?
    private var more: [Timer] = []

    init() {}

    /// - Parameter timers: Sorted by deadline.
    init(sorted timers: [Timer]) {
        for timer in timers { insert(timer, at: count) }
    }

    var startIndex: Int { 0 }
    var endIndex: Int { head == nil ? 0 : more.count + 1 }

    subscript(position: Int) -> Timer {
        if position == 0, let head { return head }
        return more[position - 1]
    }

    /// Inserts a timer after every timer that is due at the same time or earlier.
    mutating func insert(_ timer: Timer) {
        insert(timer, at: firstIndex { $0.deadline > timer.deadline } ?? count)
    }

    private mutating func insert(_ timer: Timer, at position: Int) {
        guard position == 0 else { return more.insert(timer, at: position - 1) }
        if let head { more.insert(head, at: 0) }
        head = timer
    }

    mutating func removeFirst() {
        head = more.isEmpty ? nil : more.removeFirst()
    }

    mutating func removeAll() {
        self = TimerList()
    }

    mutating func removeAll(where isRemoved: (Timer) -> Bool) {
        var rest = TimerList()
        for timer in self where !isRemoved(timer) { rest.insert(timer, at: rest.count) }
        self = rest
    }
}
