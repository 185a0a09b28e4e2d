internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import TelltaleClient
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

extension GatewayResponder {
    /// Arranges a tile, or a stack, of a board.
    func arrangeTile(_ values: [String], _ caller: Caller) async throws(Problem) -> Response {
        let fields = caller.request.headers[values: .ifMatch]
        guard fields.count < 2 else { throw Problem("bad_request", "If-Match stands twice; say it once") }
        let (eid, isCallers) = try caller.eid()
        let situation = try Situation(caller.query)
        var tile = try TileRequest.make(kind: values[0], id: values[1], body: try await caller.body())
        if let field = fields.first { tile.seenRev = try EntityTag.rev(ifMatch: field) }
        tile.eid = eid
        let line = try await gateway.link.ask(.tile(tile), token: caller.token, situation).reply.line
        return Self.acted(Answers.event(tile.key, line), line, isReplayed: isCallers)
    }

    /// The widgets that can be placed.
    func getGallery(_ caller: Caller) async throws(Problem) -> Response {
        let situation = try Situation(caller.query)
        let view = try caller.query.view()
        let placement = try caller.query.word("placement")
        let command = Command.gallery(view: view, placement: placement)
        return try await list(
            ListingRequest(
                command, verb: "WIDGET", .object("widgets"), situation, write: Answers.writing(Answers.offered)),
            caller)
    }
}

extension Answers {
    /// One kind of the gallery: its name, its families, and the rest of the daemon's line.
    static func offered(_ line: ServerLine, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name", line["name"] ?? "")
        writer.array("families", of: (line["families"] ?? "").split(separator: ",")) { $1.value(String($0)) }
        for member in line.tail ?? JSONObject() { writer.member(named: member.name, member.value) }
        writer.endObject()
    }
}
