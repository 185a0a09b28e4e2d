import CFanOut
import Glibc
import Histogram

/// One publisher and any number of subscribers in one thread, which costs less than the servers that it measures.
///
/// The safe face of `CFanOut`: it owns the load, and lends its arrays for the length of a call.
@safe final class FanOutLoad {
    /// Subscriber `i` follows the keys `(i * each + j) % keys`, for `j` below `each`.
    struct Shape {
        var subscribers: Int
        var keys = 1
        var each = 1

        /// How many subscribers an event reaches.
        var followers: Int { subscribers * each / keys }

        /// Every key has as many followers as every other.
        var isEven: Bool { subscribers > 0 && keys > 0 && each > 0 && each <= keys && subscribers * each % keys == 0 }

        func keys(of subscriber: Int) -> [Int] {
            (0..<each).map { (subscriber * each + $0) % keys }
        }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    typealias Counts = fanout_counts

    let shape: Shape
    private let raw: OpaquePointer

    /// - Parameter tlsPort: Subscribers speak TLS to this port; `nil` = they speak in plain to `port`.
    init(port: UInt16, tlsPort: UInt16? = nil, _ shape: Shape) throws {
        self.shape = shape
        unsafe raw = fanout_make(port, CInt(shape.subscribers), CInt(shape.keys), CInt(shape.each))
        if let tlsPort { try check(unsafe fanout_encrypt(raw, tlsPort), "begin TLS") }
    }

    deinit {
        unsafe fanout_free(raw)
    }

    // MARK: Connections

    /// Connects the publisher with the opening that the server wants, and sets its message.
    func connectPublisher(opening: [UInt8], readiness: [UInt8], message: FanOutMessage) throws {
        let status = unsafe fanout_connect_publisher(raw, opening, opening.count, readiness, readiness.count)
        try check(status, "connect the publisher")
        unsafe fanout_message(
            raw, message.bytes, message.bytes.count, message.keyPosition, message.numberPosition)
    }

    /// - Parameters:
    ///   - opening: The first bytes of a subscriber.
    ///   - readiness: The answer of the server, which comes `times` over when it has accepted the opening.
    ///   - isLine: Whether the line of the last answer must be complete.
    func prepareSubscribers(readiness: [UInt8], times: Int, isLine: Bool = false, opening: (Int) -> [UInt8]) {
        unsafe fanout_readiness(raw, readiness, readiness.count, CInt(times), isLine ? 1 : 0)
        for subscriber in 0..<shape.subscribers {
            let bytes = opening(subscriber)
            unsafe fanout_opening(raw, CInt(subscriber), bytes, bytes.count)
        }
    }

    /// Lets a subscriber connect to another server, which has the same events.
    ///
    /// - Parameter group: The ``latency(of:)`` that its deliveries join, below ``groupLimit``.
    func place(_ subscriber: Int, at port: UInt16, group: Int) {
        unsafe fanout_place(raw, CInt(subscriber), port, CInt(group))
    }

    static var groupLimit: Int { Int(FANOUT_GROUPS) }

    /// Connects all subscribers and waits until each is ready.
    ///
    /// - Parameter atOnce: How many may be on their way at one time.
    /// - Returns: How long it took, in nanoseconds.
    @discardableResult
    func connect(atOnce: Int = 256, seconds: Double = 60) throws -> Int64 {
        let status = unsafe fanout_connect(raw, CInt(clamping: atOnce), Int64(seconds * 1e9))
        try check(status, "connect \(shape.subscribers) subscribers (\(readyCount) are ready)")
        return unsafe fanout_connect_time(raw)
    }

    /// Breaks the connections of all subscribers at once.
    func disconnect() {
        unsafe fanout_disconnect(raw)
    }

    /// Handshakes that used a session ticket.
    var resumedCount: Int { unsafe Int(fanout_resumed_count(raw)) }
    var readyCount: Int { unsafe Int(fanout_ready_count(raw)) }
    /// Subscribers that have the newest event of each key that they follow.
    var currentCount: Int { unsafe Int(fanout_current_count(raw)) }
    /// Subscribers whose system keeps ACKs back for something to send with them.
    var reluctantCount: Int { unsafe Int(fanout_reluctant_count(raw)) }

    func keepTranscripts() {
        unsafe fanout_keep_transcripts(raw)
    }

    /// The input of a subscriber before it was ready.
    func transcript(of subscriber: Int) -> [UInt8] {
        var count = 0
        guard let bytes = unsafe fanout_transcript(raw, CInt(subscriber), &count) else { return [] }
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    // MARK: Events

    /// Sends events as fast as they are taken, and waits until the server has answered each with a line.
    func post(_ count: Int) throws {
        try check(unsafe fanout_post(raw, UInt64(count)), "post \(count) events")
    }

    /// Publishes from now on.
    ///
    /// - Parameters:
    ///   - rate: Events a second, at times that wait for no delivery; `nil`: as fast as possible, with `window`
    /// undelivered.
    func publish(rate: Double?, window: Int) {
        unsafe fanout_rate(raw, rate ?? 0, CInt(clamping: window))
    }

    func hold() {
        unsafe fanout_hold(raw)
    }

    /// Latencies of events from now on are noted.
    func beginCounting() {
        unsafe fanout_begin_counting(raw)
    }

    /// Goes on for some time, or until all subscribers have all events.
    func run(seconds: Double, untilCurrent: Bool = false) throws {
        let end = fanout_now() + Int64(seconds * 1e9)
        try check(unsafe fanout_run(raw, end, untilCurrent ? 1 : 0), "go on")
    }

    var counts: Counts { unsafe fanout_counted(raw) }

    /// In nanoseconds, from the intended time of an event to its arrival.
    var latency: Histogram<UInt64> { latency(of: 0) }

    /// The same, of the subscribers of a group.
    func latency(of group: Int) -> Histogram<UInt64> {
        var histogram = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
        guard let buckets = unsafe fanout_latencies(raw, CInt(group)) else { return histogram }
        for bucket in 0..<FANOUT_BUCKETS {
            let count = unsafe buckets[bucket]
            if count > 0 { histogram.record(fanout_bucket_value(CInt(bucket)), count: count) }
        }
        return histogram
    }

    private func check(_ status: CInt, _ attempt: String) throws {
        guard status != 0 else { return }
        let reason =
            status == ECONNRESET ? "the server closed a connection" : unsafe String(cString: strerror(status))
        throw Failure(description: "could not \(attempt): \(reason)")
    }
}

/// Where the two sides of a measurement run.
enum Processors {
    private static let count = Int(fanout_cpu_count())

    /// The server's, while the load has another one; `nil` on a machine with one.
    static var server: Int? { count > 1 ? 0 : nil }

    /// Lets other threads of the load's processor go first.
    static func giveWay() { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19) }

    /// Binds this thread to the load's processor.
    static func takeLoadProcessor() {
        if count > 1 { _ = fanout_pin(1) }
    }
}
