internal import CTelltaleLibuv
internal import Glibc

/// A timer with a resolution below a millisecond, which libuv's own timers do not have. Releasing the last reference
/// cancels it.
///
/// Each expiry costs two more system calls than that of a ``TimerHandle``. It is meant for the wait at the end of a
/// turn, which is about a millisecond long.
@safe public final class PreciseTimerHandle {
    // Declared first, so closed first: the loop stops using the descriptor before it is closed.
    private let handle: OwnedHandle
    private let descriptor: TimerDescriptor
    private let onExpiry: () -> Void
    private var deadline: Int64?

    public init(on loop: EventLoop, onExpiry: @escaping () -> Void) throws(UVError) {
        let descriptor = try TimerDescriptor()
        handle = try OwnedHandle(on: loop, attempting: "make a precise timer") { loop, raw in
            unsafe uv_poll_init(loop, raw, descriptor.number)
        }
        self.descriptor = descriptor
        self.onExpiry = onExpiry
        handle.setOwner(self)
        let status = unsafe uv_poll_start(handle.pointer(as: uv_poll_t.self), CInt(UV_READABLE.rawValue)) { raw, _, _ in
            guard let timer = unsafe owner(of: raw, as: PreciseTimerHandle.self) else { return }
            // There is nothing to read if the timer was scheduled again after its expiry.
            guard timer.descriptor.takeExpiry() else { return }
            timer.deadline = nil
            unsafe uv_unref(timer.handle.raw)
            timer.onExpiry()
        }
        try UVError.check(status, attempting: "wait for a precise timer")
        // Until it is scheduled, it must not keep the loop running.
        unsafe uv_unref(handle.raw)
    }

    /// Schedules one expiry at or soon after `deadline`, in nanoseconds of ``EventLoop/monotonicNanoseconds()``.
    ///
    /// Replaces an earlier schedule.
    public func schedule(atMonotonicNanoseconds deadline: Int64) {
        guard self.deadline != deadline else { return }
        self.deadline = deadline
        unsafe uv_ref(handle.raw)
        // A value of 0 would disarm the timer.
        descriptor.arm(at: max(1, deadline))
    }

    public var isScheduled: Bool { deadline != nil }
}

private final class TimerDescriptor {
    let number: CInt

    init() throws(UVError) {
        number = timerfd_create(CLOCK_MONOTONIC, CInt(TFD_NONBLOCK | TFD_CLOEXEC))
        try UVError.check(number < 0 ? -errno : 0, attempting: "make a precise timer")
    }

    deinit {
        Glibc.close(number)
    }

    func arm(at deadline: Int64) {
        var value = itimerspec()
        (value.it_value.tv_sec, value.it_value.tv_nsec) = (Int(deadline / 1_000_000_000), Int(deadline % 1_000_000_000))
        // This fails only for an invalid time.
        _ = unsafe timerfd_settime(number, CInt(TFD_TIMER_ABSTIME), &value, nil)
    }

    /// Returns whether the timer has expired, and resets that.
    func takeExpiry() -> Bool {
        var count: UInt64 = 0
        return unsafe read(number, &count, MemoryLayout.size(ofValue: count)) > 0
    }
}
