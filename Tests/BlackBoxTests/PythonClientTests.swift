import Foundation
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// The two clients of `Protocols/Line`: proof that anyone can write one.
@Suite(.serialized, .nightly)
struct PythonClientTests {
    @Test("A client is a page", arguments: ["order_system.py", "subscriber.py"])
    func length(name: String) throws {
        let text = try String(contentsOf: script(name), encoding: .utf8)
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count - 1 <= 60)
    }

    @Test(
        "Without its arguments a client tells them, in one line",
        arguments: ["Line/order_system.py", "Line/subscriber.py", "Controls/lamp.py"])
    func usage(path: String) async throws {
        try await onOwnThread {
            let file = repository.appending(path: "Protocols/\(path)")
            let client = try RunningProgram(URL(filePath: "/usr/bin/env"), ["python3", file.path])
            #expect(client.readToEnd().isEmpty && client.waitForExit() == 1)
            #expect(client.standardError.hasPrefix("usage: \(file.lastPathComponent) HOST:PORT"))
            #expect(client.standardError.split(separator: "\n").count == 1)
        }
    }

    @Test func `orders go in, rows come out, and a second run doubles nothing`() async throws {
        try await withDaemon { daemon in
            let subscriber = try python("subscriber.py", daemon.port, ["coffee-order/*", "carplay"])
            defer { subscriber.kill() }
            #expect(subscriber.readLine() == "= 0")
            let events = [
                #"coffee-order/1 start {"attributes":{"item":"Flat white"}}"#, "coffee-order/1 CONFIRMED",
                "coffee-order/1 brew", #"coffee-order/1 ready {"content-state":{"shelf":"B"}}"#,
                "coffee-order/1 collect",
            ]
            #expect(try post(events.prefix(4), daemon.port) == ["applied", "applied", "applied", "applied"])
            // Rows in between may be folded, the newest is not.
            var title = ""
            while title != "Ready", let line = subscriber.readLine() {
                let parts = line.split(separator: " ", maxSplits: 3).map(String.init)
                try #require(parts.count == 4)
                if parts[0] == "+" { title = try JSONParser.parse(parts[3])["view"]?["title"]?.string ?? "" }
            }
            #expect(title == "Ready")
            let again = Array(repeating: "duplicate", count: 4)
            #expect(try post(events[...], daemon.port) == again + ["applied"])
            #expect(try post(events[...], daemon.port) == again + ["duplicate"])
            let line = subscriber.readLine() ?? ""
            #expect(line.hasPrefix("- coffee-order/1 ") && line.hasSuffix(" hidden"))
        }
    }

    /// The verdicts that the order system was given.
    private func post(_ events: ArraySlice<String>, _ port: UInt16) throws -> [String] {
        let orders = try python("order_system.py", port, input: events.joined(separator: "\n") + "\n")
        let lines = orders.readToEnd().map { $0.split(separator: " ") }
        #expect(lines.map { $0.dropLast() } == events.map { $0.split(separator: " ").prefix(2) })
        #expect(orders.waitForExit() == 0)
        return lines.compactMap { $0.last.map(String.init) }
    }

    @Test func `an event that is refused is reported, and the exit says so`() async throws {
        try await withDaemon { daemon in
            let orders = try python("order_system.py", daemon.port, input: "nothing/1 start\nerrand/1 start\n")
            #expect(orders.readToEnd() == ["nothing/1 start unknown_kind", "errand/1 start applied"])
            #expect(orders.waitForExit() == 1)
        }
    }

    @Test func `both go on where they were when the server is killed and comes back`() async throws {
        try await onOwnThread {
            let count = 3000
            let events = (0..<count).map { "errand/\($0) start {\"attributes\":{\"n\":\($0)}}\n" }.joined()
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            var daemon = try DaemonProcess(in: folder)
            let port = daemon.port
            let subscriber = try python("subscriber.py", port, ["errand/*"])
            defer { subscriber.kill() }
            #expect(subscriber.readLine() == "= 0")
            let orders = try python("order_system.py", port, input: events)
            var verdicts: [String] = []
            while verdicts.count < 500, let line = orders.readLine() { verdicts.append(line) }
            daemon.send(SIGKILL)
            _ = daemon.waitForExit()
            daemon = try DaemonProcess(in: folder, port: port)
            verdicts += orders.readToEnd()
            #expect(orders.waitForExit() == 0)
            #expect(verdicts.count == count)
            #expect(verdicts.allSatisfy { $0.hasSuffix(" applied") || $0.hasSuffix(" duplicate") })

            // Each order once, and each seen by the subscriber.
            let peer = try Peer(port: port)
            #expect(try peer.receive().verb == "TELLTALE")
            try peer.send("LIST errand/*")
            var listed = 0
            while try peer.receive().verb == "SNAP" { listed += 1 }
            #expect(listed == count)
            var seen: Set<String> = []
            while seen.count < count, let line = subscriber.readLine() {
                let parts = line.split(separator: " ")
                if parts.first == "+" { seen.insert(String(parts[1])) }
            }
            #expect(seen.count == count, "\(subscriber.standardError)")
        }
    }

    private func script(_ name: String) -> URL { repository.appending(path: "Protocols/Line/\(name)") }

    private func python(
        _ name: String, _ port: UInt16, _ arguments: [String] = [], input: String? = nil
    ) throws -> RunningProgram {
        try RunningProgram(
            URL(filePath: "/usr/bin/env"), ["python3", script(name).path, "127.0.0.1:\(port)"] + arguments,
            input: input)
    }
}
