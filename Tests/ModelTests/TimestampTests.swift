import TelltaleModel
import Testing

struct TimestampTests {
    @Test(
        "A date is one that a row can say",
        arguments: [
            (0, 0), (1.0005, 1_001), (-1, -1_000), (9_007_199_254_740.5, 9_007_199_254_740_500),
            (9_007_199_254_741, nil), (-9_007_199_254_741, nil), (1e300, nil), (.infinity, nil), (.nan, nil),
        ] as [(Double, Int64?)])
    func seconds(seconds: Double, milliseconds: Int64?) {
        #expect(Timestamp(seconds: seconds)?.milliseconds == milliseconds)
    }

    @Test(
        "A writer keeps to the integers of I-JSON",
        arguments: [
            (Int64.max, "9007199254740991"), (Int64.min, "-9007199254740991"),
            (-9_007_199_254_740_991, "-9007199254740991"),
            (5, "5"),
        ])
    func written(value: Int64, text: String) {
        var writer = JSONWriter()
        writer.value(value)
        #expect(String(decoding: writer.take(), as: UTF8.self) == text)
    }
}
