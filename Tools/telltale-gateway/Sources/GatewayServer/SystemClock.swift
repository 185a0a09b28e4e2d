internal import Glibc
internal import TelltaleModel

/// The wall-clock time.
enum SystemClock {
    static var now: Timestamp {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    static var seconds: Int64 { now.milliseconds / 1_000 }

    static var millisecondsToWholeSecond: Int64 { 1_000 - now.milliseconds % 1_000 }
}
