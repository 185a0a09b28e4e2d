internal import TelltaleModel

extension Dialogue {
    /// A pending read of the log.
    struct Reading {
        /// The number of the read. Answers to earlier ones are ignored.
        var number: Int64
        /// Whether the caller requested it. Then it gets an answer even if there is nothing to read.
        var isAsked: Bool
        /// Everything up to this position was reported or not requested.
        var from: Int64
        var messages: [[UInt8]] = []
        var byteCount = 0
        var hasReported = false
        var end: Int64 = 0
        var deadline: MonotonicTime
    }
}
