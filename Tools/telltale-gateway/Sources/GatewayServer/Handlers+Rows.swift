internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

extension GatewayResponder {
    /// Answers a collapsible read. It has no cookie: answers vary by `Authorization` alone, so that caches share those
    /// without one.
    func readRows(_ caller: Caller) async throws(Problem) -> Response {
        let isShared = caller.token == nil
        let read = try RowsRequest(caller.query)
        func fields(_ life: String) -> [HTTPField] {
            [
                HTTPField(name: .cacheControl, value: isShared ? "public, \(life)" : "private, no-store"),
                HTTPField(name: .vary, value: "Authorization"),
            ]
        }
        guard caller.request.head.path == read.target else {
            return .empty(308, fields("max-age=86400") + [HTTPField(name: .location, value: read.target)])
        }
        let shared = fields(read.from == nil ? Self.pictureLife : Self.changeLife)
        if caller.request.method == .head { return .json([], shared) }
        let body: [UInt8]
        let slot: AnswerSlots.Slot?
        do throws(Problem) {
            let (collector, held) = try await collect(read, caller)
            body = try collector.body(at: SystemClock.seconds)
            slot = held
        } catch {
            if isShared, let lost = read.body(lost: error, at: SystemClock.seconds) { return .json(lost, shared) }
            var problem = error
            if isShared, problem.retry == "later" { problem.headers += shared.map { ($0.name.rawName, $0.value) } }
            throw problem
        }
        let tag = EntityTag.strong(body: body)
        let fields = shared + [HTTPField(name: .eTag, value: tag)]
        if let field = caller.field(.ifNoneMatch), EntityTag.matches(field, tag) { return .empty(304, fields) }
        return .json(buffer: NIOCore.ByteBuffer(bytes: body), fields, holding: slot)
    }

    /// One reader renews a picture, and the others do not wait for it.
    private static let pictureLife = "max-age=1, stale-while-revalidate=10"
    /// What changed between two cursors remains so: a reader that is late goes on at the second one.
    private static let changeLife = "max-age=5, stale-while-revalidate=10"

    private func collect(
        _ read: RowsRequest, _ caller: Caller
    ) async throws(Problem) -> (RowsCollector, AnswerSlots.Slot?) {
        let table = gateway.streams
        let bridge = StreamBridge(
            read.stream, token: caller.token, format: .lines, to: caller.context.channel, gateway.link,
            onEnd: { table.remove($0) })
        try table.insert(bridge)
        try await bridge.open()
        return try await bridge.collect(RowsCollector(read)) { () async throws(Problem) in
            try await gateway.slots.enter(self.caller(caller), on: caller.context.channel.eventLoop)
        }
    }
}
