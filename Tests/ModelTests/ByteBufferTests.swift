import TelltaleModel
import TestSupport
import Testing

struct ByteBufferTests {
    @Test func `bytes that go in come out, however the buffer has to grow`() {
        for capacity in [0, 1, 2, 7, 8, 64] {
            var buffer = ByteBuffer(capacity: capacity)
            var expected: [UInt8] = []
            #expect(buffer.array.isEmpty)
            for length in 0..<40 {
                let piece = (0..<length).map { UInt8($0) }
                buffer.append(UInt8(length))
                buffer.append(piece)
                buffer.append("é")
                buffer.append(String(repeating: "x", count: length))
                expected +=
                    [UInt8(length)] + piece + Array("é".utf8) + Array(repeating: UInt8(ascii: "x"), count: length)
            }
            #expect(buffer.array == expected)
            #expect(buffer.count == expected.count)
            #expect(buffer.bytes(from: 100) == Array(expected[100...]))
            buffer[3] = 0xFF
            expected[3] = 0xFF
            var taken: [UInt8] = [1]
            buffer.move(to: &taken)
            #expect(taken == [1] + expected)
            #expect(buffer.array.isEmpty)
            buffer.append(9)
            #expect(buffer.array == [9])
        }
    }

    @Test func `a length goes before its bytes, in one byte where it is short`() {
        let lengths: [(Int, [UInt8])] = [
            (0, [0]), (1, [1]), (126, [126]), (127, [127]), (128, [0x80, 1]), (300, [0xAC, 2]),
        ]
        for capacity in [1, 2, 126, 127, 128, 129, 512] {
            for (length, prefix) in lengths {
                let piece = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
                var buffer = ByteBuffer(capacity: capacity)
                buffer.append(counted: piece.span)
                buffer.append(counted: piece.span)
                #expect(buffer.array == prefix + piece + prefix + piece, "\(length) bytes, room for \(capacity)")
            }
        }
    }

    @Test func `a large buffer is not kept`() {
        var buffer = ByteBuffer()
        for length in [1_000, ByteBuffer.keptCapacity + 1] {
            buffer.append([UInt8](repeating: 7, count: length))
            let grown = buffer.capacity
            #expect(buffer.take().count == length)
            let isKept = buffer.capacity == grown
            #expect(isKept == (grown <= ByteBuffer.keptCapacity))
            var taken: [UInt8] = []
            buffer.append([UInt8](repeating: 8, count: length))
            buffer.move(to: &taken)
            #expect(taken == [UInt8](repeating: 8, count: length))
            let capacity = buffer.capacity
            #expect(capacity <= ByteBuffer.keptCapacity)
        }
        buffer.append(9)
        #expect(buffer.array == [9])
    }

    @Test(
        "Numbers are written in digits",
        arguments: [0, 1, 9, 10, 99, 100, -1, -10, 9_007_199_254_740_991, .max, .min, 999_999_999_999_999_999]
            as [Int64])
    func decimal(value: Int64) {
        var buffer = ByteBuffer(capacity: 1)
        buffer.append(decimal: value)
        #expect(String(decoding: buffer.array, as: UTF8.self) == String(value))
    }

    @Test func `hexadecimal digits are as many as asked for`() {
        var buffer = ByteBuffer(capacity: 1)
        buffer.append(hexadecimal: 0xAB_CDEF, digits: 4)
        buffer.append(hexadecimal: 0x1F, digits: 16)
        #expect(String(decoding: buffer.array, as: UTF8.self) == "cdef000000000000001f")
    }

    /// Texts are searched eight bytes at a time. A byte that must be escaped has to be found at any place.
    @Test(arguments: [0x00, 0x1F, 0x20, 0x21, 0x22, 0x23, 0x5B, 0x5C, 0x5D, 0x7E, 0x7F, 0x0A] as [UInt8])
    func `a byte is escaped wherever it stands`(byte: UInt8) throws {
        let plain = Array("abcdefghijklmnopqrstuvwxyzé☕".utf8)
        for length in 0...20 {
            for position in 0...length {
                let bytes = Array(plain.suffix(5)) + plain.prefix(position) + [byte] + plain.prefix(length - position)
                let text = String(decoding: bytes, as: UTF8.self)
                let json = JSON.string(text)
                #expect(json.text == Self.quoted(bytes))
                #expect(json.textByteCount == json.text.count)
                #expect(try JSONParser.parse(json.description) == json)
            }
        }
    }

    /// RFC 8259 §7, a byte at a time.
    private static func quoted(_ bytes: [UInt8]) -> [UInt8] {
        var quoted: [UInt8] = [0x22]
        for byte in bytes {
            switch byte {
            case 0x22, 0x5C: quoted += [0x5C, byte]
            case 0x0A: quoted += Array(#"\n"#.utf8)
            case 0x00: quoted += Array(#"\u0000"#.utf8)
            case 0x1F: quoted += Array(#"\u001f"#.utf8)
            case 0x7F: quoted += Array(#"\u007f"#.utf8)
            default: quoted.append(byte)
            }
        }
        return quoted + [0x22]
    }

    @Test func `a stable hash goes by eight bytes at a time`() {
        for length in 0...40 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 200) }
            var expected = StableHash()
            expected.combine(UInt64(length))
            for start in stride(from: 0, to: length, by: 8) {
                let word = bytes[start..<min(start + 8, length)].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                expected.combine(word)
            }
            #expect(StableHash.of(bytes.span) == expected.finalize())
        }
    }

    @Test func `members are in the order of their names, however many there are`() throws {
        var generator = SeededGenerator(seed: 1)
        for count in [1, 2, 3, 15, 16, 17, 18, 40] {
            let names = (0..<count).map { "n\($0)" }
            let sorted = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            for _ in 0..<5 {
                let text = names.shuffled(using: &generator).map { #""\#($0)":1"# }.joined(separator: ",")
                let object = try #require(try JSONParser.parse("{\(text)}").object)
                #expect(object.map(\.name) == sorted)
                #expect(throws: JSONError.duplicateName(path: "")) {
                    try JSONParser.parse(#"{\#(text),"n\#(count / 2)":2}"#)
                }
            }
        }
    }
}
