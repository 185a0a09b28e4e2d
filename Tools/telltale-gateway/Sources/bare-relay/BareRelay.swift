import Glibc
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// A relay for comparisons, which shows the cost of HTTP and event streams on Hummingbird alone.
///
/// It accepts a post, answers with as many bytes as the gateway, and sends the body to each stream of that key in an
/// event as long as a row of the gateway. It has no state machine, journal or daemon, and neither checks nor limits its
/// input.
@main
enum BareRelay {
    static func main() async throws {
        let streams = Streams()
        let router = Router()
        router.post("{kind}/{id}/{type}") { request, context in
            let body = try await request.body.collect(upTo: 64_000)
            let key = "\(context.parameters.get("kind") ?? "")/\(context.parameters.get("id") ?? "")"
            streams.send(body, of: key)
            let answer = #"{"key":"\#(key)","verdict":"applied","rev":100000,"state":"active"}"#
            return Response(
                status: .ok, headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: answer)))
        }
        router.get("v1/stream") { request, _ in
            let pattern = request.uri.queryParameters["sub"].map(String.init) ?? "errand/*"
            let events = streams.open(pattern)
            return Response(
                status: .ok, headers: [.contentType: "text/event-stream"],
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "event: live\ndata: {\"sub\":1}\n\n"))
                    for await event in events { try await writer.write(event) }
                    try await writer.finish(nil)
                })
        }
        var logger = Logger(label: "bare-relay")
        logger.logLevel = .error
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                print("ready http=127.0.0.1:\(channel.localAddress?.port ?? 0)")
                // Without a flush, print into a pipe waits for a full buffer.
                fflush(nil)
            },
            logger: logger)
        try await application.runService()
    }
}

/// The open streams, by the pattern that they follow.
private final class Streams: Sendable {
    private struct Open {
        var number = 0
        var byPattern: [String: [Int: AsyncStream<ByteBuffer>.Continuation]] = [:]
    }

    private let streams = Mutex(Open())
    /// The length of a gateway's row without the event's body.
    private let filler = String(repeating: "x", count: 320)

    func open(_ pattern: String) -> AsyncStream<ByteBuffer> {
        let (events, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
        let number = streams.withLock { open in
            open.number += 1
            open.byPattern[pattern, default: [:]][open.number] = continuation
            return open.number
        }
        continuation.onTermination = { [weak self] _ in
            self?.streams.withLock { $0.byPattern[pattern]?[number] = nil }
        }
        return events
    }

    func send(_ body: ByteBuffer, of key: String) {
        var event = ByteBuffer(string: #"event: row\#ndata: {"sub":1,"row":{"filler":"\#(filler)","content":"#)
        event.writeImmutableBuffer(body)
        event.writeString("}}\n\n")
        let kind = key.prefix { $0 != "/" } + "/*"
        let followers = streams.withLock { open in
            [key, String(kind)].flatMap { open.byPattern[$0].map { Array($0.values) } ?? [] }
        }
        for follower in followers { follower.yield(event) }
    }
}
