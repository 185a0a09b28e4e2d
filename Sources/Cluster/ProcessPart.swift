/// The part of connection numbers by which the servers of a cluster's processes are told apart: 31 bits that follow from the
/// process's instance. Two have the same part with a chance of one in two billions.
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
