/// Comparison of texts by their bytes. Swift's own `==` and `<` use canonical equivalence, which treats different byte
/// strings as one name; comparison through `utf8` costs a call a byte.
extension String {
    /// Whether both hold the same bytes.
    @inlinable
    public func hasSameBytes(as other: String) -> Bool {
        // Equal bytes are always equal to `==`, which is the fastest way to see that two texts differ.
        guard self == other else { return false }
        let (left, right) = (utf8.span, other.utf8.span)
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }

    /// Whether the bytes sort before those of `other`: unsigned, and a prefix before the longer text.
    @inlinable
    public func precedesInBytes(_ other: String) -> Bool {
        utf8.span.precedes(other.utf8.span)
    }
}

extension Span<UInt8> {
    /// Whether the bytes sort before `other`: unsigned, and a prefix before the longer one.
    @inlinable
    func precedes(_ other: Span<UInt8>) -> Bool {
        let count = Swift.min(self.count, other.count)
        var index = 0
        while index < count {
            if self[index] != other[index] { return self[index] < other[index] }
            index += 1
        }
        return self.count < other.count
    }
}
