internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import TelltaleClient
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

extension GatewayResponder {
    func setValue(_ values: [String], _ caller: Caller) async throws(Problem) -> Response {
        var set = TapCommand(try EventRequest.key(values[0], values[1]), .set(false))
        let fields = caller.request.headers[values: .ifMatch]
        guard fields.count < 2 else { throw Problem("bad_request", "If-Match stands twice; say it once") }
        if let field = fields.first { set.seenRev = try EntityTag.rev(ifMatch: field) }
        let (eid, isCallers) = try caller.eid()
        set.eid = eid
        let wait = try Preference.wait(caller.request.headers[values: .prefer])
        let situation = try Situation(caller.query)
        let body = try await caller.body()
        set.tap = .set(try ControlRequest.value(body))
        return try await operate(set, caller, situation, wait, isReplayed: isCallers)
    }

    func pressButton(_ values: [String], _ caller: Caller) async throws(Problem) -> Response {
        let key = try EventRequest.key(values[0], values[1])
        let (eid, isCallers) = try caller.eid()
        let wait = try Preference.wait(caller.request.headers[values: .prefer])
        let situation = try Situation(caller.query)
        _ = try await caller.body()
        return try await operate(
            TapCommand(key, .press, eid: eid), caller, situation, wait, isReplayed: isCallers)
    }

    private func operate(
        _ command: TapCommand, _ caller: Caller, _ situation: Situation, _ wait: Int64?, isReplayed: Bool
    ) async throws(Problem) -> Response {
        guard let wait, wait > 0 else {
            let line = try await gateway.link.ask(.tap(command), token: caller.token, situation).reply.line
            return Self.begun(line, isReplayed: isReplayed)
        }
        // A separate connection, which follows the control before the tap, so that no end is missed.
        let client = gateway.link.makeClient(caller.token, situation)
        defer { client.close() }
        var follow = SubscribeCommand(pattern: .key(command.key))
        follow.view = .full
        let rows = client.follow(follow)
        _ = try await gateway.link.ask(.ping, on: client)
        let line = try await gateway.link.ask(.tap(command), on: client).reply.line
        guard let operation = line["op"], line["verdict"] != Verdict.noop.rawValue else {
            return Self.begun(line, isReplayed: isReplayed)
        }
        guard let end = await Self.end(of: operation, in: rows, within: .seconds(wait)) else {
            return Self.begun(line, isReplayed: isReplayed)
        }
        var response = Self.acted(end.json, line, isReplayed: isReplayed)
        response.headers[.eTag] = EntityTag.strong(end.rev)
        response.headers[.preferenceApplied] = "wait=\(wait)"
        return response
    }

    /// 202 for an operation in progress; 200 if nothing changed, if it was begun before, or if it ended immediately.
    private static func begun(_ line: ServerLine, isReplayed: Bool) -> Response {
        let isUnderWay = line["verdict"] == nil && ["pending", "performing"].contains(line["phase"])
        return acted(Answers.attributes(line), line, status: isUnderWay ? 202 : 200, isReplayed: isReplayed)
    }

    private static func end(
        of operation: String, in rows: FollowedSequence, within span: Duration
    ) async -> OperationReport? {
        await withTaskGroup(of: OperationReport?.self) { group in
            group.addTask {
                for await followed in rows {
                    switch followed.event {
                    case .snapshot(let row), .update(let row):
                        if let end = OperationReport(of: operation, in: row.body, rev: row.rev) { return end }
                    case .deletion, .milestone, .alert, .changed, .live, .reset, .refused: break
                    }
                }
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: span)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
    }

    func dismiss(_ values: [String], _ caller: Caller) async throws(Problem) -> Response {
        let key = try EventRequest.key(values[0], values[1])
        _ = try await caller.body()
        let line = try await gateway.link.ask(.dismiss(key), token: caller.token, try Situation(caller.query)).reply
            .line
        return .json(Answers.attributes(line))
    }

    func see(_ values: [String], _ caller: Caller) async throws(Problem) -> Response {
        let key = try EventRequest.key(values[0], values[1])
        let situation = try Situation(caller.query)
        let body = try await caller.body()
        let rev = try ControlRequest.seenRev(body)
        let line = try await gateway.link.ask(.seen(key, rev: rev), token: caller.token, situation).reply.line
        return .json(Answers.attributes(line))
    }
}
