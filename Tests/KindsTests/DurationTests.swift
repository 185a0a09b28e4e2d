import Kinds
import TelltaleModel
import Testing

struct DurationTests {
    @Test(
        "Durations are read in both forms",
        arguments: [
            ("500ms", 500), ("0s", 0), ("30s", 30_000), ("5m", 300_000), ("2h", 7_200_000), ("7d", 604_800_000),
            ("PT5M", 300_000), ("P1DT2H", 93_600_000), ("PT0.5S", 500), ("PT1,25S", 1_250), ("P2W", 1_209_600_000),
            ("PT1H30M", 5_400_000), ("P7D", 604_800_000), ("PT36H", 129_600_000), ("PT1.5H", 5_400_000),
            ("007s", 7_000), ("PT0S", 0),
            ("5m30s", 330_000), ("1h30m", 5_400_000), ("1d2h3m4s5ms", 93_784_005), ("0m5s", 5_000),
        ])
    func read(text: String, milliseconds: Int64) {
        #expect(Milliseconds(duration: text)?.count == milliseconds)
    }

    @Test(
        "What is no duration is refused",
        arguments: [
            "", "5", "5 m", " 5m", "5m ", "-5m", "+5m", "m", "5M", "30m1h", "5m5m", "5m30", "5m 30s", "m30s", "1.5h",
            "5min", "P", "PT", "P1", "P1Y",
            "P1M",
            "PT5", "P5H", "PT5D", "P1DT", "PT1M1H", "PT1S1S", "PT1.S", "PT.5S", "PT0.5M1S", "P1WT1H", "P1W1D", "PTT1S",
            "pt5m", "99999999999999999999d", "9223372036854775807d", "P99999999999999999D", "∞", "5m\u{301}", "٥m",
        ])
    func refused(text: String) {
        #expect(Milliseconds(duration: text) == nil)
    }
}
