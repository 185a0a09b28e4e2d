internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import TelltaleClient
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

extension GatewayResponder {
    func listKinds(_ caller: Caller) async throws(Problem) -> Response {
        let situation = try Situation(caller.query)
        return try await list(
            ListingRequest(.kinds, verb: "KIND", .object("kinds"), situation, write: Answers.writing(Answers.kind)),
            caller)
    }

    func getKind(_ name: String, _ caller: Caller) async throws(Problem) -> Response {
        .json(try await definition(of: name, caller).text)
    }

    /// The diagram of a kind's machine, for callers that may read the kind.
    func getDiagram(_ name: String, _ caller: Caller) async throws(Problem) -> Response {
        let file = try await gateway.diagrams.file(of: try await definition(of: name, caller))
        var response = boardFile(file, caller, caching: "private, no-cache")
        response.headers[.contentSecurityPolicy] = "default-src 'none'; frame-ancestors 'self'; sandbox"
        return response
    }

    private func definition(of name: String, _ caller: Caller) async throws(Problem) -> JSON {
        guard Key.isSegment(name.utf8) else { throw Problem("bad_key", "\"\(name.prefix(70))\" is no kind's name") }
        let line = try await gateway.link.ask(.kind(name), token: caller.token, try Situation(caller.query)).reply.line
        return .object(line.tail ?? JSONObject())
    }
}
