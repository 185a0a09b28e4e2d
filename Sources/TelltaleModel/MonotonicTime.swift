/// A moment of a clock that never jumps and never goes back: heartbeats, time-outs, rates and the pace go by it.
///
/// Its origin means nothing; only differences do. Arithmetic saturates.
public struct MonotonicTime: Hashable, Comparable, Sendable {
    public let nanoseconds: Int64

    @inlinable
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    public init(milliseconds: Int64) {
        nanoseconds = Self.product(milliseconds, 1_000_000)
    }

    /// The last moment that can be represented.
    public static let distantFuture = MonotonicTime(nanoseconds: .max)
    /// The first moment that can be represented.
    public static let distantPast = MonotonicTime(nanoseconds: .min)

    /// Whole milliseconds, rounded down.
    public var milliseconds: Int64 {
        let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return remainder < 0 ? quotient - 1 : quotient
    }

    @inlinable
    public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool { left.nanoseconds < right.nanoseconds }

    public static func + (time: MonotonicTime, span: Milliseconds) -> MonotonicTime {
        MonotonicTime(nanoseconds: sum(time.nanoseconds, product(span.count, 1_000_000)))
    }

    public static func + (time: MonotonicTime, span: Duration) -> MonotonicTime {
        MonotonicTime(nanoseconds: sum(time.nanoseconds, span.wholeNanoseconds))
    }

    public static func - (time: MonotonicTime, other: MonotonicTime) -> Duration {
        let (difference, overflow) = time.nanoseconds.subtractingReportingOverflow(other.nanoseconds)
        guard overflow else { return .nanoseconds(difference) }
        return .nanoseconds(time > other ? Int64.max : .min)
    }

    /// How many whole milliseconds have passed since `other`, rounded down.
    public func milliseconds(since other: MonotonicTime) -> Milliseconds {
        let (difference, overflow) = nanoseconds.subtractingReportingOverflow(other.nanoseconds)
        guard overflow else { return Milliseconds(MonotonicTime(nanoseconds: difference).milliseconds) }
        return Milliseconds(self > other ? .max : .min)
    }

    private static func product(_ count: Int64, _ factor: Int64) -> Int64 {
        let (product, overflow) = count.multipliedReportingOverflow(by: factor)
        return overflow ? (count < 0 ? .min : .max) : product
    }

    private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? (right < 0 ? .min : .max) : sum
    }
}

extension Duration {
    /// Saturates.
    fileprivate var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, isOver) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return isOver ? (seconds < 0 ? .min : .max) : sum
    }
}
