import Foundation
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// The settings of the daemon, and its messages about wrong ones before it serves.
@Suite(.serialized)
struct ConfigurationTests {
    @Test func `a bad configuration exits 78 and names every fault`() async throws {
        try await onOwnThread {
            let program = try DaemonProcess.launch(
                ["--listen", "nowhere", "--sync", "maybe", "--pace", "-1", "--clock-speed", "fast"])
            #expect(program.waitForExit() == 78)
            for fault in ["listen", "sync", "pace", "clock-speed", "data", "kinds"] {
                #expect(program.standardError.contains(fault), "\(fault) is not named")
            }
        }
    }

    @Test func `every setting has a flag of its name`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let file = folder.appending(path: "telltaled.json")
            try Data(#"{"nonsense":1}"#.utf8).write(to: file)
            let listing = try DaemonProcess.launch(["--config", file.path])
            #expect(listing.waitForExit() == 78)
            let names = try #require(listing.standardError.firstMatch(of: /those that exist are (.+)/)).output.1
                .split(separator: ", ").map(String.init)
            #expect(names.count > 20)
            // A text of one character is a fault for every setting except the paths.
            let program = try DaemonProcess.launch(names.flatMap { ["--\($0)", "?"] })
            #expect(program.waitForExit() == 78)
            let faults = program.standardError
            for name in names where !["data", "kinds", "socket", "auth", "tls-cert", "tls-key"].contains(name) {
                #expect(faults.contains("--\(name): "), "--\(name) reaches no setting")
            }
            for name in ["data", "kinds"] { #expect(!faults.contains("--\(name): "), "--\(name) reaches no setting") }
        }
    }

    @Test func `a variable with a wrong value is an error, and so is an unknown one`() async throws {
        try await onOwnThread {
            let variables = ["TELLTALE_JOURNAL": "disk", "TELLTALE_COLOUR": "red"]
            let program = try RunningProgram(DaemonProcess.executable, [], environment: variables)
            #expect(program.waitForExit() == 78)
            for variable in variables.keys { #expect(program.standardError.contains(variable)) }
        }
    }

    @Test func `a variable that a cluster or the command line sets is ignored with a warning`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let variables = [
                "TELLTALE_SERVICE_HOST": "10.96.0.7", "TELLTALE_SERVICE_PORT": "7878",
                "TELLTALE_SERVICE_PORT_LINES": "7878",
                "TELLTALE_PORT": "tcp://10.96.0.7:7878", "TELLTALE_PORT_7878_TCP": "tcp://10.96.0.7:7878",
                "TELLTALE_PORT_7878_TCP_PROTO": "tcp", "TELLTALE_PORT_7878_TCP_PORT": "7878",
                "TELLTALE_PORT_7878_TCP_ADDR": "10.96.0.7", "TELLTALE_OP": "7", "TELLTALE_KEY": "porch-light/front",
                "TELLTALE_GATEWAY": "/usr/bin/telltale-gateway", "TELLTALE_GATEWAY_LISTEN": "http://127.0.0.1:7880",
            ]
            let arguments = ["--data", folder.path + "/data", "--kinds", folder.path + "/kinds", "--check-config"]
            let program = try RunningProgram(DaemonProcess.executable, arguments, environment: variables)
            #expect(program.waitForExit() == 0)
            for variable in variables.keys {
                #expect(program.standardError.contains("\(variable) is passed over"), "\(variable)")
            }
            // A port in digits can only be meant for the daemon, and it has no such setting.
            let meant = try RunningProgram(DaemonProcess.executable, arguments, environment: ["TELLTALE_PORT": "7878"])
            #expect(meant.waitForExit() == 78)
        }
    }

    @Test func `a check of the configuration locates its faults, and makes nothing`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let file = folder.appending(path: "telltale.json")
            try Data(#"{"data":"\#(folder.path)/data","kinds":"\#(folder.path)/kinds"}"#.utf8).write(to: file)
            let good = try DaemonProcess.launch(["--config", file.path, "--check-config"])
            #expect(good.readLine()?.hasPrefix("the configuration is in order") == true)
            #expect(good.waitForExit() == 0)
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/data"))
            try Data("{\n  \"data\": \"x\",\n  \"kinds\": 'y'\n}\n".utf8).write(to: file)
            let broken = try DaemonProcess.launch(["--config", file.path, "--check-config"])
            #expect(broken.waitForExit() == 78)
            #expect(broken.standardError.contains("line 3, column 12"))
        }
    }

    @Test func `a check of the configuration reads the files that it names, and tells the faults of all`()
        async throws
    {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let usual = ["--data", folder.path + "/data", "--kinds", folder.path + "/kinds", "--check-config"]
            try Data("{".utf8).write(to: folder.appending(path: "kinds/torn.json"))
            let program = try DaemonProcess.launch(
                usual + [
                    "--auth", folder.path + "/nobody.json", "--listen", "tls://127.0.0.1:0", "--tls-cert",
                    folder.path + "/none.pem", "--tls-key", folder.path + "/none.key", "--cluster", "shop", "--node",
                    "n1", "--advertise", "127.0.0.1:1", "--engine", "nats://127.0.0.1:1",
                    "--engine-creds", "/nowhere.creds",
                ])
            #expect(program.waitForExit() == 78)
            let text = program.standardError
            for fault in [
                "torn.json", "nobody.json", "none.pem", "monitors are not named", "/nowhere.creds cannot be read",
            ] {
                #expect(text.contains(fault), "\(fault) in \(text)")
            }
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/data"))
        }
    }

    @Test("The file of the Unix socket has the mode that is asked for", arguments: [nil, "0660", "0666"])
    func socketMode(_ mode: String?) async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder()
            let path = folder.path("s")
            let daemon = try DaemonProcess(["--socket", path] + (mode.map { ["--socket-mode", $0] } ?? []))
            #expect(daemon.ready["unix"] == path)
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == Int(mode ?? "0600", radix: 8))
        }
    }

    @Test func `other than loopback is refused without authentication and encryption`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let program = try DaemonProcess.launch(
                ["--data", folder.path + "/data", "--kinds", folder.path + "/kinds", "--listen", "0.0.0.0:0"])
            #expect(program.waitForExit() == 78)
            #expect(program.standardError.contains("0.0.0.0"))
            #expect(program.standardError.contains("use --auth FILE and tls://HOST:PORT"))
        }
    }

    @Test func `an unknown key of the configuration file is an error`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let file = folder.appending(path: "telltale.json")
            try Data(#"{"data":"\#(folder.path)/data","kinds":"\#(folder.path)/kinds","colour":"red"}"#.utf8).write(
                to: file)
            let program = try DaemonProcess.launch(["--config", file.path])
            #expect(program.waitForExit() == 78)
            #expect(program.standardError.contains("colour"))
        }
    }

    @Test func `a broken kind is named with its file, and nothing is served`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            try Data(#"{"kind":"walk","type":"activity","version":1,"app":"a"}"#.utf8).write(
                to: folder.appending(path: "kinds/walk.json"))
            try DaemonProcess.expectRefusal(
                of: ["--data", folder.path + "/data", "--kinds", folder.path + "/kinds", "--listen", "127.0.0.1:0"],
                telling: "walk.json")
        }
    }

    @Test func `debug logs tell of connections and commits, and of no key`() async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess(["--log-level", "debug"])
            let peer = try Peer(port: daemon.port)
            _ = try peer.receive()
            #expect(try peer.ask("EVT errand/secret type=start").verb == "OK")
            peer.close()
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
            let log = daemon.standardError
            #expect(log.contains(" debug connection opened conn=c1\n"))
            #expect(log.contains(" debug committed sync_ms="))
            #expect(log.contains(" debug connection closed conn=c1 received_bytes="))
            #expect(!log.contains("secret"))
        }
    }
}
