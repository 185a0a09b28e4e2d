public import TelltaleModel

/// The outcome of each event of a batch.
public struct CloudEventBatch: ~Copyable {
    /// The most events of a batch.
    public static let eventLimit = 1_000

    private var writer = JSONWriter()
    private var isLater = false
    private var isRefused = false

    public init() { writer.beginArray() }

    /// - Parameter members: The members of the daemon's answer.
    public mutating func taken(id: String, _ members: [(name: String, value: JSON)]) {
        writer.beginObject()
        writer.member("id", id)
        writer.member("status", 200)
        for member in members { writer.member(named: member.name, member.value) }
        writer.endObject()
    }

    public mutating func refused(id: String?, _ problem: Problem) {
        if problem.retry == "later" || problem.retry == "now" { isLater = true } else { isRefused = true }
        writer.beginObject()
        if let id { writer.member("id", id) }
        writer.member("status", problem.status)
        writer.member("code", problem.code)
        writer.member("title", problem.title)
        writer.endObject()
    }

    /// 200 if all were accepted, 503 if some may be accepted later, else 422.
    public var status: Int { isLater ? 503 : isRefused ? 422 : 200 }

    public mutating func finish() -> [UInt8] {
        writer.endArray()
        return writer.take()
    }
}
