import Hub
import Server

/// A connection of a client: strings in and strings out.
final class TownClient {
    var id: SessionID?
    var isClosed = false
    private var lines: [String] = []

    func receive(_ bytes: [UInt8]) {
        lines += String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    func take() -> [String] {
        defer { lines = [] }
        return lines
    }
}

// Its clients.
extension TownDaemon {
    func connect() -> TownClient {
        guard let id = server?.connected(at: town.time) else { return TownClient() }
        let client = TownClient()
        clients[id] = client
        client.id = id
        town.settle()
        return client
    }

    /// Sends lines, lets everything happen that needs no time, and gives what came since the last time.
    @discardableResult
    func send(_ lines: String, from client: TownClient) -> [String] {
        if let id = client.id, !client.isClosed, !isPaused {
            _ = server?.received(Array((lines + "\n").utf8).span, from: id, at: town.time)
        }
        town.settle()
        return client.take()
    }

    /// Posts a start, and gives the reply.
    func post(_ key: String, _ attributes: String = "", from client: TownClient) -> String {
        send("EVT \(key) type=start" + (attributes.isEmpty ? "" : " " + attributes), from: client).last ?? ""
    }
}

// The ends of connections.
extension TownDaemon {
    func close(_ id: SessionID) {
        clients.removeValue(forKey: id)?.isClosed = true
        server?.disconnected(id)
    }

    func closeAll(_ farewell: [UInt8]) {
        for client in clients.values {
            client.receive(farewell)
            client.isClosed = true
        }
        clients = [:]
    }
}
