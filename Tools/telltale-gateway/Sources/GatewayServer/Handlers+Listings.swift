internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import TelltaleModel
internal import TelltaleWire

/// Answers that are as long as the daemon's state: each is passed on as its reader takes it, and is held nowhere.
extension GatewayResponder {
    /// How long one answer may take. Its reader takes 32 KiB in ``RequestDeadline/readerPatience`` at least.
    static let listingSpan = TimeAmount.minutes(10)

    /// The daemon's answer to a listing. One that fits into a window has its length, and all of its refusals; of a longer one the
    /// connection ends within the body where the daemon does not go on.
    ///
    /// - Throws: The daemon's refusal, or `busy`.
    func list(
        _ request: ListingRequest, _ caller: Caller, type: String = "application/json"
    ) async throws(Problem) -> Response {
        let channel = caller.context.channel
        let slot = try await gateway.slots.enter(self.caller(caller), on: channel.eventLoop)
        let listing = HeldListing(
            DaemonListing(request, token: caller.token, gateway.link, on: channel.eventLoop), slot)
        let first = try await listing.answer.next()
        if first.isLast { return .json(first.bytes, type: type) }
        let end = NIODeadline.now() + Self.listingSpan
        let body = ResponseBody { writer in
            try await writer.write(ByteBuffer(bytes: first.bytes))
            while true {
                let piece = try await listing.answer.next()
                if !piece.bytes.isEmpty { try await writer.write(ByteBuffer(bytes: piece.bytes)) }
                if piece.isLast { break }
                guard NIODeadline.now() < end else { throw Problem("daemon_unreachable", "the answer took too long") }
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: type], body: body)
    }

    /// A caller is a token; without tokens it is an address.
    private func caller(_ caller: Caller) -> String {
        if !gateway.link.isOpen { return "token \(caller.token ?? "")" }
        let channel = caller.context.channel
        return "address \((channel.remoteAddress ?? channel.parent?.remoteAddress)?.ipAddress ?? "")"
    }
}

/// An answer and its place, which end with the response that holds them.
private final class HeldListing: Sendable {
    let answer: DaemonListing
    private let slot: AnswerSlots.Slot

    init(_ answer: DaemonListing, _ slot: AnswerSlots.Slot) {
        self.answer = answer
        self.slot = slot
    }

    deinit { answer.close() }
}
