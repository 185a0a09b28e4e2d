internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import ListenerLimits
internal import NIOCore
internal import TelltaleModel

/// Answers as long as the daemon's state: each is forwarded as its reader takes it, and never held whole.
extension GatewayResponder {
    /// How long one answer may take. ``RequestDeadline`` bounds how slowly its reader takes it.
    static let listingSpan = TimeAmount.minutes(10)

    /// The daemon's answer to a listing. An answer that fits into a window has a length and a proper refusal. If the
    /// daemon fails during a longer one, the connection ends within the body.
    ///
    /// - Throws: The daemon's refusal, or `busy`.
    func list(
        _ request: ListingRequest, _ caller: Caller, type: String = "application/json"
    ) async throws(Problem) -> Response {
        let channel = caller.context.channel
        let slot = try await gateway.slots.enter(self.caller(caller), on: channel.eventLoop)
        let listing = try HeldListing(
            DaemonListing(request, token: caller.token, gateway.link, on: channel.eventLoop), slot,
            in: gateway.listings, to: channel)
        let first = try await listing.answer.next()
        if first.isLast { return .json(first.bytes, type: type) }
        listing.keep(first.bytes)
        let end = NIODeadline.now() + Self.listingSpan
        let body = ResponseBody { writer in
            try await writer.write(inPieces: ByteBuffer(bytes: listing.takeFirst()))
            while true {
                let piece = try await listing.answer.next()
                try await writer.write(inPieces: ByteBuffer(bytes: piece.bytes))
                if piece.isLast { break }
                guard NIODeadline.now() < end else { throw Problem("daemon_unreachable", "the answer took too long") }
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: type], body: body)
    }

    /// Identifies the caller by its token, or by its address without tokens.
    func caller(_ caller: Caller) -> String {
        if !gateway.link.isOpen { return "token \(caller.token ?? "")" }
        let channel = caller.context.channel
        return "address \((channel.remoteAddress ?? channel.parent?.remoteAddress)?.ipAddress ?? "")"
    }
}
