import ApplePush
import NIOHPACK
import NIOHTTP1
import TelltaleModel
import Testing

@testable import PushServer

/// How long the services ask for a pause.
struct ThrottlingTests {
    private static let now = Timestamp(milliseconds: 1_763_719_200_000)

    @Test(arguments: [("90", 90), ("Fri, 21 Nov 2025 10:01:30 GMT", 90), ("soon", nil)] as [(String, Int64?)])
    func `429 is heard, in seconds or as a date`(_ field: String, _ seconds: Int64?) {
        let kind = PushAnswerClass.throttled(seconds.map { .seconds($0) })
        let reply = ServiceReply(
            [":status": "429", "retry-after": field], Array(#"{"reason":"TooManyRequests"}"#.utf8), at: Self.now)
        #expect((reply.status, reply.reason, reply.retryAfter) == (429, "TooManyRequests", seconds))
        #expect(PushAnswerClass(status: reply.status, reason: reply.reason, retryAfter: reply.retryAfter) == kind)
        let head = HTTPResponseHead(version: .http1_1, status: .tooManyRequests, headers: ["retry-after": field])
        #expect(AppleAnswer(web: head, at: Self.now).kind == kind)
    }
}
