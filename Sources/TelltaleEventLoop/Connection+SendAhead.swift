internal import CTelltaleLibuv
internal import Glibc

/// The limit of the bytes that the system accepts ahead of the peer's reading.
///
/// A row in the system's send buffer cannot be replaced by a newer row. By itself the buffer grows to megabytes, which are
/// seconds of old rows for a reader on a slow link. The buffer is therefore limited to the amount that the path carries in
/// one round trip, and the connection counts as writable only while few of its bytes are unsent.
extension Connection {
    /// The number of unsent bytes above which the system accepts no more (`TCP_NOTSENT_LOWAT`).
    private static let unsentByteLimit: CInt = 16_384
    /// The smallest send buffer, in bytes of content; the system doubles it for its overhead. 0.3 s on 1 Mbit/s.
    private static let smallestSendBuffer: CInt = 32_768
    /// A receiver acknowledges every second segment immediately, and a single one after 40 ms. On loopback a segment
    /// has up to 64 KiB, so a buffer of less than some of them would make a connection wait for that.
    private static let smallestSegmentCount: CInt = 4
    /// The send buffer of a Unix socket. It holds all unread bytes, and each write counts with the system's overhead.
    private static let unixSendBuffer: CInt = 65_536
    /// The largest. The system may allow less (`net.core.wmem_max`).
    private static let largestSendBuffer: CInt = 4_194_304

    /// Starts to limit it, for a connection that was just accepted.
    func boundSendAhead() {
        // A Unix socket has no such option.
        guard set(TCP_NOTSENT_LOWAT, Self.unsentByteLimit) else { return setSendBuffer(Self.unixSendBuffer) }
        setSendBuffer(smallestSendBuffer)
        _ = set(TCP_KEEPINTVL, Self.keepAliveIntervalSeconds)
        _ = set(TCP_KEEPCNT, Self.keepAliveProbeCount)
    }

    /// Fits the send buffer to the path after a write has waited: to the amount that the path delivers in a round trip
    /// without queues.
    ///
    /// A path that the buffer holds up delivers a full one each round trip, so the buffer doubles until the path itself is
    /// the limit. A queue on the way lengthens the round trips, but not the shortest, so it gives no room.
    func fitSendBuffer() {
        guard sendBuffer > 0, let path = PathMeasure(of: descriptor) else { return }
        let fitting = min(
            max(path.byteCountPerRoundTrip, UInt64(smallestSendBuffer)), UInt64(Self.largestSendBuffer))
        // Small changes are not worth a system call.
        guard fitting > UInt64(sendBuffer) / 4 * 5 || fitting < UInt64(sendBuffer) / 2 else { return }
        setSendBuffer(CInt(fitting))
    }

    private var smallestSendBuffer: CInt {
        var segment: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        _ = unsafe getsockopt(descriptor, CInt(IPPROTO_TCP), TCP_MAXSEG, &segment, &size)
        return min(max(Self.smallestSendBuffer, segment &* Self.smallestSegmentCount), Self.largestSendBuffer)
    }

    private func setSendBuffer(_ byteCount: CInt) {
        var byteCount = byteCount
        let size = socklen_t(MemoryLayout<CInt>.size)
        guard unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &byteCount, size) == 0 else { return }
        sendBuffer = byteCount
    }

    private func set(_ option: CInt, _ value: CInt) -> Bool {
        var value = value
        let size = socklen_t(MemoryLayout<CInt>.size)
        return unsafe setsockopt(descriptor, CInt(IPPROTO_TCP), option, &value, size) == 0
    }

    /// The interval between unanswered probes: after ``keepAliveSeconds`` and five of these, a dead peer is detected.
    private static let keepAliveIntervalSeconds: CInt = 15
    private static let keepAliveProbeCount: CInt = 5
}

/// The system's measurements of a TCP connection's path.
private struct PathMeasure {
    /// The rate of delivery over the shortest round trip.
    let byteCountPerRoundTrip: UInt64

    /// `nil` if nothing was measured yet, or this is not TCP.
    init?(of descriptor: CInt) {
        var info = [UInt8](repeating: 0, count: Self.byteCount)
        var length = socklen_t(Self.byteCount)
        let status = unsafe info.withUnsafeMutableBytes {
            unsafe getsockopt(descriptor, CInt(IPPROTO_TCP), TCP_INFO, $0.baseAddress, &length)
        }
        guard status == 0, length >= Self.byteCount else { return nil }
        let (microseconds, rate) = unsafe info.withUnsafeBytes {
            unsafe (
                $0.load(fromByteOffset: Self.shortestRoundTripOffset, as: UInt32.self),
                $0.load(fromByteOffset: Self.deliveryRateOffset, as: UInt64.self)
            )
        }
        guard microseconds > 0, microseconds < .max, rate > 0 else { return nil }
        byteCountPerRoundTrip =
            rate.multipliedFullWidth(by: UInt64(microseconds)).high == 0
            ? rate * UInt64(microseconds) / 1_000_000 : .max
    }

    // Offsets in `struct tcp_info` of <linux/tcp.h>, which only grows at its end. The C library's version lacks some
    // members.
    private static let shortestRoundTripOffset = 148
    private static let deliveryRateOffset = 160
    private static let byteCount = 168
}
