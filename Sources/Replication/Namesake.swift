import TelltaleModel

/// Another process that has the name of this node, as its beats tell.
struct Namesake: Hashable, Sendable {
    /// A beat of this name, to this process.
    enum Word: Hashable, Sendable {
        /// Nothing that proves that it runs.
        case none
        case runs
        /// It runs, and has beaten more often than this process: this one is the later. Of two with
        /// equally many beats, the one with the higher instance counts as the later.
        case isEarlier
    }

    private var process = RunningProcess()

    /// A beat of this node's name, of another process.
    ///
    /// - Parameters:
    ///   - beatCount: Of this process.
    ///   - instance: Of this process.
    ///   - span: Beats of a process that runs are at least so far apart.
    mutating func heard(
        _ beat: Beat, beatCount: Int64, instance: UInt64, apart span: Milliseconds, at now: MonotonicTime
    ) -> Word {
        guard process.isProven(by: beat, apart: span, at: now) else { return .none }
        return (beat.number, instance) > (beatCount, beat.instance) ? .isEarlier : .runs
    }
}
