internal import CTelltaleLibuv
internal import Glibc

/// A timer on a loop that is not cut to whole milliseconds, as libuv's own are. Dropping the last reference cancels it.
///
/// Each expiry costs the loop two system calls more than a ``TimerHandle``'s: it is for the one wait, at the end of a
/// turn, that is about as long as a millisecond and is waited for a thousand times a second.
@safe public final class PreciseTimerHandle {
    // Declared first, so closed first: the loop lets go of the descriptor before that is closed.
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
            // Nothing to be read: it was scheduled anew after it had expired.
            guard timer.descriptor.takeExpiry() else { return }
            timer.deadline = nil
            unsafe uv_unref(timer.handle.raw)
            timer.onExpiry()
        }
        try UVError.check(status, attempting: "wait for a precise timer")
        // Until it is scheduled there is nothing to wait for.
        unsafe uv_unref(handle.raw)
    }

    /// Expires once, as soon after `deadline` as the machine can, on the clock of ``EventLoop/monotonicNanoseconds()``.
    ///
    /// Replaces what was scheduled before.
    public func schedule(atMonotonicNanoseconds deadline: Int64) {
        guard self.deadline != deadline else { return }
        self.deadline = deadline
        unsafe uv_ref(handle.raw)
        // 0 would switch it off.
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
        // It refuses nothing but what is no time at all.
        _ = unsafe timerfd_settime(number, CInt(TFD_TIMER_ABSTIME), &value, nil)
    }

    /// Returns whether it had expired.
    func takeExpiry() -> Bool {
        var count: UInt64 = 0
        return unsafe read(number, &count, MemoryLayout.size(ofValue: count)) > 0
    }
}
