internal import CTelltalePrefetch

/// A place in memory that somebody will look at soon. The processor can be asked for it early, and that is all: what was
/// there may be gone by then, which costs a useless request and no more.
@usableFromInline
package struct MemoryAddress: Sendable {
    @usableFromInline let bits: UInt

    @usableFromInline
    init(bits: UInt) {
        self.bits = bits
    }

    /// No place at all.
    @inlinable
    package static var none: MemoryAddress { MemoryAddress(bits: 0) }

    /// Does not count as holding on to the object.
    @inlinable @inline(__always)
    package init(of object: some AnyObject) {
        bits = unsafe UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
    }

    private static let lineLength: UInt = 64

    /// Asks the processor for the line that it is in.
    package func prefetch() { prefetch_line(bits) }

    /// Asks the processor for the lines of `byteCount` bytes from here on.
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

extension Array {
    /// Where the element at `index` is, if there is one.
    @inlinable
    package func address(at index: Int) -> MemoryAddress {
        unsafe withUnsafeBufferPointer { buffer in
            let start = UInt(bitPattern: buffer.baseAddress)
            return MemoryAddress(bits: start &+ UInt(bitPattern: index &* MemoryLayout<Element>.stride))
        }
    }
}
