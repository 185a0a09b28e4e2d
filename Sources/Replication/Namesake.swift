import TelltaleModel

/// Another process that has the name of this node, as its beats tell.
///
/// A beat of a life before of this node may still be on its way, or stand where beats are kept. Only one that follows another by
/// a time tells a process that runs.
struct Namesake: Hashable, Sendable {
    /// A beat of this name, to this process.
    enum Word: Hashable, Sendable {
        /// Nothing that proves that it runs.
        case none
        case runs
        /// It runs, and has beaten more often than this process: this one is the later.
        case isEarlier
    }

    private var instance: UInt64 = 0
    private var number: Int64 = 0
    /// When its first beat was heard.
    private var since = MonotonicTime.distantPast

    /// A beat of this node's name, of another process.
    ///
    /// - Parameters:
    ///   - beatCount: Of this process.
    ///   - span: Beats of a process that runs are at least so far apart.
    mutating func heard(_ beat: Beat, beatCount: Int64, apart span: Milliseconds, at now: MonotonicTime) -> Word {
        guard beat.instance == instance else {
            (instance, number, since) = (beat.instance, beat.number, now)
            return .none
        }
        guard beat.number > number, now.milliseconds(since: since) >= span else { return .none }
        number = beat.number
        return beat.number > beatCount ? .isEarlier : .runs
    }
}
