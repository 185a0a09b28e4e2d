internal import CTelltaleLibuv

/// A timer on a loop. Releasing the last reference cancels it.
@safe public final class TimerHandle {
    private let handle: OwnedHandle
    private let onExpiry: (TimerHandle) -> Void
    private var isExpiring = false

    /// - Parameter onExpiry: Called with the timer, so that it need not capture it and create a cycle.
    public init(on loop: EventLoop, onExpiry: @escaping (TimerHandle) -> Void) throws(UVError) {
        handle = try unsafe OwnedHandle(on: loop, attempting: "make a timer", uv_timer_init)
        self.onExpiry = onExpiry
        handle.setOwner(self)
    }

    /// Schedules one expiry at the first turn at or after `deadline`, in milliseconds of
    /// ``EventLoop/monotonicMilliseconds``.
    ///
    /// Replaces an earlier schedule.
    public func schedule(atMonotonicMilliseconds deadline: Int64) {
        let (delay, overflow) = deadline.subtractingReportingOverflow(handle.loop.turnMilliseconds)
        start(delay: overflow ? (deadline < 0 ? 0 : .max) : delay, interval: 0)
    }

    /// Schedules one expiry `milliseconds` from now, not from the beginning of the turn.
    public func schedule(afterMilliseconds milliseconds: Int64) {
        let (deadline, overflow) = handle.loop.monotonicMilliseconds.addingReportingOverflow(max(0, milliseconds))
        schedule(atMonotonicMilliseconds: overflow ? .max : deadline)
    }

    /// Expires every `milliseconds` (at least 1) until ``cancel()``.
    public func scheduleRepeating(everyMilliseconds milliseconds: Int64) {
        let interval = max(1, milliseconds)
        start(delay: interval, interval: interval)
    }

    public func cancel() {
        unsafe uv_timer_stop(handle.pointer(as: uv_timer_t.self))
    }

    public var isScheduled: Bool { unsafe uv_is_active(handle.raw) != 0 }

    private func start(delay: Int64, interval: Int64) {
        // A timer that is scheduled for now within its own expiry would expire again in the same turn, without end:
        // libuv 1.44 runs timers until none is due.
        let delay = max(isExpiring ? 1 : 0, delay)
        // libuv adds the delay to its clock in unsigned 64 bits and saturates.
        unsafe uv_timer_start(
            handle.pointer(as: uv_timer_t.self),
            { raw in
                guard let timer = unsafe owner(of: raw, as: TimerHandle.self) else { return }
                timer.isExpiring = true
                timer.onExpiry(timer)
                timer.isExpiring = false
            }, UInt64(delay), UInt64(interval))
    }
}
