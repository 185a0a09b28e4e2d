import ApplePush
import TelltaleModel
import Testing

/// What a service asks for in `Retry-After`, in seconds from 2025-11-21 10:00:00.500 UTC.
struct RetryAfterTests {
    private static let now = Timestamp(milliseconds: 1_763_719_200_500)

    @Test(
        arguments: [
            ("0", 0), ("120", 120), (" 7 ", 7), ("99999999999999999999", Int64.max),
            // The three forms of a date; half a second is waited for too.
            ("Fri, 21 Nov 2025 10:00:10 GMT", 10), ("Friday, 21-Nov-25 10:01:00 GMT", 60),
            ("Fri Nov 21 10:00:02 2025", 2),
            ("Mon Dec  1 10:00:00 2025", 864_000), ("Thu, 29 Feb 2028 10:00:00 GMT", 71_712_000),
            ("Wed, 31 Dec 2025 23:59:60 GMT", 3_506_400),
            // Dates that are over, among them one of two digits that would be more than 50 years ahead.
            ("Fri, 21 Nov 2025 10:00:00 GMT", 0), ("Sunday, 06-Nov-94 08:49:37 GMT", 0),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            // Neither.
            ("", nil), ("-5", nil), ("+5", nil), ("1.5", nil), ("soon", nil), ("5 s", nil), ("٣", nil),
            ("Fri, 31 Nov 2025 10:00:00 GMT", nil), ("Sat, 29 Feb 2027 10:00:00 GMT", nil),
            ("Fri, 00 Nov 2025 10:00:00 GMT", nil),
            ("Fri, 21 Nov 2025 24:00:00 GMT", nil), ("Fri, 21 Nov 2025 10:60:00 GMT", nil),
            ("Fri, 21 Nov 2025 10:00:00 CET", nil),
            ("Fri, 21 Nov 2025 10:00 GMT", nil), ("Fri, 21 Nov 025 10:00:00 GMT", nil), ("2025-11-21T10:00:10Z", nil),
            ("Fri, 21 nov 2025 10:00:10 GMT", nil), ("Fri, 21 Nov 99999999999999999999 10:00:10 GMT", nil),
        ] as [(String, Int64?)])
    func `a field is seconds or a date`(_ field: String, _ seconds: Int64?) {
        #expect(RetryAfter.seconds(field, at: Self.now) == seconds)
    }

    @Test(arguments: [
        ("Thu, 20 Nov 2025 10:00:00 GMT", 0), ("Fri, 21 Nov 2025 10:00:10 GMT", 10),
        ("Fri, 21 Nov 2036 10:00:00 GMT", 86_400),
    ])
    func `both services wait until a date, for a day at most`(_ field: String, _ seconds: Int64) {
        let wait = RetryAfter.seconds(field, at: Self.now)
        let throttled = PushAnswerClass.throttled(.seconds(seconds))
        #expect(PushAnswerClass(status: 429, reason: "TooManyRequests", retryAfter: wait) == throttled)
        #expect(PushAnswerClass(webStatus: 429, retryAfter: wait) == throttled)
    }
}
