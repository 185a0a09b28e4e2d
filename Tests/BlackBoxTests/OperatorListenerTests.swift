import Foundation
import TestSupport
import Testing

/// `--ops-listen` of a real daemon.
struct OperatorListenerTests {
    private static func port(of daemon: DaemonProcess) throws -> UInt16 {
        try #require(daemon.ready["ops"]?.split(separator: ":").last.flatMap { UInt16($0) }, "\(daemon.ready)")
    }

    /// The lines of the response, without line endings.
    private static func get(_ path: String, _ port: UInt16, _ headers: String = "") throws -> [String] {
        let peer = try Peer(port: port)
        try peer.send(bytes: Array("GET \(path) HTTP/1.1\r\nHost: x\r\n\(headers)\r\n".utf8))
        var lines: [String] = []
        while case .line(let line) = peer.next() { lines.append(line.trimmingCharacters(in: .newlines)) }
        return lines
    }

    @Test func `a daemon has figures of its own, and says whether it serves`() async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess(["--ops-listen", "127.0.0.1:0"])
            let port = try Self.port(of: daemon)
            let peer = try daemon.greetedPeer()
            try peer.send("EVT errand/1 type=start")
            guard case .line = peer.next() else { return #expect(Bool(false), "no reply") }
            let text = try Self.get("/metrics", port)
            #expect(text.first == "HTTP/1.1 200 OK")
            for line in ["telltale_up 1", "telltale_connections 1", "telltale_verdicts_total{verdict=\"noop\"} 0"] {
                #expect(text.contains(line), "\(line) \(text)")
            }
            let open = try Self.get("/metrics", port, "Accept: application/openmetrics-text; version=1.0.0\r\n")
            #expect(open.last == "# EOF" && open.contains("telltale_rows_total 0"))
            #expect(try Self.get("/healthz", port).last == "ok")
            #expect(try Self.get("/readyz", port).last == #"{"ready":true}"#)
            #expect(try Self.get("/", port).first == "HTTP/1.1 404 Not Found")
        }
    }

    @Test func `a connection that says nothing is closed, and there are sixteen at most`() async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess(["--ops-listen", "127.0.0.1:0"])
            let port = try Self.port(of: daemon)
            let silent = try (0..<16).map { _ in try Peer(port: port) }
            try silent[0].send(bytes: Array("GET /met".utf8))
            let refused = try Peer(port: port)
            #expect(refused.next() == .line("HTTP/1.1 503 Service Unavailable\r"))
            for peer in silent { #expect(peer.next() == .end) }
            #expect(try Self.get("/healthz", port).last == "ok")
        }
    }

    @Test func `a node of a cluster is ready when it serves`() async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let listen = try freePort()
            let daemon = try DaemonProcess(
                [
                    "--ops-listen", "127.0.0.1:0", "--cluster", "shop", "--node", "n1", "--advertise",
                    "127.0.0.1:\(listen)", "--engine", "file:\(folder.path("log"))", "--lease", "1500ms",
                ], port: listen)
            try daemon.waitUntilLogged("this node leads")
            let port = try Self.port(of: daemon)
            #expect(try Self.get("/readyz", port).last == #"{"ready":true,"node":"n1","role":"leader"}"#)
            #expect(try Self.get("/metrics", port).contains("telltale_cluster_leading{node=\"n1\"} 1"))
        }
    }

    @Test func `beyond this machine it needs principals`() async throws {
        try await onOwnThread {
            let program = try DaemonProcess.launch(
                ["--data", "/nowhere", "--kinds", "/nowhere", "--ops-listen", "0.0.0.0:0"])
            #expect(program.waitForExit() == 78)
            #expect(program.standardError.contains("--ops-listen: may be an address of this machine alone"))
        }
    }

    @Test func `beyond this machine figures need a token with the scope stats`() async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let file = folder.path("principals.json")
            func token(_ name: String, _ scope: String) throws -> String {
                let add = try RunningProgram(
                    program("telltale"), ["token", "add", name, "--scope", scope, "--auth", file])
                let lines = add.readToEnd()
                try #require(add.waitForExit() == 0, "\(add.standardError)")
                return try #require(lines.first)
            }
            let (prometheus, till) = (try token("prometheus", "stats"), try token("till", "post:*"))
            let daemon = try DaemonProcess(["--auth", file, "--ops-listen", "0.0.0.0:0"])
            let port = try Self.port(of: daemon)
            for (header, status) in [
                ("", 401), ("Authorization: Bearer \(till)\r\n", 401), ("Authorization: Bearer nonsense\r\n", 401),
                ("Authorization: Bearer \(prometheus)\r\n", 200),
            ] {
                #expect(
                    try Self.get("/metrics", port, header).first?.hasPrefix("HTTP/1.1 \(status) ") == true, "\(header)")
            }
            #expect(try Self.get("/readyz", port).last == #"{"ready":true}"#)
            #expect(!daemon.standardError.contains(prometheus))
        }
    }
}
