internal import CTelltalePrefetch
package import TelltaleModel

/// Asks the processor to load memory that will be read soon. A module of its own, because Swift has no such instruction, and
/// what an app embeds is Swift alone.
extension MemoryAddress {
    private static let lineLength: UInt = 64

    /// Prefetches the cache line of the address.
    package func prefetch() { prefetch_line(bits) }

    /// Prefetches the cache lines of the `byteCount` bytes that begin here.
    package func prefetch(byteCount: Int) {
        if bits == 0 { return }
        let end = bits &+ UInt(truncatingIfNeeded: byteCount)
        var line = bits & ~(Self.lineLength - 1)
        while line < end {
            prefetch_line(line)
            line &+= Self.lineLength
        }
    }
}
