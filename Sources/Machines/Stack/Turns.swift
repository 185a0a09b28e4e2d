public import TelltaleModel

/// The value of a function of time at a moment, and later if nothing happens: a screen without a connection turns by itself.
public struct Turns<Look: Hashable & Sendable>: Hashable, Sendable {
    /// The look from a date on.
    public struct Turn: Hashable, Sendable {
        public var date: Timestamp
        public var look: Look
    }

    public var look: Look
    /// With rising dates after that moment, each different from the one before it; at most ``Stack/turnLimit``, and within
    /// ``Stack/foresight``.
    public private(set) var turns: [Turn] = []
    /// From when on more is known; `nil` where these are all turns there will be.
    public var continuesAt: Timestamp?

    /// - Parameters:
    ///   - dates: At which the look may become another one, in any order.
    ///   - look: A pure function of the moment.
    /// - Complexity: O(d) looks, d the dates that are ahead.
    init(at now: Timestamp, dates: Set<Timestamp>, _ look: (Timestamp) -> Look) {
        self.look = look(now)
        var last = self.look
        for date in dates.filter({ now < $0 && $0 < .distantFuture }).sorted() {
            let next = look(date)
            guard next != last else { continue }
            guard date - now <= Stack.foresight else {
                continuesAt = date + Milliseconds(0 - Stack.foresight.count)
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
