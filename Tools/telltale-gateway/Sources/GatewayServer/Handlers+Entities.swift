internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import TelltaleClient
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

extension GatewayResponder {
    func postEvent(_ values: [String], _ caller: Caller) async throws(Problem) -> Response {
        try caller.checkEventType()
        let (eid, isCallers) = try caller.eid()
        let body = try await caller.body()
        let event = try EventRequest.make(
            kind: values[0], id: values[1], type: values[2], query: caller.query, body: body, eid: eid)
        let line = try await gateway.link.ask(.event(event), token: caller.token).reply.line
        return Self.acted(Answers.event(event.key, line), line, isReplayed: isCallers)
    }

    /// The answer to an action, with the entity's tag and whether it was a repeat.
    static func acted(_ body: [UInt8], _ line: ServerLine, status: Int = 200, isReplayed: Bool) -> Response {
        var response = Response.json(body, status: status)
        if let rev = line.integer("rev") { response.headers[.eTag] = EntityTag.strong(rev) }
        if isReplayed, line["verdict"] == Verdict.duplicate.rawValue { response.headers[.idempotentReplayed] = "true" }
        return response
    }

    func listEntities(_ caller: Caller) async throws(Problem) -> Response {
        let text = try caller.query["pattern"] ?? "*"
        guard let pattern = Pattern(text) else {
            throw Problem("bad_pattern", "\"\(text.prefix(140))\" is no pattern: kind/id, kind/* or *")
        }
        let situation = try Situation(caller.query)
        let view = try caller.query.view() ?? (situation.surface == nil ? .full : nil)
        return try await list(
            ListingRequest(
                .list(pattern, view: view), verb: "SNAP", .object("entities"), situation, write: ListingRequest.row),
            caller)
    }

    func getEntity(_ values: [String], _ caller: Caller) async throws(Problem) -> Response {
        let key = try EventRequest.key(values[0], values[1])
        let situation = try Situation(caller.query)
        let view = try caller.query.view()
        let line = try await gateway.link.ask(.get(key, view: view), token: caller.token, situation).reply.line
        var writer = JSONWriter()
        Answers.row(line, to: &writer)
        let body = writer.bytes
        let isFull = view == .full || (view == nil && situation.surface == nil)
        let rev = line.integer("rev") ?? 0
        let tag = isFull ? EntityTag.strong(rev) : EntityTag.weak(rev, body: body)
        let fields = [HTTPField(name: .eTag, value: tag)]
        if let field = caller.field(.ifNoneMatch), EntityTag.matches(field, tag) { return .empty(304, fields) }
        return .json(body, fields)
    }

    func getHistory(_ values: [String], _ caller: Caller) async throws(Problem) -> Response {
        let key = try EventRequest.key(values[0], values[1])
        let (json, lines) = ("application/json", "application/x-ndjson")
        guard let type = Acceptance.choose(caller.request.headers[values: .accept], of: [json, lines]) else {
            throw Problem("not_acceptable", "a history is \(json) or \(lines)")
        }
        let situation = try Situation(caller.query)
        return try await list(
            ListingRequest(
                .history(key), verb: "HIST", type == lines ? .lines : .objectOfKey(key, "events"), situation,
                write: Answers.writing(Answers.history)),
            caller, type: type)
    }

    func openEntity(_ values: [String], _ caller: Caller) async throws(Problem) -> Response {
        let key = try EventRequest.key(values[0], values[1])
        let line = try await gateway.link.ask(.open(key), token: caller.token, try Situation(caller.query)).reply.line
        return .json(JSON.object(line.tail ?? JSONObject()).text)
    }

    func getStats(_ caller: Caller) async throws(Problem) -> Response {
        let line = try await gateway.link.ask(.stats, token: caller.token, try Situation(caller.query)).reply.line
        return .json(JSON.object(line.tail ?? JSONObject()).text)
    }
}
