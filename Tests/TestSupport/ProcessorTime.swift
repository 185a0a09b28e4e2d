internal import Glibc

/// The time that the calling thread computes for `body`: what other threads and processes do meanwhile does not count.
public func processorTime(of body: () -> Void) -> Duration {
    let start = threadTime
    body()
    return threadTime - start
}

private var threadTime: Duration {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
