internal import CTelltaleLibuv
internal import Glibc

/// A libuv loop: it waits for sockets, timers and messages from other threads, and calls back.
///
/// A loop belongs to the thread that made it and that runs it; only the sender of a ``Mailbox`` is `Sendable`. Every
/// handle on a loop retains the loop.
@safe public final class EventLoop {
    let raw: UnsafeMutablePointer<uv_loop_t>
    /// The read buffer of all connections of this loop. Each callback uses it exclusively and retains nothing of it.
    let readBuffer: UnsafeMutableBufferPointer<CChar>
    /// Ciphertext to send, used during one write.
    let cipherBuffer: UnsafeMutableBufferPointer<UInt8>

    /// The largest number of bytes of one data callback.
    public static let readBufferByteCount = 65_536
    /// The size of ``cipherBuffer``: a flush of 64 KiB, and the overhead of its TLS records.
    private static let cipherBufferByteCount = 65_536 + 1_024

    /// Makes a loop, and makes the process ignore SIGPIPE, so that a write to a closed peer returns an error.
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
        unsafe cipherBuffer = .allocate(capacity: Self.cipherBufferByteCount)
    }

    deinit {
        // Open handles retain the loop, so only closing ones can be left. This runs their close callbacks.
        unsafe uv_run(raw, UV_RUN_DEFAULT)
        let status = unsafe uv_loop_close(raw)
        unsafe readBuffer.deallocate()
        unsafe cipherBuffer.deallocate()
        // If a handle were left all the same, libuv would still use this memory, so it is leaked.
        if status == 0 { unsafe raw.deallocate() }
    }

    public enum RunMode: Sendable {
        /// Until ``EventLoop/stop()``, or until there is nothing to wait for.
        case untilStopped
        /// One turn, which waits for an event.
        case once
        /// One turn, without waiting.
        case withoutWaiting
    }

    /// Runs on the calling thread. Returns whether there is something left to wait for.
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

    /// Makes ``run(_:)`` return at the end of this turn. Other threads ask for it through a ``Mailbox``.
    public func stop() {
        unsafe uv_stop(raw)
    }

    /// Closes every connection and runs until each has reported its end.
    ///
    /// An open connection keeps itself and its loop alive, so a loop with open connections would never be freed.
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

    /// A monotonic clock in milliseconds from an arbitrary start, for timeouts.
    public var monotonicMilliseconds: Int64 { Self.monotonicMilliseconds() }

    public static func monotonicMilliseconds() -> Int64 { Int64(uv_hrtime() / 1_000_000) }

    /// The same clock in nanoseconds, for ``PreciseTimerHandle``.
    public static func monotonicNanoseconds() -> Int64 { Int64(clamping: uv_hrtime()) }

    /// As ``monotonicMilliseconds()``, but the clock also advances while the machine is suspended.
    public static func sleeplessMilliseconds() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// ``monotonicMilliseconds`` at the beginning of this turn, to which ``TimerHandle`` refers.
    var turnMilliseconds: Int64 { unsafe Int64(clamping: uv_now(raw)) }

    /// Milliseconds since 1970-01-01T00:00:00Z by the system's clock, which may jump. For dates that people see.
    public static func wallClockMilliseconds() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
