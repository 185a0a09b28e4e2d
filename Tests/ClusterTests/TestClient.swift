import Hub
import Server

/// A connection of a client: strings in and strings out.
final class TestClient {
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
extension TestDaemon {
    func connect() -> TestClient {
        guard let id = server?.connected(at: cluster.time) else { return TestClient() }
        let client = TestClient()
        clients[id] = client
        client.id = id
        cluster.settle()
        return client
    }

    /// Sends lines, lets everything happen that needs no time, and gives what came since the last time.
    @discardableResult
    func send(_ lines: String, from client: TestClient) -> [String] {
        if let id = client.id, !client.isClosed, !isPaused {
            _ = server?.received(Array((lines + "\n").utf8).span, from: id, at: cluster.time)
        }
        cluster.settle()
        return client.take()
    }

    /// Posts a start, and gives the reply.
    func post(_ key: String, _ attributes: String = "", from client: TestClient) -> String {
        send("EVT \(key) type=start" + (attributes.isEmpty ? "" : " " + attributes), from: client).last ?? ""
    }
}

// The ends of connections.
extension TestDaemon {
    func close(_ id: SessionID) {
        clients.removeValue(forKey: id)?.isClosed = true
        server?.disconnected(id)
        followers.removeValue(forKey: id)?.loseLink()
    }

    func closeAll(_ farewell: [UInt8]) {
        for (id, client) in clients {
            client.receive(farewell)
            client.isClosed = true
            server?.disconnected(id)
        }
        clients = [:]
        for follower in followers.values { follower.loseLink() }
    }
}
