/// A point in time on the wall clock: milliseconds since 1970-01-01T00:00:00Z.
///
/// Arithmetic saturates, so that no number from the wire can trap.
public struct Timestamp: Hashable, Comparable, Sendable {
    public let milliseconds: Int64

    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The date of an APNs payload: Unix seconds, fractions allowed, rounded to the nearest millisecond.
    ///
    /// `nil` beyond ±(2^53 − 1) milliseconds, which is the range that a row can represent.
    public init?(seconds: Double) {
        self.init(exactMilliseconds: (seconds * 1000).rounded())
    }

    /// A whole number of milliseconds; `nil` for a fraction, and beyond ±(2^53 − 1).
    public init?(exactMilliseconds number: Double) {
        guard let milliseconds = Int64(exactly: number), milliseconds.magnitude <= JSON.integerLimit.magnitude else {
            return nil
        }
        self.milliseconds = milliseconds
    }

    public static let distantPast = Timestamp(milliseconds: .min)
    public static let distantFuture = Timestamp(milliseconds: .max)

    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    /// The point `span` later. Saturates at ``distantPast`` and ``distantFuture``.
    public static func + (time: Timestamp, span: Milliseconds) -> Timestamp {
        let (sum, overflow) = time.milliseconds.addingReportingOverflow(span.count)
        guard overflow else { return Timestamp(milliseconds: sum) }
        return span.count > 0 ? .distantFuture : .distantPast
    }

    /// The span from `other` to `time`, negative if `other` is later. Saturates.
    public static func - (time: Timestamp, other: Timestamp) -> Milliseconds {
        let (difference, overflow) = time.milliseconds.subtractingReportingOverflow(other.milliseconds)
        guard overflow else { return Milliseconds(difference) }
        return Milliseconds(time > other ? .max : .min)
    }
}

/// A span of time in whole milliseconds, the resolution of every deadline and date on the wire.
public struct Milliseconds: Hashable, Comparable, Sendable {
    public let count: Int64

    public init(_ count: Int64) {
        self.count = count
    }

    public static let zero = Milliseconds(0)

    public static func seconds(_ count: Int64) -> Milliseconds { Milliseconds(count).multiplied(by: 1000) }
    public static func minutes(_ count: Int64) -> Milliseconds { .seconds(count).multiplied(by: 60) }
    public static func hours(_ count: Int64) -> Milliseconds { .minutes(count).multiplied(by: 60) }
    public static func days(_ count: Int64) -> Milliseconds { .hours(count).multiplied(by: 24) }

    public static func < (left: Milliseconds, right: Milliseconds) -> Bool { left.count < right.count }

    /// The sum; saturates.
    public static func + (left: Milliseconds, right: Milliseconds) -> Milliseconds {
        let (sum, overflow) = left.count.addingReportingOverflow(right.count)
        return overflow ? Milliseconds(right.count < 0 ? .min : .max) : Milliseconds(sum)
    }

    /// The difference; saturates.
    public static func - (left: Milliseconds, right: Milliseconds) -> Milliseconds {
        let (difference, overflow) = left.count.subtractingReportingOverflow(right.count)
        return overflow ? Milliseconds(right.count < 0 ? .max : .min) : Milliseconds(difference)
    }

    /// The product; saturates.
    public func multiplied(by factor: Int64) -> Milliseconds {
        let (product, overflow) = count.multipliedReportingOverflow(by: factor)
        guard overflow else { return Milliseconds(product) }
        return Milliseconds((count < 0) == (factor < 0) ? .max : .min)
    }
}
