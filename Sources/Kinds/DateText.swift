internal import TelltaleModel

extension DateText {
    /// The time that `value` stands for: Unix seconds, Unix milliseconds (if above 10^11, a bound that is far in the
    /// future as seconds and in the past as milliseconds), or an ISO 8601 text. `nil` for any other value.
    static func timestamp(_ value: JSON) -> Timestamp? {
        switch value {
        case .integer(let integer): fromNumber(Double(integer))
        case .number(let number): fromNumber(number)
        case .string(let text):
            if let date = DateText(text) {
                date.time
            } else if text.utf8.allSatisfy({
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: ".")
            }),
                let number = Double(text)
            {  // Not `nan`, `inf`, `+5` or `0x1p3`, which Swift takes too.
                fromNumber(number)
            } else {
                nil
            }
        case .null, .bool, .array, .object: nil
        }
    }

    private static func fromNumber(_ number: Double) -> Timestamp? {
        guard number.magnitude > 1e11 else { return Timestamp(seconds: number) }
        return Timestamp(exactMilliseconds: number.rounded())
    }

    /// The date and the time of day at a zone `offset` minutes east of UTC; `nil` outside the years 1 to 9999.
    static func fields(_ time: Timestamp, offset: Int64) -> (date: String, time: String)? {
        // Beyond these years, four digits are not enough.
        guard (-62_135_596_800_000...253_402_300_799_999).contains(time.milliseconds) else { return nil }
        let local = time.milliseconds + offset * 60_000
        let day = CivilDate.floorDivide(local, 86_400_000)
        let minutes = (local - day * 86_400_000) / 60_000
        return (
            CivilDate(daysSinceEpoch: day).description,
            "\(CivilDate.padded(minutes / 60, 2)):\(CivilDate.padded(minutes % 60, 2))"
        )
    }
}
