internal import Gateway
internal import NIOCore
internal import Synchronization
internal import TelltaleClient
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

/// The owner of each kind: its `app`, with which the type of a CloudEvent may begin. The daemon reveals it to those who
/// may read the kind; its answer or refusal is cached briefly.
final class KindOwners: Sendable {
    private struct Question: Hashable {
        var kind: String
        var token: String?
    }

    private struct Known {
        var app: String?
        var asked: NIODeadline
    }

    private let known = Mutex<[Question: Known]>([:])
    private static let span = TimeAmount.seconds(5)
    private static let limit = 1_024

    /// - Parameter token: The caller's.
    /// - Throws: If there is no answer and was none before: without the kind's owner the event's type may be misread.
    func app(of kind: String, _ link: DaemonLink, token: String?) async throws(Problem) -> String? {
        let question = Question(kind: kind, token: token)
        let last = known.withLock { $0[question] }
        if let last, NIODeadline.now() - last.asked < Self.span { return last.app }
        // Without an answer, the last one is used for as long.
        var app = last?.app
        do throws(Problem) {
            app = try await link.ask(.kind(kind), token: token).reply.line.tail?["app"]?.string
        } catch {
            if last == nil, error.retry == "later" || error.retry == "now" || error.status >= 500 { throw error }
        }
        known.withLock {
            if $0.count >= Self.limit { $0 = [:] }
            $0[question] = Known(app: app, asked: .now())
        }
        return app
    }
}
