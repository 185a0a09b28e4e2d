public import TelltaleModel

/// Writes lines of the protocol into ``bytes``, without intermediate strings.
///
/// The parts of a line are written in order: ``begin(_:)``, words and attributes, a JSON tail, ``end()``. Every reply
/// and row has its own method in `LineWriter+Replies.swift` and `LineWriter+Rows.swift`; requests are in
/// `LineWriter+Requests.swift`.
public struct LineWriter: ~Copyable, Sendable {
    var buffer = ByteBuffer()

    public init() {}

    /// A copy of the bytes written so far.
    public var bytes: [UInt8] { buffer.array }
    /// The number of ``bytes``.
    public var count: Int { buffer.count }
    public var isEmpty: Bool { buffer.isEmpty }

    /// A copy of the bytes from offset `position` on.
    public func bytes(from position: Int) -> [UInt8] {
        buffer.bytes(from: position)
    }

    /// Discards all bytes.
    public mutating func removeAll() { buffer.removeAll(from: 0) }

    /// Appends the bytes to `bytes` and empties the writer.
    public mutating func move(to bytes: inout [UInt8]) {
        buffer.move(to: &bytes)
    }

    /// Appends whole lines that another writer wrote.
    public mutating func append(lines: Span<UInt8>) { buffer.append(copying: lines) }

    public mutating func begin(_ verb: StaticString) { buffer.append(verb) }

    public mutating func begin(_ verb: Verb) { buffer.append(verb.rawValue) }

    /// Writes a positional word: visible ASCII without a `=`, such as a key or a pattern.
    public mutating func word(_ word: String) {
        buffer.append(UInt8(ascii: " "))
        appendValue(word)
    }

    /// Writes an attribute whose value is a single word.
    ///
    /// Invalid bytes are replaced, so that no external text can end the line or begin another word: a byte that is not
    /// visible ASCII becomes `?`, and an empty value becomes `-`.
    public mutating func attribute(_ name: StaticString, _ value: String) {
        beginAttribute(name)
        appendValue(value)
    }

    public mutating func attribute(_ name: StaticString, _ value: Int64) {
        beginAttribute(name)
        buffer.append(decimal: value)
    }

    public mutating func attribute(_ name: StaticString, _ value: Int) { attribute(name, Int64(value)) }

    public mutating func attribute(_ name: StaticString, _ value: Timestamp) { attribute(name, value.milliseconds) }

    public mutating func attribute(_ name: StaticString, _ value: Cursor) {
        beginAttribute(name)
        value.append(to: &buffer)
    }

    public mutating func attribute(_ name: StaticString, _ value: Key) {
        beginAttribute(name)
        buffer.append(value.text)
    }

    /// Writes values joined by commas, as many as fit in a value (``WireLimits/valueLength``).
    ///
    /// Writes nothing if there are none.
    public mutating func attribute(_ name: StaticString, joined values: [String]) {
        guard !values.isEmpty else { return }
        beginAttribute(name)
        var length = 0
        for (index, value) in values.enumerated() {
            length += value.utf8.count + (index > 0 ? 1 : 0)
            guard length <= WireLimits.valueLength else { break }
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            appendValue(value)
        }
    }

    /// Writes a JSON object that is already compact text, without a line break.
    public mutating func tail(_ json: [UInt8]) {
        buffer.append(UInt8(ascii: " "))
        buffer.append(json)
    }

    public mutating func tail(_ json: JSONObject) {
        buffer.append(UInt8(ascii: " "))
        JSON.object(json).append(to: &buffer)
    }

    public mutating func end() { buffer.append(0x0A) }

    mutating func append(_ text: StaticString) { buffer.append(text) }

    private mutating func beginAttribute(_ name: StaticString) {
        buffer.append(UInt8(ascii: " "))
        buffer.append(name)
        buffer.append(UInt8(ascii: "="))
    }

    private mutating func appendValue(_ value: String) {
        let text = value.utf8.span
        if text.isEmpty { return buffer.append(UInt8(ascii: "-")) }
        let start = buffer.count
        buffer.append(copying: text)
        for index in text.indices where !text[index].isVisibleASCII { buffer[start + index] = UInt8(ascii: "?") }
    }
}
