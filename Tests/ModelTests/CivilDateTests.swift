import TelltaleModel
import Testing

struct CivilDateTests {
    @Test(
        "A day and its number",
        arguments: [
            (0, "1970-01-01"), (-1, "1969-12-31"), (11_016, "2000-02-29"), (11_017, "2000-03-01"),
            (-719_468, "0000-03-01"), (-719_469, "0000-02-29"), (2_932_896, "9999-12-31"),
        ] as [(Int64, String)])
    func days(number: Int64, text: String) {
        let date = CivilDate(daysSinceEpoch: number)
        #expect(date.description == text)
        #expect(date.daysSinceEpoch == number)
    }

    @Test(
        "A quotient is rounded down, at the ends of the range too",
        arguments: [
            (7, 2, 3), (-7, 2, -4), (-8, 2, -4), (0, 5, 0), (Int64.min, 1, Int64.min),
            (Int64.min, 1_000, Int64.min / 1_000 - 1),
        ] as [(Int64, Int64, Int64)])
    func quotients(value: Int64, divisor: Int64, quotient: Int64) {
        #expect(CivilDate.floorDivide(value, divisor) == quotient)
    }
}
