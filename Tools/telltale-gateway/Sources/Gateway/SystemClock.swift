internal import Glibc
public import TelltaleModel

/// The wall-clock time.
public enum SystemClock {
    public static var now: Timestamp {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    public static var seconds: Int64 { now.milliseconds / 1_000 }

    public static var millisecondsToWholeSecond: Int64 { 1_000 - now.milliseconds % 1_000 }
}
