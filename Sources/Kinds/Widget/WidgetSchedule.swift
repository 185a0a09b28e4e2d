public import TelltaleModel

/// Content by the time of day and the day of the week, in a fixed offset from UTC (Protocols/Widgets/README.md).
///
/// A pure function of time: the content at a moment is that of the newest slot that has begun.
public struct WidgetSchedule: Sendable {
    public struct Slot: Sendable {
        /// Minutes since midnight, 0 to 1,439.
        public let minute: Int64
        /// For each day of the week, Monday first, whether the slot is on it.
        public let days: [Bool]
        /// An object.
        public let content: JSON

        init(minute: Int64, days: [Bool], content: JSON) {
            (self.minute, self.days, self.content) = (minute, days, content)
        }
    }

    /// In ascending order of minutes.
    public let slots: [Slot]
    /// Minutes east of UTC.
    public let offset: Int64

    static let slotLimit = 64
    static let dayNames = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    /// How far ahead entries are known.
    public static let horizon = Milliseconds.hours(24)

    init(slots: [Slot], offset: Int64) {
        self.slots = slots.sorted { $0.minute < $1.minute }
        self.offset = offset
    }

    /// The slot shown at `now`, and the following ones within ``horizon``, each with its date, in ascending order.
    ///
    /// - Returns: Empty for a schedule without slots.
    public func entries(at now: Timestamp) -> [(date: Timestamp, content: JSON)] {
        dated(around: now, days: 1, through: now + Self.horizon)
    }

    /// When more than ``entries(at:)`` is known: at the last of their dates. If only the current slot is known, it is when the
    /// next one comes within ``horizon``. Always after `now`.
    ///
    /// - Returns: `nil` for a schedule without slots.
    public func moreKnown(after now: Timestamp) -> Timestamp? {
        if let last = entries(at: now).last, last.date > now { return last.date }
        // A slot comes every week.
        return dated(around: now, days: 8, through: now + .days(8)).first { $0.date > now }.map {
            $0.date + Milliseconds(0 - Self.horizon.count)
        }
    }

    /// - Parameters:
    ///   - days: How many days after today are examined.
    ///   - end: The newest date.
    private func dated(
        around now: Timestamp, days: Int64, through end: Timestamp
    ) -> [(date: Timestamp, content: JSON)] {
        // Dates beyond any calendar are clamped, so that no sum overflows.
        let bound: Int64 = 1 << 53
        let local = min(max(now.milliseconds, -bound), bound) + offset * 60_000
        let today = CivilDate.floorDivide(local, 86_400_000)
        var entries: [(date: Timestamp, content: JSON)] = []
        // A week back, because a slot may be on a single day.
        for day in today - 7...today + days {
            // 1970-01-01 was a Thursday.
            let weekday = Int(((day + 3) % 7 + 7) % 7)
            for slot in slots where slot.days[weekday] {
                let date = Timestamp(milliseconds: day * 86_400_000 + slot.minute * 60_000 - offset * 60_000)
                if date <= now {
                    entries = [(date, slot.content)]
                } else if date <= end {
                    entries.append((date, slot.content))
                }
            }
        }
        return entries
    }
}
