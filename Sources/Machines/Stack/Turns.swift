public import TelltaleModel

/// The value of a function of time at a moment, and its changes if nothing happens, so that a screen without a connection can
/// turn by itself.
public struct Turns<Look: Hashable & Sendable>: Hashable, Sendable {
    /// The value from a date on.
    public struct Turn: Hashable, Sendable {
        public var date: Timestamp
        public var look: Look
    }

    public var look: Look
    /// In ascending order of dates after that moment, each different from the previous one; at most ``Stack/turnLimit``, and
    /// within ``Stack/predictionSpan``.
    public private(set) var turns: [Turn] = []
    /// When more turns are known; `nil` if these are all.
    public var continuesAt: Timestamp?

    /// - Parameters:
    ///   - dates: The dates at which the value may change, in any order.
    ///   - look: A pure function of the moment.
    /// - Complexity: O(d) calls of `look`, d = the number of future dates.
    init(at now: Timestamp, dates: Set<Timestamp>, _ style: (Timestamp) -> Look) {
        self.look = style(now)
        var last = self.look
        for date in dates.filter({ now < $0 && $0 < .distantFuture }).sorted() {
            let next = style(date)
            guard next != last else { continue }
            guard date - now <= Stack.predictionSpan else {
                continuesAt = date + Milliseconds(0 - Stack.predictionSpan.count)
                break
            }
            guard turns.count < Stack.turnLimit else {
                continuesAt = turns.last?.date
                break
            }
            turns.append(Turn(date: date, look: next))
            last = next
        }
    }
}
