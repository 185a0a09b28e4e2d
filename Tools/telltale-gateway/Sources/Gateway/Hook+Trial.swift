internal import TelltaleModel
internal import TelltaleWire

extension Hook {
    /// The event that a delivery would become, as one JSON object, and whether that succeeded.
    public func dryRun(of delivery: Delivery) -> (text: String, isGood: Bool) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("hook", name)
        var isGood = true
        do throws(Problem) {
            switch try outcome(of: delivery) {
            case .unmatched(let topic):
                writer.member("topic", topic)
                writer.member("events", .array([]))
            case .event(let event, let topic, let rule):
                writer.member("topic", topic)
                writer.member("rule", rule)
                writer.objects("events", of: [event]) { event, writer in
                    writer.member("key", event.key.text)
                    writer.member("type", event.type)
                    writer.member("src", event.source ?? "")
                    writer.member("eid", event.eid ?? "")
                    if let at = event.happenedAt { writer.member("at", at.milliseconds) }
                    if let version = event.version { writer.member("ver", version) }
                    if !event.accounts.isEmpty { writer.member("for", event.accounts.joined(separator: ",")) }
                    writer.member("data", .object(event.tail))
                }
            }
        } catch {
            isGood = false
            writer.member("code", error.code)
            writer.member("title", error.title)
        }
        writer.endObject()
        return (String(decoding: writer.bytes, as: UTF8.self), isGood)
    }
}
