internal import CTelltaleLibuv
internal import Glibc

/// A libuv loop: it waits for sockets, timers and other threads, and calls back.
///
/// A loop belongs to the thread that made it and runs it; nothing here is `Sendable` but what ``Mailbox`` hands out.
/// Everything that lives on a loop keeps the loop alive.
@safe public final class EventLoop {
    let raw: UnsafeMutablePointer<uv_loop_t>
    /// Where every connection of this loop reads into: one callback at a time has it, and nobody keeps it.
    let readBuffer: UnsafeMutableBufferPointer<CChar>

    /// The most bytes that one data callback is given.
    public static let readBufferByteCount = 65_536

    /// Makes a loop, and makes the process ignore SIGPIPE: a write to a peer that left is an error number, not a death.
    public init() throws(UVError) {
        signal(SIGPIPE, SIG_IGN)
        let raw = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
        let status = unsafe uv_loop_init(raw)
        guard status == 0 else {
            unsafe raw.deallocate()
            throw UVError(.init(rawValue: status), attempting: "make an event loop")
        }
        unsafe self.raw = raw
        unsafe readBuffer = .allocate(capacity: Self.readBufferByteCount)
    }

    deinit {
        // Only handles that are closing can be left, since open ones hold the loop: this runs their close callbacks.
        unsafe uv_run(raw, UV_RUN_DEFAULT)
        let status = unsafe uv_loop_close(raw)
        unsafe readBuffer.deallocate()
        // Should a handle be left after all, libuv still points into this memory: better to leak it.
        if status == 0 { unsafe raw.deallocate() }
    }

    public enum RunMode: Sendable {
        /// Until ``EventLoop/stop()``, or until nothing is left to wait for.
        case untilStopped
        /// One turn, waiting for something to happen.
        case once
        /// One turn, without waiting.
        case withoutWaiting
    }

    /// Runs on the calling thread. Returns whether something is left to wait for.
    @discardableResult
    public func run(_ mode: RunMode = .untilStopped) -> Bool {
        let mode =
            switch mode {
            case .untilStopped: UV_RUN_DEFAULT
            case .once: UV_RUN_ONCE
            case .withoutWaiting: UV_RUN_NOWAIT
            }
        return unsafe uv_run(raw, mode) != 0
    }

    /// Makes ``run(_:)`` return at the end of this turn. From another thread: ask through a ``Mailbox``.
    public func stop() {
        unsafe uv_stop(raw)
    }

    /// Closes every connection, and runs until each has told so.
    ///
    /// An open connection keeps itself alive, so a loop that is given up with connections open would never be freed.
    public func shutDown() {
        unsafe uv_walk(raw, { handle, _ in unsafe connection(of: handle)?.close() }, nil)
        while unsafe uv_run(raw, UV_RUN_NOWAIT) != 0, hasConnections {}
    }

    private var hasConnections: Bool {
        var found = false
        unsafe withUnsafeMutablePointer(to: &found) { found in
            unsafe uv_walk(
                raw,
                { handle, found in
                    guard unsafe uv_is_closing(handle) != 0 else { return }
                    unsafe found?.assumingMemoryBound(to: Bool.self).pointee = true
                }, found)
        }
        return found
    }

    /// A clock that never jumps, in milliseconds from an arbitrary beginning. For every timeout.
    public var monotonicMilliseconds: Int64 { Self.monotonicMilliseconds() }

    public static func monotonicMilliseconds() -> Int64 { Int64(uv_hrtime() / 1_000_000) }

    /// The same clock, in nanoseconds. For what is over sooner than a millisecond, as ``PreciseTimerHandle`` is.
    public static func monotonicNanoseconds() -> Int64 { Int64(clamping: uv_hrtime()) }

    /// The same, and it goes on while the machine sleeps.
    public static func sleeplessMilliseconds() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// The clock that ``TimerHandle`` is measured by: ``monotonicMilliseconds`` as of the beginning of this turn.
    var turnMilliseconds: Int64 { unsafe Int64(clamping: uv_now(raw)) }

    /// Milliseconds since 1970-01-01T00:00:00Z, as the system believes; it may jump. For dates that people see.
    public static func wallClockMilliseconds() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
