/// The part of connection numbers by which the processes of a cluster are told apart: 31 bits of the process's instance.
///
/// Two processes have the same part with a chance of one in two billions. One that hears of it before it serves draws another;
/// one that serves keeps its part, because its numbers are in records by then.
struct ProcessPart: Sendable {
    /// Never 0, which is the part of a server without a cluster.
    private(set) var value: UInt32
    private var instance: UInt64
    private var isInUse = false

    init(instance: UInt64) {
        self.instance = instance
        value = Self.part(of: instance)
    }

    private static func part(of instance: UInt64) -> UInt32 {
        max(1, UInt32(truncatingIfNeeded: instance) & 0x7FFF_FFFF)
    }

    /// Another process is there; an instance of 0 is not known.
    mutating func heard(_ other: UInt64) {
        guard !isInUse, other != 0, Self.part(of: other) == value else { return }
        // Of the whole instance, by which the two differ.
        instance = (instance ^ instance >> 31) &* 0x9E37_79B9_7F4A_7C15
        value = Self.part(of: instance >> 32)
    }

    /// The part, which stays from now on.
    mutating func use() -> UInt32 {
        isInUse = true
        return value
    }
}
