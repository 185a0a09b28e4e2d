internal import TelltaleModel

extension Dialogue {
    /// A read of the log under way.
    struct Reading {
        /// Counts the reads: an answer of another one means nothing.
        var number: Int64
        /// It was asked for, and is answered even where there is nothing.
        var isAsked: Bool
        /// Everything up to here is told or is not asked for.
        var from: Int64
        var messages: [[UInt8]] = []
        var byteCount = 0
        var hasTold = false
        var end: Int64 = 0
        var deadline: MonotonicTime
    }
}
