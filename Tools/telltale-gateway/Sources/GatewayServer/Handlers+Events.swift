internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import TelltaleClient
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

extension GatewayResponder {
    func postCloudEvents(_ caller: Caller) async throws(Problem) -> Response {
        switch mediaType(caller.field(.contentType)) {
        case "application/cloudevents-batch+json": return try await postBatch(caller)
        case "application/cloudevents+json":
            let body = try await caller.body()
            return try await post(try Self.structured(body), caller)
        case let type:
            if let type, type.hasPrefix("application/cloudevents") || type.hasPrefix("multipart/") {
                throw Problem("media_type", "\(type) is not taken; JSON is")
            }
            var headers: [String: String] = [:]
            for field in caller.request.headers { headers[field.name.canonicalName] = field.value }
            guard headers["ce-specversion"] != nil else {
                throw Problem(
                    "media_type",
                    "send a CloudEvent: application/cloudevents+json, application/cloudevents-batch+json, or ce- header fields"
                )
            }
            let body = try await caller.body()
            return try await post(try CloudEvent(headers: headers, body: body), caller)
        }
    }

    private static func structured(_ body: [UInt8]) throws(Problem) -> CloudEvent {
        try CloudEvent(try EventRequest.json(body.span))
    }

    private static func elements(_ body: [UInt8]) throws(Problem) -> [JSON] {
        guard case .array(let elements) = try EventRequest.json(body.span) else {
            throw Problem("bad_json", "a batch of CloudEvents is a JSON array")
        }
        guard elements.count <= CloudEventBatch.eventLimit else {
            throw Problem("too_large", "a batch is at most \(CloudEventBatch.eventLimit) events; send several")
        }
        return elements
    }

    private func post(_ cloudEvent: CloudEvent, _ caller: Caller) async throws(Problem) -> Response {
        let app = try await app(of: cloudEvent, caller)
        let event = try cloudEvent.event(app: app)
        let line = try await gateway.link.ask(.event(event), token: caller.token).reply.line
        return Self.acted(Answers.event(event.key, line), line, isReplayed: true)
    }

    private func app(of event: CloudEvent, _ caller: Caller) async throws(Problem) -> String? {
        guard let kind = event.kind, event.type.contains(".") else { return nil }
        return try await gateway.owners.app(of: kind, gateway.link, token: caller.token)
    }

    private func postBatch(_ caller: Caller) async throws(Problem) -> Response {
        let body = try await caller.body(upTo: EventRequest.batchByteLimit)
        let elements = try Self.elements(body)
        var events: [Result<EventCommand, Problem>] = []
        // Waits only once for a daemon that does not answer.
        var silence: Problem?
        for element in elements { events.append(await event(element, caller, &silence)) }
        let commands = events.compactMap { try? Command.event($0.get()) }
        let answers = await gateway.link.ask(all: commands, token: caller.token)
        return Self.stream(elements, events, answers)
    }

    /// - Parameter answers: The answers for the valid events.
    private static func stream(
        _ elements: [JSON], _ events: [Result<EventCommand, Problem>], _ answers: [Result<Answer, Problem>]
    ) -> Response {
        var answers = answers[...]
        var batch = CloudEventBatch()
        for (element, event) in zip(elements, events) {
            switch event {
            case .failure(let problem): batch.refused(id: element["id"]?.string, problem)
            // The sender's own id; the event's may be a hash of it.
            case .success(let event):
                stream(event, id: element["id"]?.string ?? event.eid ?? "", answers.popFirst(), in: &batch)
            }
        }
        return .json(batch.finish(), status: batch.status)
    }

    private static func stream(
        _ event: EventCommand, id: String, _ answer: Result<Answer, Problem>?, in batch: inout CloudEventBatch
    ) {
        switch answer {
        case .success(let answer)?:
            let line = answer.reply.line
            var members = [(name: "key", value: JSON.string(event.key.text))]
            for attribute in line.attributes where attribute.name != "id" {
                members.append((name: attribute.name, value: Answers.value(attribute)))
            }
            if let hint = Answers.hint(line) { members.append((name: "msg", value: .string(hint))) }
            batch.taken(id: id, members)
        case .failure(let problem)?: batch.refused(id: id, problem)
        case nil: batch.refused(id: id, Problem("internal", "the daemon gave no answer"))
        }
    }

    private func event(
        _ json: JSON, _ caller: Caller, _ silence: inout Problem?
    ) async -> Result<EventCommand, Problem> {
        do throws(Problem) {
            let cloudEvent = try CloudEvent(json)
            let owner: String?
            do throws(Problem) {
                if let silence, cloudEvent.type.contains(".") { throw silence }
                owner = try await app(of: cloudEvent, caller)
            } catch {
                silence = error
                throw error
            }
            return .success(try cloudEvent.event(app: owner))
        } catch {
            return .failure(error)
        }
    }
}
