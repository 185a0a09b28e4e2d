/// An address in memory that will be read soon, so that the processor can be asked to load it early. The memory may be
/// freed in the meantime: the request is then useless, and harmless.
@usableFromInline
package struct MemoryAddress: Sendable {
    @usableFromInline package let bits: UInt

    @usableFromInline
    init(bits: UInt) {
        self.bits = bits
    }

    /// The null address.
    @inlinable
    package static var none: MemoryAddress { MemoryAddress(bits: 0) }

    /// The address of an object, which is not retained.
    @inlinable @inline(__always)
    package init(of object: some AnyObject) {
        bits = unsafe UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
    }
}

extension Array {
    /// The address of the element at `index`; the null address if there is none.
    @inlinable
    package func address(at index: Int) -> MemoryAddress {
        unsafe withUnsafeBufferPointer { buffer in
            let start = UInt(bitPattern: buffer.baseAddress)
            return MemoryAddress(bits: start &+ UInt(bitPattern: index &* MemoryLayout<Element>.stride))
        }
    }
}
