internal import Gateway
internal import HTTPTypes
internal import Hummingbird

extension GatewayResponder {
    func openStream(_ caller: Caller) async throws(Problem) -> Response {
        let (events, lines) = ("text/event-stream", "application/x-ndjson")
        guard let type = Acceptance.choose(caller.request.headers[values: .accept], of: [events, lines]) else {
            throw Problem("not_acceptable", "a stream is \(events) or \(lines)")
        }
        let stream = try StreamRequest(caller.query, lastEventID: caller.field(.lastEventID))
        var headers: HTTPFields = [.contentType: type, .accelBuffering: "no", .lastEventID: stream.resumedFrom]
        if caller.request.method == .head { return Response(status: .ok, headers: headers) }
        let table = gateway.streams
        let bridge = StreamBridge(
            stream, token: caller.token, format: type == lines ? .lines : .serverSentEvents, to: caller.context.channel,
            gateway.link, onEnd: { table.remove($0) })
        try table.insert(bridge)
        try await bridge.open()
        headers[.cacheControl] = "no-store"
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody { writer in
                await bridge.run()
                try await writer.finish(nil)
            })
    }
}
