public import TelltaleModel

/// How many pushes of priority 10 a device accepts: a token bucket that fills in an hour.
///
/// Apple publishes no figures; these are from experience.
public struct PushBudget: Hashable, Sendable {
    /// Pushes an hour.
    public static let standard: Int64 = 20
    /// With frequent updates.
    public static let frequent: Int64 = 250

    private var left: Int64
    private let size: Int64
    private var filled: Timestamp
    private static let hour: Int64 = 3_600_000

    /// A full bucket.
    public init(isFrequent: Bool, at now: Timestamp) {
        size = isFrequent ? Self.frequent : Self.standard
        left = size * Self.hour
        filled = now
    }

    /// Counts one push.
    ///
    /// - Returns: Whether there was room for it.
    public mutating func spend(at now: Timestamp) -> Bool {
        refill(at: now)
        guard left >= Self.hour else { return false }
        left -= Self.hour
        return true
    }

    private mutating func refill(at now: Timestamp) {
        let span = min(max(0, (now - filled).count), Self.hour)
        left = min(size * Self.hour, left + span * size)
        filled = max(filled, now)
    }

    /// Whether it is full again and need not be stored.
    public mutating func isFull(at now: Timestamp) -> Bool {
        refill(at: now)
        return left == size * Self.hour
    }

    // MARK: Coding

    var isFrequent: Bool { size == Self.frequent }

    func write(to writer: inout BinaryWriter) {
        writer.write(isFrequent)
        writer.write(left)
        writer.write(filled)
    }

    init(from reader: inout BinaryReader) throws(BinaryError) {
        size = try reader.readBool() ? Self.frequent : Self.standard
        left = try reader.readInt64()
        guard (0...size * Self.hour).contains(left) else { throw reader.failure("no such budget") }
        filled = try reader.readTimestamp()
    }
}
