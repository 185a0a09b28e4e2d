internal import ApplePush
internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import TelltaleModel

/// The broadcast channels of the apps, at the push service: for operators.
extension PushResponder {
    /// 10,000 ids of 64 bytes.
    private static let answerLimit = 1 << 20

    func channels(_ request: Request, _ query: Query) async throws(Problem) -> Response {
        guard let service = channelService else {
            throw Problem("not_found", "the configuration names no \"channels-url\", where channels are managed")
        }
        guard request.method == .post else {
            guard let kind = try query["kind"] else {
                throw Problem("bad_attr", "?kind= says whose channels are meant")
            }
            let channel = try query["channel"]
            if let channel, !PushChannel.isID(channel) {
                throw Problem("bad_attr", "channel= is to be base64 of at most \(PushChannel.idLimit) bytes")
            }
            if request.method == .delete {
                guard let channel else { throw Problem("bad_attr", "?channel= says which channel is to go") }
                return try await answer(.delete(channel), kind, service)
            }
            return try await answer(channel.map { .read($0) } ?? .list, kind, service)
        }
        let bytes = try await Self.body(request)
        let object = try EventRequest.object(bytes.span)
        for member in object where member.name != "kind" && member.name != "storage" {
            throw Problem("bad_json", "\(member.name.prefix(64)): no such member; it takes kind, storage")
        }
        guard let kind = object["kind"]?.string else { throw Problem("bad_json", "kind: takes the name of a kind") }
        guard let policy = (object["storage"] ?? 0).integer, policy == 0 || policy == 1 else {
            throw Problem("bad_json", "storage: takes 0, or 1 to keep the newest message for devices that are away")
        }
        return try await answer(.create(storagePolicy: Int(policy)), kind, service)
    }

    private func answer(
        _ request: ChannelManagement, _ kind: String, _ service: AppleConnection
    ) async throws(Problem) -> Response {
        guard let bundle = await desk.bundle(ofKind: kind) else {
            throw Problem("unknown_kind", "no app of the configuration has the kind \(kind.prefix(64))")
        }
        guard
            let reply = await service.reply(
                to: ServiceRequest(
                    method: request.method, path: request.path(bundle: bundle), headers: request.headers,
                    body: request.body, answerLimit: Self.answerLimit))
        else { throw Problem("push_unreachable", "the push service does not answer; ask again later") }
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("kind", kind)
        switch request.outcome(status: reply.status, channel: reply.channel, body: reply.body) {
        case .created(let id):
            writer.member("channel", id)
            if case .create(let policy) = request { writer.member("storage", policy) }
        case .channel(let policy):
            if case .read(let id) = request { writer.member("channel", id) }
            writer.member("storage", policy)
        case .channels(let ids):
            writer.array("channels", of: ids) { $1.value($0) }
        case .deleted: return Response(status: .noContent)
        case .unknownChannel: throw Problem("not_found", "the push service knows no such channel")
        case .busy(let status):
            throw Problem("push_unreachable", "the push service answers with status \(status); ask again later")
        case .refused(let status, let reason):
            let answer = [String(status), reason].compactMap(\.self).joined(separator: " ")
            throw Problem("push_refused", "the push service refuses with \(answer)")
        case .unreadable(let status):
            throw Problem(
                "push_refused", "the push service answers with status \(status), and not with what was asked for")
        }
        writer.endObject()
        return Self.json(writer.bytes, status: request.method == "POST" ? 201 : 200)
    }
}
