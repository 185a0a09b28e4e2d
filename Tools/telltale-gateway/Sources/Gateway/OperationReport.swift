public import TelltaleModel

/// How an operation of a control ended, read from a row.
public struct OperationReport: Hashable, Sendable {
    public var rev: Int64
    private var members: JSONObject

    /// `nil` if the row does not contain the end of that operation.
    public init?(of operation: String, in row: JSONObject, rev: Int64) {
        let ends = [row["last"]].compactMap { $0?.object } + (row["ended"]?.array ?? []).compactMap(\.object)
        guard let end = ends.first(where: { $0["op"]?.string == operation }) else { return nil }
        members = end
        self.rev = rev
    }

    /// `{"op":…,"result":…,"reason":…,"message":…,"rev":…}`, as far as they are known.
    public var json: [UInt8] {
        JSONWriter.object { writer in
            for name in ["op", "result", "reason", "code", "message"] {
                if let value = members[name] { writer.member(named: name, value) }
            }
            writer.member("rev", rev)
        }
    }
}
