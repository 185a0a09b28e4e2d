/// Makes the connection numbers of each server of a cluster unique. A number contains 31 bits of this; they are derived from the
/// instance of the process. Two servers have the same bits with a chance of one in two billions.
struct ProcessPart: Sendable {
    private var state: UInt64

    init(instance: UInt64) { state = instance }

    /// The part of the next server of this process, which counts its connections from 1 again. Never 0, which is the part of a
    /// server without a cluster.
    mutating func next() -> UInt32 {
        let part = max(1, UInt32(truncatingIfNeeded: state) & 0x7FFF_FFFF)
        state = (state ^ state >> 31) &* 0x9E37_79B9_7F4A_7C15
        state ^= state >> 32
        return part
    }
}
