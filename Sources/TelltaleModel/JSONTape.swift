/// A library that reads JSON text and leaves a tape of its values, as simdjson does: one word a value, its type in the top
/// byte, its payload below (https://github.com/simdjson/simdjson/blob/master/doc/tape.md).
package protocol JSONTapeWriter: AnyObject {
    /// Reads `text`, by RFC 8259.
    ///
    /// - Returns: The tape and the strings that it refers to, valid until the next call; `nil` if the text is no JSON.
    @unsafe func tape(of text: Span<UInt8>) -> (words: UnsafePointer<UInt64>, strings: UnsafePointer<UInt8>)?
}

/// Walks a tape.
///
/// Safe because the library wrote the tape after validating the text: every index on it is within bounds.
@unsafe struct TapeReader {
    let tape: UnsafePointer<UInt64>
    let strings: UnsafePointer<UInt8>

    init(tape: UnsafePointer<UInt64>, strings: UnsafePointer<UInt8>) {
        unsafe self.tape = tape
        unsafe self.strings = strings
    }

    /// Whether the objects of the document have more than `limit` names. Nothing is written or sorted for that.
    func hasMoreNames(than limit: Int) -> Bool {
        var (index, count) = (1, 0)
        while unsafe type(at: index) != UInt8(ascii: "r") {
            switch unsafe type(at: index) {
            case UInt8(ascii: "{"):
                count += unsafe self.count(at: index)
                if count > limit { return true }
            // Their value is a separate word.
            case UInt8(ascii: "l"), UInt8(ascii: "u"), UInt8(ascii: "d"): index += 1
            case _: break
            }
            index += 1
        }
        return false
    }

    /// Writes the encoding of the whole document.
    ///
    /// - Returns: `false` if the text is no I-JSON. The bytes written are then unusable.
    func write(to form: inout BinaryWriter) -> Bool {
        var index = 1  // Word 0 is the root.
        return unsafe passValue(at: &index, to: &form)
    }

    /// Appends the encoding of the value at `index` and advances `index` past it.
    ///
    /// - Returns: `false` at a fault by I-JSON.
    private func passValue(at index: inout Int, to form: inout BinaryWriter) -> Bool {
        let word = unsafe tape[index]
        let start = index
        index += 1
        switch unsafe type(at: start) {
        case UInt8(ascii: "n"): form.write(JSONTag.null)
        case UInt8(ascii: "t"): form.write(JSONTag.true)
        case UInt8(ascii: "f"): form.write(JSONTag.false)
        case UInt8(ascii: "\""):
            form.write(JSONTag.string)
            unsafe form.write(counted: string(at: word).span)
        case UInt8(ascii: "l"):
            let integer = unsafe Int64(bitPattern: tape[index])
            index += 1
            guard integer.magnitude <= UInt64(JSON.integerLimit) else { return false }
            form.write(JSON.integer(integer))
        case UInt8(ascii: "u"): return false
        case UInt8(ascii: "d"):
            form.write(JSON(unsafe Double(bitPattern: tape[index])))
            index += 1
        case UInt8(ascii: "["):
            form.write(JSONTag.array)
            form.write(UInt64(unsafe count(at: start)))
            while unsafe type(at: index) != UInt8(ascii: "]") {
                guard unsafe passValue(at: &index, to: &form) else { return false }
            }
            index += 1
        default: return unsafe passObject(at: start, &index, to: &form)
        }
        return true
    }

    private func passObject(at start: Int, _ index: inout Int, to form: inout BinaryWriter) -> Bool {
        let count = unsafe count(at: start)
        form.write(JSONTag.object)
        form.write(UInt64(count))
        let members = form.count
        var isInOrder = true
        var last: UInt64?
        while unsafe type(at: index) != UInt8(ascii: "}") {
            let word = unsafe tape[index]
            index += 1
            let name = unsafe string(at: word)
            if let last, isInOrder { isInOrder = unsafe string(at: last).span.precedes(name.span) }
            last = word
            unsafe form.write(counted: name.span)
            guard unsafe passValue(at: &index, to: &form) else { return false }
        }
        index += 1
        return isInOrder || form.sortMembers(count, from: members)
    }

    private func type(at index: Int) -> UInt8 { unsafe UInt8(truncatingIfNeeded: tape[index] >> 56) }

    /// The number of elements or members. The tape counts up to 2^24 − 1, which ``JSONParser`` never reaches.
    private func count(at start: Int) -> Int { unsafe Int(tape[start] >> 32 & 0xFF_FFFF) }

    private func string(at word: UInt64) -> UnsafeBufferPointer<UInt8> {
        let start = unsafe strings + Int(word & 0x00FF_FFFF_FFFF_FFFF)
        let count = unsafe Int(UnsafeRawPointer(start).loadUnaligned(as: UInt32.self))
        return unsafe UnsafeBufferPointer(start: start + 4, count: count)
    }
}
