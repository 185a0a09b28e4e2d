/// The first byte of a JSON value in the journal's encoding, which is read in place.
///
/// After the tag follow: for an integer, its LEB128; for a string, its length and bytes; for an array, its count and
/// elements; for an object, its count and members, each a name and a value. Names are sorted by their bytes and no
/// number is longer than necessary, so equal values have equal bytes.
///
/// The readers below do not check bounds of the format. They are safe for bytes that ``BinaryWriter`` or ``JSONParser``
/// wrote and for bytes that ``BinaryReader`` validated.
enum JSONTag {
    static let null: UInt8 = 0
    static let `false`: UInt8 = 1
    static let `true`: UInt8 = 2
    static let integer: UInt8 = 3
    static let number: UInt8 = 4
    static let string: UInt8 = 5
    static let array: UInt8 = 6
    static let object: UInt8 = 7
}

// Each function reads the item that begins at `offset` and advances `offset` past it.
extension Span<UInt8> {
    /// A length or a count.
    @inline(__always)
    func passCount(at offset: inout Int) -> Int {
        let first = self[offset]
        offset += 1
        // Nearly every length fits one byte.
        if first < 0x80 { return Int(first) }
        offset -= 1
        return Int(truncatingIfNeeded: passWord(at: &offset))
    }

    /// An unsigned LEB128 number.
    private func passWord(at offset: inout Int) -> UInt64 {
        var word: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = self[offset]
            offset += 1
            word |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return word }
            shift += 7
        }
    }

    func passInteger(at offset: inout Int) -> Int64 {
        let word = passWord(at: &offset)
        return Int64(bitPattern: word >> 1) ^ -Int64(bitPattern: word & 1)
    }

    func passNumber(at offset: inout Int) -> Double {
        defer { offset += 8 }
        return Double(bitPattern: word(at: offset))
    }

    /// The byte range of a text or a name.
    func passText(at offset: inout Int) -> Range<Int> {
        let count = passCount(at: &offset)
        defer { offset += count }
        return offset..<offset + count
    }

    /// Skips any value.
    func passValue(at offset: inout Int) {
        let tag = self[offset]
        offset += 1
        switch tag {
        case JSONTag.null, JSONTag.false, JSONTag.true: break
        case JSONTag.integer:
            while self[offset] >= 0x80 { offset += 1 }
            offset += 1
        case JSONTag.number: offset += 8
        case JSONTag.string: _ = passText(at: &offset)
        case JSONTag.array: for _ in 0..<passCount(at: &offset) { passValue(at: &offset) }
        case JSONTag.object:
            for _ in 0..<passCount(at: &offset) {
                _ = passText(at: &offset)
                passValue(at: &offset)
            }
        default: preconditionFailure("not the form of a JSON value")
        }
    }

    /// Appends the value as compact JSON text.
    func passValue(at offset: inout Int, to text: inout ByteBuffer) {
        let tag = self[offset]
        offset += 1
        switch tag {
        case JSONTag.null: text.append("null")
        case JSONTag.false: text.append("false")
        case JSONTag.true: text.append("true")
        case JSONTag.integer: text.append(decimal: passInteger(at: &offset))
        case JSONTag.number: JSON.append(passNumber(at: &offset), to: &text)
        case JSONTag.string: JSONWriter.append(quoted: extracting(passText(at: &offset)), to: &text)
        case JSONTag.array:
            text.append(UInt8(ascii: "["))
            for index in 0..<passCount(at: &offset) {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                passValue(at: &offset, to: &text)
            }
            text.append(UInt8(ascii: "]"))
        case JSONTag.object:
            text.append(UInt8(ascii: "{"))
            for index in 0..<passCount(at: &offset) {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                JSONWriter.append(quoted: extracting(passText(at: &offset)), to: &text)
                text.append(UInt8(ascii: ":"))
                passValue(at: &offset, to: &text)
            }
            text.append(UInt8(ascii: "}"))
        default: preconditionFailure("not the form of a JSON value")
        }
    }

    /// The length of the value's compact JSON text, in bytes.
    func passTextByteCount(at offset: inout Int) -> Int {
        let tag = self[offset]
        offset += 1
        switch tag {
        case JSONTag.null, JSONTag.true: return 4
        case JSONTag.false: return 5
        case JSONTag.integer: return JSON.textByteCount(of: passInteger(at: &offset))
        case JSONTag.number: return JSON.textByteCount(of: passNumber(at: &offset))
        case JSONTag.string: return JSONWriter.byteCount(quoted: extracting(passText(at: &offset)))
        case JSONTag.array:
            let count = passCount(at: &offset)
            // Two brackets, and a comma between two elements.
            var bytes = Swift.max(count + 1, 2)
            for _ in 0..<count { bytes += passTextByteCount(at: &offset) }
            return bytes
        case JSONTag.object:
            let count = passCount(at: &offset)
            var bytes = Swift.max(count + 1, 2)
            for _ in 0..<count {
                bytes += JSONWriter.byteCount(quoted: extracting(passText(at: &offset))) + 1
                bytes += passTextByteCount(at: &offset)
            }
            return bytes
        default: preconditionFailure("not the form of a JSON value")
        }
    }

    /// Adds the value to a hash, part by part.
    func passValue(at offset: inout Int, to hash: inout StableHash) {
        let tag = self[offset]
        offset += 1
        switch tag {
        case JSONTag.null, JSONTag.false, JSONTag.true: hash.combine(UInt64(tag))
        case JSONTag.integer:
            hash.combine(UInt64(tag))
            hash.combine(UInt64(bitPattern: passInteger(at: &offset)))
        case JSONTag.number:
            hash.combine(UInt64(tag))
            hash.combine(passNumber(at: &offset).bitPattern)
        case JSONTag.string:
            hash.combine(UInt64(tag))
            hash.combine(extracting(passText(at: &offset)))
        case JSONTag.array:
            hash.combine(UInt64(tag))
            let count = passCount(at: &offset)
            hash.combine(UInt64(count))
            for _ in 0..<count { passValue(at: &offset, to: &hash) }
        case JSONTag.object:
            hash.combine(UInt64(tag))
            let count = passCount(at: &offset)
            hash.combine(UInt64(count))
            for _ in 0..<count {
                hash.combine(extracting(passText(at: &offset)))
                passValue(at: &offset, to: &hash)
            }
        default: preconditionFailure("not the form of a JSON value")
        }
    }
}

extension JSON {
    /// Decodes the value that begins at `offset` and advances `offset` past it. Objects share `form` instead of copying
    /// it.
    init(form: [UInt8], at offset: inout Int) {
        let bytes = form.span
        let start = offset
        let tag = bytes[start]
        offset += 1
        switch tag {
        case JSONTag.null: self = .null
        case JSONTag.false: self = .bool(false)
        case JSONTag.true: self = .bool(true)
        case JSONTag.integer: self = .integer(bytes.passInteger(at: &offset))
        case JSONTag.number: self = .number(bytes.passNumber(at: &offset))
        case JSONTag.string: self = .string(bytes.string(in: bytes.passText(at: &offset)))
        case JSONTag.array:
            let count = bytes.passCount(at: &offset)
            var elements: [JSON] = []
            elements.reserveCapacity(count)
            for _ in 0..<count { elements.append(JSON(form: form, at: &offset)) }
            self = .array(elements)
        case JSONTag.object:
            offset = start
            bytes.passValue(at: &offset)
            self = .object(JSONObject(form: form, start..<offset))
        default: preconditionFailure("not the form of a JSON value")
        }
    }
}

extension BinaryWriter {
    /// Sorts the `count` members from `start` on by name.
    ///
    /// - Returns: `false` if two members have the same name.
    mutating func sortMembers(_ count: Int, from start: Int) -> Bool {
        let unordered = bytes(from: start)
        let form = unordered.span
        var members: [(name: Range<Int>, end: Int)] = []
        members.reserveCapacity(count)
        var offset = 0
        for _ in 0..<count {
            let name = form.passText(at: &offset)
            form.passValue(at: &offset)
            members.append((name, offset))
        }
        members.sort { unordered.span.extracting($0.name).precedes(unordered.span.extracting($1.name)) }
        removeAll(from: start)
        var last: Range<Int>?
        for (name, end) in members {
            if let last, form.extracting(last).hasSameBytes(as: form.extracting(name)) { return false }
            last = name
            write(UInt64(name.count))
            write(copying: form.extracting(name.lowerBound..<end))
        }
        return true
    }
}
