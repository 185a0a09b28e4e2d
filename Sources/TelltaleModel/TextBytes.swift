/// Texts by their bytes. Swift's own `==` and `<` go by canonical equivalence, by which two different byte strings can be
/// one name; and comparing through `utf8` costs a call a byte.
extension String {
    /// Whether both hold the same bytes.
    @inlinable
    public func hasSameBytes(as other: String) -> Bool {
        // Same bytes are always equal to `==`, which knows quicker than anyone that two texts differ.
        guard self == other else { return false }
        let (left, right) = (utf8.span, other.utf8.span)
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }

    /// Whether the bytes come before those of `other`, unsigned, the shorter first where one begins the other.
    @inlinable
    public func precedesInBytes(_ other: String) -> Bool {
        utf8.span.precedes(other.utf8.span)
    }
}

extension Span<UInt8> {
    /// Whether they come before `other`, unsigned, the shorter first where one begins the other.
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
