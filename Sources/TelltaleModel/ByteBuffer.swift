/// Bytes in the making: what lines, rows and records are written into, a hundred small pieces each.
///
/// An array asks at every piece whether it is alone; this cannot be copied, so it is. Whoever keeps the bytes takes
/// ``array``, which is as long as they are.
@safe public struct ByteBuffer: ~Copyable, @unchecked Sendable {
    // `capacity` bytes, of which the first `count` are initialized; freed in `deinit` and where it is
    // replaced, and no pointer leaves this file.
    private var start: UnsafeMutablePointer<UInt8>
    /// How many bytes it takes before it has to grow.
    public private(set) var capacity: Int
    public private(set) var count = 0

    /// More than this is not kept from one use to the next, in bytes: one long answer must not cost memory for ever.
    public static let keptCapacity = 1 << 20
    public static let usualCapacity = 256

    /// - Parameter capacity: How many bytes it takes before it has to grow; at least 1.
    public init(capacity: Int = Self.usualCapacity) {
        self.capacity = max(capacity, 1)
        unsafe start = .allocate(capacity: self.capacity)
    }

    deinit {
        unsafe start.deallocate()
    }

    public var isEmpty: Bool { count == 0 }

    /// A copy of them, in as little memory as it takes.
    public var array: [UInt8] { bytes(from: 0) }

    /// A copy of those from `position` on.
    public func bytes(from position: Int) -> [UInt8] {
        precondition(position >= 0 && position <= count, "out of bounds")
        return unsafe Array(UnsafeBufferPointer(start: start + position, count: count - position))
    }

    /// Gives them, and begins anew.
    public mutating func take() -> [UInt8] {
        defer { beginAnew() }
        return array
    }

    /// Appends them to `bytes`, and begins anew.
    public mutating func move(to bytes: inout [UInt8]) {
        unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
        beginAnew()
    }

    /// The byte at `position`.
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

    /// How many there are, as ``append(leb128:)`` writes it, and then they themselves.
    public mutating func append(counted bytes: Span<UInt8>) {
        // Nearly every text: one byte says its length, and there is one question about room.
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

    /// The UTF-8 of a literal.
    public mutating func append(_ literal: StaticString) {
        literal.withUTF8Buffer { unsafe append(copying: $0.span) }
    }

    /// A whole number in ASCII digits.
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

    /// Seven bits a byte, the lowest first; all but the last have the highest bit set.
    public mutating func append(leb128 value: UInt64) {
        // 64 bits are ten bytes at most.
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

    /// The lowest `digits` digits, in lower case.
    public mutating func append(hexadecimal value: UInt64, digits: Int) {
        for digit in stride(from: digits - 1, through: 0, by: -1) {
            let nibble = UInt8(truncatingIfNeeded: value >> UInt64(4 * digit)) & 0xF
            append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
        }
    }

    /// Forgets them, or those from `position` on.
    public mutating func removeAll(from position: Int) {
        precondition(position >= 0 && position <= count, "out of bounds")
        count = position
    }

    /// In the same memory, unless that has become much.
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
