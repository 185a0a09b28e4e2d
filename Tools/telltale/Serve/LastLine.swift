import TelltaleModel

/// The last line of a command's output.
struct LastLine {
    private var bytes: [UInt8] = []
    private let byteCount: Int

    /// - Parameter byteCount: The length of the longest line that is kept whole.
    init(upTo byteCount: Int = 4_096) {
        self.byteCount = byteCount
    }

    mutating func append(_ more: Span<UInt8>) {
        for index in max(0, more.count - byteCount)..<more.count { bytes.append(more[index]) }
        if bytes.count > byteCount { bytes.removeFirst(bytes.count - byteCount) }
    }

    /// Without surrounding blanks; `nil` if nothing was printed.
    var text: String? {
        let line = bytes.split(separator: UInt8(ascii: "\n")).last
        return line.map { String(decoding: $0, as: UTF8.self).trimmed }
    }
}
