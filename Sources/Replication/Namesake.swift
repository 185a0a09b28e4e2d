import TelltaleModel

/// Detects another process with the name of this node, by its beats.
struct Namesake: Hashable, Sendable {
    /// What a beat with this name says about the other process.
    enum Word: Hashable, Sendable {
        /// It does not prove that the other process runs.
        case none
        case runs
        /// It runs, and has sent more beats: this process is the later one. With equal counts, the higher instance
        /// counts as the later.
        case isEarlier
    }

    private var process = RunningProcess()

    /// A beat with this node's name arrived from another process.
    ///
    /// - Parameters:
    ///   - beatCount: Of this process.
    ///   - instance: Of this process.
    ///   - span: The least time between two beats of a running process.
    mutating func heard(
        _ beat: Beat, beatCount: Int64, instance: UInt64, apart span: Milliseconds, at now: MonotonicTime
    ) -> Word {
        guard process.isProven(by: beat, apart: span, at: now) else { return .none }
        return (beat.number, instance) > (beatCount, beat.instance) ? .isEarlier : .runs
    }
}
