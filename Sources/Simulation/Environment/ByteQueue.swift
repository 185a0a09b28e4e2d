/// Bytes that leave in the order in which they came, in whatever pieces.
struct ByteQueue {
    private var bytes: [UInt8] = []
    /// Bytes that have left already; they are taken away when they are most of it.
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
    mutating func take(_ count: Int) -> [UInt8] {
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
