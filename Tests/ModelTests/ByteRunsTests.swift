import TelltaleModel
import Testing

/// Bytes are searched eight at a time. The result must not depend on the place.
struct ByteRunsTests {
    @Test func `the first of a byte is found wherever it stands`() {
        for byte in UInt8.min...UInt8.max {
            for length in 1...20 {
                for place in 0..<length {
                    var bytes = [UInt8](repeating: UInt8(ascii: "x"), count: length)
                    bytes[place] = byte
                    let start = place / 2
                    #expect(bytes.span.firstIndex(of: byte, from: start) == bytes[start...].firstIndex(of: byte))
                    // One that looks like it must not be taken for it.
                    let other = byte ^ 1
                    #expect(bytes.span.firstIndex(of: other, from: 0) == bytes.firstIndex(of: other) ?? length)
                }
            }
        }
        #expect([UInt8]().span.firstIndex(of: 0, from: 0) == 0)
    }
}
