/// Bytes that leave in the order in which they came, in pieces of any size.
struct ByteQueue {
    private var bytes: [UInt8] = []
    /// How many bytes at the front have left. They are removed when they are more than half.
    private var start = 0

    var count: Int { bytes.count - start }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ more: [UInt8]) {
        if isEmpty {
            (bytes, start) = (more, 0)
        } else {
            bytes += more
        }
    }

    /// - Precondition: There are so many.
    mutating func dequeue(_ count: Int) -> [UInt8] {
        if start == 0, count == bytes.count {
            defer { bytes = [] }
            return bytes
        }
        defer {
            start += count
            if 2 * start > bytes.count {
                bytes.removeFirst(start)
                start = 0
            }
        }
        return Array(bytes[start..<start + count])
    }
}
