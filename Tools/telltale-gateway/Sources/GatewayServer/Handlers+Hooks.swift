internal import Gateway
internal import Hummingbird
internal import Logging
internal import Metrics
internal import TelltaleClient
internal import TelltaleModel
internal import TelltaleNIOClient
internal import TelltaleWire

extension GatewayResponder {
    /// Accepts every verified delivery, whatever its outcome, because senders disable a hook after some failures.
    func deliver(to name: String, _ caller: Caller) async throws(Problem) -> Response {
        guard let loaded = gateway.hooks.find(name) else {
            throw Problem("unknown_hook", "there is no hook \"\(name.prefix(70))\"")
        }
        var headers: [String: String] = [:]
        for field in caller.request.headers {
            let name = field.name.canonicalName
            headers[name] = headers[name].map { "\($0),\(field.value)" } ?? field.value
        }
        var check = loaded.hook.check(headers, secrets: loaded.secrets, now: SystemClock.now)
        let body = try await caller.body(upTo: EventRequest.deliveryByteLimit) { check.digest($0) }
        let delivery = Delivery(headers: headers, body: body)
        var record = HookTable.Record(
            at: SystemClock.now, hook: name, topic: "", result: "", status: 200, requestID: caller.requestID)
        if loaded.hook.isPing(delivery) { return finish(&record, "unmatched", Self.none) }
        do throws(Problem) {
            try check.finish()
        } catch {
            record.status = error.status
            record.code = error.code
            _ = finish(&record, "bad_signature", [])
            throw error
        }
        return try await post(delivery, loaded.hook, &record)
    }

    private static let none = Array("{\"events\":[]}".utf8)

    private func post(
        _ delivery: Delivery, _ hook: Hook, _ record: inout HookTable.Record
    ) async throws(Problem) -> Response {
        do throws(Problem) {
            switch try hook.outcome(of: delivery) {
            case .unmatched(let topic):
                record.topic = topic
                return finish(&record, "unmatched", Self.none)
            case .event(let event, let topic, _):
                record.topic = topic
                record.key = event.key.text
                record.type = event.type
                let answer = try await gateway.link.askForSelf(.event(event))
                record.verdict = answer.reply.line["verdict"]
                record.title = Answers.hint(answer.reply.line)
                return finish(&record, "posted", Self.taken(event, answer.reply.line))
            }
        } catch {
            record.code = error.code
            record.title = error.title
            if error.retry == "later" || error.retry == "now" {
                record.status = 503
                _ = finish(&record, "later", [])
                var problem = error
                problem.status = 503
                problem.retry = "later"
                throw problem
            }
            return finish(&record, "refused", Self.refused(error))
        }
    }

    private static func taken(_ event: EventCommand, _ line: ServerLine) -> [UInt8] {
        JSONWriter.object { writer in
            writer.objects("events", of: [event]) { event, writer in
                writer.member("key", event.key.text)
                writer.member("type", event.type)
                Answers.appendActed(line, to: &writer)
            }
        }
    }

    private static func refused(_ problem: Problem) -> [UInt8] {
        JSONWriter.object { writer in
            writer.objects("events", of: [problem]) { problem, writer in
                writer.member("code", problem.code)
                writer.member("title", problem.title)
            }
        }
    }

    private func finish(_ record: inout HookTable.Record, _ result: String, _ body: [UInt8]) -> Response {
        record.result = result
        gateway.hooks.remember(record)
        HookTable.counter(record.hook, result).increment()
        if !["posted", "unmatched"].contains(result) {
            gateway.log.warning(
                "webhook delivery",
                metadata: [
                    "hook": "\(record.hook)", "result": "\(result)", "code": "\(record.code ?? "-")",
                    "request_id": "\(record.requestID)", "topic": "\(record.topic)",
                ])
        }
        return .json(body)
    }

    /// The last deliveries. A daemon with tokens decides who may see them: whoever may read its statistics.
    func listDeliveries(_ caller: Caller) async throws(Problem) -> Response {
        if try await !gateway.link.letsEverybodyIn(asking: caller.token) {
            _ = try await gateway.link.ask(.stats, token: caller.token)
        }
        return .json(
            JSONWriter.object { writer in
                writer.array("hooks", of: gateway.hooks.names) { $1.value($0) }
                writer.objects("deliveries", of: gateway.hooks.history) { record, writer in
                    writer.member("at", record.at.milliseconds)
                    writer.member("hook", record.hook)
                    writer.member("topic", record.topic)
                    writer.member("result", record.result)
                    writer.member("status", record.status)
                    writer.member("request_id", record.requestID)
                    for (name, value) in [
                        ("key", record.key), ("type", record.type), ("verdict", record.verdict), ("code", record.code),
                        ("title", record.title),
                    ] {
                        if let value { writer.member(named: name, .string(value)) }
                    }
                }
            })
    }
}
