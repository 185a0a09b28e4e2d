import TelltaleModel

/// The memory of an idle connection.
struct IdleMemory {
    struct Row {
        var name: String
        var before: Int
        var after: Int
        var connections: Int

        var byteCount: Int { (after - before) / connections }
    }

    private(set) var rows: [Row] = []
    private let connections: Int

    /// Ten subscriptions each, of 10,000 keys that exist.
    ///
    /// - Parameter settling: Seconds until their memory is looked at.
    static func measure(connections: Int, settling: Double, group: PeerGroup) throws -> IdleMemory {
        var memory = IdleMemory(connections: connections)
        for name in group.names {
            let target = try group.start(name)
            memory.rows.append(try measure(target, connections: connections, settling: settling))
        }
        return memory
    }

    /// - Parameter target: Fresh, so that nothing was freed that connections could have.
    static func measure(_ target: any FanOutTarget, connections: Int, settling: Double) throws -> Row {
        let shape = FanOutLoad.Shape(subscribers: connections, keys: shapeKeys(connections), each: 10)
        let load = try target.prepareLoad(shape)
        // Garbage of the start is not counted for a connection.
        try load.run(seconds: 1)
        let before = target.process.residentByteCount
        try load.connect()
        try load.run(seconds: settling)
        return Row(
            name: target.name, before: before, after: target.process.residentByteCount, connections: connections)
    }

    /// Each key has as many followers as every other.
    private static func shapeKeys(_ connections: Int) -> Int {
        connections % 1_000 == 0 ? 10_000 : connections * 10
    }

    var table: String {
        var table = TextTable()
        table.add([
            "\(connections) idle connections, ten subscriptions each", "bytes a connection", "MiB before", "after",
        ])
        for row in rows {
            table.add([row.name, "\(row.byteCount)", "\(row.before >> 20)", "\(row.after >> 20)"])
        }
        return table.text
    }

    var json: JSONObject {
        var object = JSONObject()
        for row in rows {
            var entry = JSONObject()
            entry["bytes_per_connection"] = .integer(Int64(row.byteCount))
            entry["memory_before"] = .integer(Int64(row.before))
            entry["memory_after"] = .integer(Int64(row.after))
            object[row.name] = .object(entry)
        }
        return object
    }
}
