/// A growable byte buffer for lines, rows and records, which are written in many small pieces.
///
/// An `Array` checks for unique ownership at every append. This type is noncopyable, so it is always unique. ``array``
/// returns an exact-size copy for storage.
@safe public struct ByteBuffer: ~Copyable, @unchecked Sendable {
    // `capacity` bytes, of which the first `count` are initialized. They are freed in `deinit` and wherever the pointer
    // is replaced; no pointer leaves this file.
    private var start: UnsafeMutablePointer<UInt8>
    /// The number of bytes that fit before the buffer must grow.
    public private(set) var capacity: Int
    public private(set) var count = 0

    /// The largest capacity that is kept from one use to the next, in bytes. A single long answer must not retain its
    /// memory for ever.
    public static let keptCapacity = 1 << 20
    public static let usualCapacity = 256

    /// - Parameter capacity: The number of bytes that fit before the buffer must grow; at least 1.
    public init(capacity: Int = Self.usualCapacity) {
        self.capacity = max(capacity, 1)
        unsafe start = .allocate(capacity: self.capacity)
    }

    deinit {
        unsafe start.deallocate()
    }

    public var isEmpty: Bool { count == 0 }

    /// A copy of the bytes in an array of exactly their size.
    public var array: [UInt8] { bytes(from: 0) }

    /// A copy of the bytes from offset `position` on.
    public func bytes(from position: Int) -> [UInt8] {
        precondition(position >= 0 && position <= count, "out of bounds")
        return unsafe Array(UnsafeBufferPointer(start: start + position, count: count - position))
    }

    /// Returns the bytes and empties the buffer.
    public mutating func take() -> [UInt8] {
        defer { beginAnew() }
        return array
    }

    /// Appends the bytes to `bytes` and empties the buffer.
    public mutating func move(to bytes: inout [UInt8]) {
        unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
        beginAnew()
    }

    /// The byte at offset `position`.
    public subscript(position: Int) -> UInt8 {
        get {
            precondition(position >= 0 && position < count, "out of bounds")
            return unsafe start[position]
        }
        set {
            precondition(position >= 0 && position < count, "out of bounds")
            unsafe start[position] = newValue
        }
    }

    public mutating func append(_ byte: UInt8) {
        if count == capacity { grow(by: 1) }
        unsafe start[count] = byte
        count += 1
    }

    public mutating func append(copying bytes: Span<UInt8>) {
        if bytes.count > capacity - count { grow(by: bytes.count) }
        unsafe bytes.withUnsafeBufferPointer { source in
            guard let from = source.baseAddress else { return }
            unsafe (start + count).initialize(from: from, count: source.count)
        }
        count += bytes.count
    }

    /// Appends the count of `bytes` as ``append(leb128:)`` encodes it, then `bytes`.
    public mutating func append(counted bytes: Span<UInt8>) {
        // Nearly every text is shorter than 128 bytes: one length byte, and one check of the capacity for both.
        guard bytes.count < 0x80 else {
            append(leb128: UInt64(bytes.count))
            return append(copying: bytes)
        }
        if bytes.count >= capacity - count { grow(by: bytes.count + 1) }
        unsafe start[count] = UInt8(truncatingIfNeeded: bytes.count)
        unsafe bytes.withUnsafeBufferPointer { source in
            guard let from = source.baseAddress else { return }
            unsafe (start + count + 1).initialize(from: from, count: source.count)
        }
        count += bytes.count + 1
    }

    public mutating func append(_ bytes: [UInt8]) { append(copying: bytes.span) }

    public mutating func append(_ text: String) { append(copying: text.utf8.span) }

    /// Appends the UTF-8 of a literal.
    public mutating func append(_ literal: StaticString) {
        literal.withUTF8Buffer { unsafe append(copying: $0.span) }
    }

    /// Appends a whole number in ASCII digits.
    public mutating func append(decimal value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        var length = 1
        var limit: UInt64 = 10
        // No magnitude has more than 19 digits, so the limit does not overflow.
        while rest >= limit, length < 19 {
            length += 1
            limit *= 10
        }
        if length > capacity - count { grow(by: length) }
        var position = count + length
        count = position
        for _ in 0..<length {
            position -= 1
            unsafe start[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    /// Appends an unsigned LEB128: seven bits a byte, lowest first; every byte but the last has the highest bit set.
    public mutating func append(leb128 value: UInt64) {
        // 64 bits take at most ten bytes.
        if capacity - count < 10 { grow(by: 10) }
        var rest = value
        while rest >= 0x80 {
            unsafe start[count] = UInt8(truncatingIfNeeded: rest) | 0x80
            count &+= 1
            rest >>= 7
        }
        unsafe start[count] = UInt8(truncatingIfNeeded: rest)
        count &+= 1
    }

    /// Appends the lowest `digits` hexadecimal digits in lower case.
    public mutating func append(hexadecimal value: UInt64, digits: Int) {
        for digit in stride(from: digits - 1, through: 0, by: -1) {
            let nibble = UInt8(truncatingIfNeeded: value >> UInt64(4 * digit)) & 0xF
            append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
        }
    }

    /// Discards the bytes from offset `position` on.
    public mutating func removeAll(from position: Int) {
        precondition(position >= 0 && position <= count, "out of bounds")
        count = position
    }

    /// Empties the buffer. Keeps its memory unless that exceeds ``keptCapacity``.
    private mutating func beginAnew() {
        count = 0
        guard capacity > Self.keptCapacity else { return }
        unsafe start.deallocate()
        capacity = Self.usualCapacity
        unsafe start = .allocate(capacity: capacity)
    }

    private mutating func grow(by additional: Int) {
        let larger = max(capacity * 2, count + additional)
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        unsafe memory.moveInitialize(from: start, count: count)
        unsafe start.deallocate()
        unsafe start = memory
        capacity = larger
    }
}
