public import Model

/// Writes lines of the protocol one behind the other into ``bytes``, without a `String` in between.
///
/// The parts of a line come in its order: ``begin(_:)``, words and attributes, a JSON tail, ``end()``. What every reply
/// and row needs has a method of its own in `LineWriter+Replies.swift` and `LineWriter+Rows.swift`; whoever writes
/// requests uses the parts.
public struct LineWriter: Sendable {
    public var bytes: [UInt8]

    /// Goes on behind `bytes`.
    public init(_ bytes: consuming [UInt8] = []) {
        self.bytes = bytes
    }

    public mutating func begin(_ verb: StaticString) { append(verb) }

    public mutating func begin(_ verb: Verb) { bytes.append(contentsOf: verb.rawValue.utf8) }

    /// A positional word: visible ASCII without a `=`, such as a key or a pattern.
    public mutating func word(_ word: String) {
        bytes.append(UInt8(ascii: " "))
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
        bytes.append(decimal: value)
    }

    public mutating func attribute(_ name: StaticString, _ value: Int) { attribute(name, Int64(value)) }

    public mutating func attribute(_ name: StaticString, _ value: Timestamp) { attribute(name, value.milliseconds) }

    public mutating func attribute(_ name: StaticString, _ value: Cursor) {
        beginAttribute(name)
        value.append(to: &bytes)
    }

    public mutating func attribute(_ name: StaticString, _ value: Key) {
        beginAttribute(name)
        bytes.append(contentsOf: value.text.utf8)
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
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            appendValue(value)
        }
    }

    /// A JSON object that is already text: compact, so without a line break.
    public mutating func tail(_ json: [UInt8]) {
        bytes.append(UInt8(ascii: " "))
        bytes.append(contentsOf: json)
    }

    public mutating func tail(_ json: JSONObject) {
        bytes.append(UInt8(ascii: " "))
        JSON.object(json).append(to: &bytes)
    }

    public mutating func end() { bytes.append(0x0A) }

    mutating func append(_ text: StaticString) {
        // The literals given here are ASCII, and short.
        bytes.append(contentsOf: text.description.utf8)
    }

    private mutating func beginAttribute(_ name: StaticString) {
        bytes.append(UInt8(ascii: " "))
        append(name)
        bytes.append(UInt8(ascii: "="))
    }

    private mutating func appendValue(_ value: String) {
        let start = bytes.count
        bytes.append(contentsOf: value.utf8)
        if bytes.count == start { bytes.append(UInt8(ascii: "-")) }
        for index in start..<bytes.count where !bytes[index].isVisibleASCII { bytes[index] = UInt8(ascii: "?") }
    }
}
