/// A point in time as people mean it: milliseconds since 1970-01-01T00:00:00Z.
///
/// Arithmetic saturates, so a number from the wire can never trap.
public struct Timestamp: Hashable, Comparable, Sendable {
    public let milliseconds: Int64

    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The date of an APNs payload: Unix seconds, fractions allowed, rounded to the nearest millisecond.
    ///
    /// `nil` unless a row can say it: within ±(2^53 − 1) milliseconds, some 285,000 years.
    public init?(seconds: Double) {
        self.init(exactMilliseconds: (seconds * 1000).rounded())
    }

    /// A whole number of milliseconds; `nil` for any other, and beyond ±(2^53 − 1).
    public init?(exactMilliseconds number: Double) {
        guard let milliseconds = Int64(exactly: number), milliseconds.magnitude <= JSON.integerLimit.magnitude else {
            return nil
        }
        self.milliseconds = milliseconds
    }

    public static let distantPast = Timestamp(milliseconds: .min)
    public static let distantFuture = Timestamp(milliseconds: .max)

    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    /// The point `span` later, or the end of time.
    public static func + (time: Timestamp, span: Milliseconds) -> Timestamp {
        let (sum, overflow) = time.milliseconds.addingReportingOverflow(span.count)
        guard overflow else { return Timestamp(milliseconds: sum) }
        return span.count > 0 ? .distantFuture : .distantPast
    }

    /// How much later `self` is than `other`; saturates.
    public static func - (time: Timestamp, other: Timestamp) -> Milliseconds {
        let (difference, overflow) = time.milliseconds.subtractingReportingOverflow(other.milliseconds)
        guard overflow else { return Milliseconds(difference) }
        return Milliseconds(time > other ? .max : .min)
    }
}

/// A span of time in whole milliseconds: the grain of every deadline and every date on the wire.
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

    /// Saturates.
    public func multiplied(by factor: Int64) -> Milliseconds {
        let (product, overflow) = count.multipliedReportingOverflow(by: factor)
        guard overflow else { return Milliseconds(product) }
        return Milliseconds((count < 0) == (factor < 0) ? .max : .min)
    }
}
