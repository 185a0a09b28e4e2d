public import TelltaleModel

/// Writes lines of the protocol one behind the other into ``bytes``, without a `String` in between.
///
/// The parts of a line come in its order: ``begin(_:)``, words and attributes, a JSON tail, ``end()``. What every reply
/// and row needs has a method of its own in `LineWriter+Replies.swift` and `LineWriter+Rows.swift`; whoever writes
/// requests uses the parts.
public struct LineWriter: ~Copyable, Sendable {
    var buffer = ByteBuffer()

    public init() {}

    /// What was written.
    public var bytes: [UInt8] { buffer.array }
    /// How many ``bytes`` there are.
    public var count: Int { buffer.count }
    public var isEmpty: Bool { buffer.isEmpty }

    /// What was written from `position` on.
    public func bytes(from position: Int) -> [UInt8] {
        buffer.bytes(from: position)
    }

    /// Forgets what was written.
    public mutating func removeAll() { buffer.removeAll(from: 0) }

    /// Appends what was written to `bytes`, and begins anew.
    public mutating func move(to bytes: inout [UInt8]) {
        buffer.move(to: &bytes)
    }

    /// Appends whole lines that another writer wrote.
    public mutating func append(lines: Span<UInt8>) { buffer.append(copying: lines) }

    public mutating func begin(_ verb: StaticString) { buffer.append(verb) }

    public mutating func begin(_ verb: Verb) { buffer.append(verb.rawValue) }

    /// A positional word: visible ASCII without a `=`, such as a key or a pattern.
    public mutating func word(_ word: String) {
        buffer.append(UInt8(ascii: " "))
        appendValue(word)
    }

    /// An attribute with a value that is a word by itself.
    ///
    /// What no value may hold is mended, so that no text from elsewhere can end a line or begin another word: a byte
    /// that is not visible ASCII becomes `?`, and an empty value `-`.
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

    /// Names and other values joined by commas, as many as a value may hold (``WireLimits/valueLength``).
    ///
    /// Nothing is written when there are none.
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

    /// A JSON object that is already text: compact, so without a line break.
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
