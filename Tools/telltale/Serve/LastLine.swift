import TelltaleModel

/// The last line of a command's output.
struct LastLine {
    private var bytes: [UInt8] = []
    private static let byteCount = 4_096

    mutating func append(_ more: Span<UInt8>) {
        for index in max(0, more.count - Self.byteCount)..<more.count { bytes.append(more[index]) }
        if bytes.count > Self.byteCount { bytes.removeFirst(bytes.count - Self.byteCount) }
    }

    /// Without the blanks around it; `nil` where nothing was printed.
    var text: String? {
        let line = bytes.split(separator: UInt8(ascii: "\n")).last
        return line.map { String(decoding: $0, as: UTF8.self).trimmed }
    }
}
