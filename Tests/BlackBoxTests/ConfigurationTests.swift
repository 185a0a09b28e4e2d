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
        try await inFolder { folder in
            let file = folder.appending(path: "telltaled.json")
            try Data(#"{"nonsense":1}"#.utf8).write(to: file)
            let listing = try DaemonProcess.launch(["--config", file.path])
            #expect(listing.waitForExit() == 78)
            // The flag of `dev` takes no text.
            let names = try #require(listing.standardError.firstMatch(of: /those that exist are (.+)/)).output.1
                .split(separator: ", ").map(String.init).filter { $0 != "dev" }
            #expect(names.count > 20)
            // A text of one character is a fault for every setting except the paths.
            let program = try DaemonProcess.launch(names.flatMap { ["--\($0)", "?"] })
            #expect(program.waitForExit() == 78)
            let faults = program.standardError
            let logStore = ["engine", "engine-creds", "engine-monitor"]
            let free = ["data", "kinds", "socket", "auth", "tls-cert", "tls-key"] + logStore
            for name in names where !free.contains(name) {
                #expect(faults.contains("--\(name): "), "--\(name) reaches no setting")
            }
            // They take any text, and belong to a cluster, whose name is the fault above.
            let alone = try DaemonProcess.launch(logStore.flatMap { ["--\($0)", "?"] })
            #expect(alone.waitForExit() == 78)
            for name in logStore { #expect(alone.standardError.contains("--\(name): belongs to --cluster NAME")) }
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
        try await inFolder { folder in
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
        try await inFolder { folder in
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

    @Test func `a check of the configuration reads the files that it names, and reports the faults of all`()
        async throws
    {
        try await inFolder { folder in
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

    @Test func `a check reports the faults of settings, of what does not go together and of files in one go`()
        async throws
    {
        try await inFolder { folder in
            try Data("{".utf8).write(to: folder.appending(path: "kinds/torn.json"))
            let file = folder.appending(path: "telltaled.json")
            let settings: [String: Any] = [
                "data": folder.path + "/data", "kinds": folder.path + "/kinds", "auth": folder.path + "/nobody.json",
                "pace": "quick", "retention": "7 days", "tls-cert": "/nope.pem",
                "listen": ["127.0.0.1:7878", "nowhere", "127.0.0.1:7878", "tls://127.0.0.1:7878", "0.0.0.0:1"],
                "socket": "/" + String(repeating: "s", count: 107), "lease": "3s", "colour": "red",
            ]
            try JSONSerialization.data(withJSONObject: settings).write(to: file)
            let program = try DaemonProcess.launch(["--config", file.path, "--check-config"])
            #expect(program.waitForExit() == 78)
            let faults = program.standardError.split(separator: "\n").filter { !$0.contains(" warning ") }
            for fault in [
                "colour: no such setting", "pace: takes auto, or a span", "retention: takes a span such as",
                "--tls-cert: needs --tls-key FILE", "\"127.0.0.1:7878\" takes the port that 127.0.0.1:7878 has",
                "\"tls://127.0.0.1:7878\" takes the port", "not \"nowhere\"", "not \"0.0.0.0:1\"",
                "socket: takes a path of 1 to 107 bytes", "--lease: belongs to --cluster", "torn.json",
                "nobody.json",
            ] {
                #expect(faults.count { $0.contains(fault) } == 1, "\(fault) in \(faults)")
            }
            #expect(faults.count == 12, "\(faults)")
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/data"))
        }
    }

    @Test(
        "A certificate that no listener can use is a fault",
        arguments: [
            (["--tls-cert", "/nope.pem"], ["--tls-cert: needs --tls-key"]),
            (["--tls-key", "/nope.pem"], ["--tls-key: needs --tls-cert"]),
            (["--tls-cert", "/nope.pem", "--tls-key", "/nope.pem"], ["--tls-cert: no listener uses it", "/nope.pem"]),
            (["--tls-cert", "/nope.pem", "--listen", "nowhere"], ["nowhere", "--tls-cert: needs --tls-key"]),
        ] as [([String], [String])])
    func certificate(arguments: [String], faults: [String]) async throws {
        try await inFolder { folder in
            let program = try DaemonProcess.launch(
                ["--data", folder.path + "/data", "--kinds", folder.path + "/kinds", "--check-config"] + arguments)
            #expect(program.waitForExit() == 78)
            let lines = program.standardError.split(separator: "\n").filter { !$0.contains(" warning ") }
            #expect(lines.count == faults.count, "\(lines)")
            for (line, fault) in zip(lines, faults) { #expect(line.contains(fault), "\(line)") }
        }
    }

    @Test func `a file that cannot be read hides no fault of a flag, and what it may hold is not missed`() async throws
    {
        try await onOwnThread {
            let program = try DaemonProcess.launch(["--config", "/nope.json", "--check-config", "--pace", "quick"])
            #expect(program.waitForExit() == 78)
            let faults = program.standardError.split(separator: "\n")
            #expect(faults.count == 2 && faults.contains { $0.contains("/nope.json") }, "\(faults)")
            #expect(faults.contains { $0.contains("--pace: takes") }, "\(faults)")
        }
    }

    @Test(
        "A span of time has one form in every setting, as text and as a number, in the file and as a flag",
        arguments: [
            ("retention", ["7d", "604800", "90s", "PT36H"], ["7 days", "d", "-1", "0", "0s", "4000d", "1.5h"]),
            ("event-id-age", ["1h30m", "60"], ["1 h"]), ("heartbeat", ["3s", "1500ms", "1500"], ["50", "50ms", "2h"]),
            ("stuck-reader", ["30s", "30000"], ["1s"]), ("widget-floor", ["0", "0s", "5m"], ["2d"]),
            ("stack-hold", ["15m", "900"], ["900 s"]), ("pace", ["auto", "0", "2ms", "2"], ["2s", "1001"]),
            // Settings of a cluster have never taken plain numbers: one without a unit is likely a mistake.
            ("lease", ["3s", "1500ms"], ["3000", "3"]), ("give-up", ["12s"], ["12"]), ("base-every", ["1h"], ["1"]),
            // No span, and reported by the same words.
            ("rules", ["1", "2"], ["0", "3", "two"]),
        ] as [(String, [String], [String])])
    func spans(name: String, good: [String], bad: [String]) async throws {
        try await inFolder { folder in
            let file = folder.appending(path: "telltaled.json")
            var usual = ["--data", folder.path + "/data", "--kinds", folder.path + "/kinds", "--check-config"]
            if ["lease", "give-up", "base-every"].contains(name) {
                usual += [
                    "--cluster", "c", "--node", "n", "--advertise", "127.0.0.1:7878", "--engine", "file:/nowhere",
                ]
            }
            func status(_ more: [String]) throws -> (Int32?, String) {
                let program = try DaemonProcess.launch(usual + more)
                return (program.waitForExit(), program.standardError)
            }
            for (values, expected) in [(good, Int32(0)), (bad, 78)] {
                for value in values {
                    let flag = try status(["--\(name)=\(value)"])
                    #expect(flag.0 == expected, "\(value): \(flag.1)")
                    if expected != 0 { #expect(flag.1.contains("--\(name): takes "), "\(flag.1)") }
                    let texts = [JSON.string(value)] + (Int64(value).map { [JSON.integer($0)] } ?? [])
                    for text in texts {
                        try Data("{\"\(name)\":\(text)}".utf8).write(to: file)
                        #expect(try status(["--config", file.path]).0 == expected, "\(text)")
                    }
                }
            }
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
        try await inFolder { folder in
            let program = try DaemonProcess.launch(
                ["--data", folder.path + "/data", "--kinds", folder.path + "/kinds", "--listen", "0.0.0.0:0"])
            #expect(program.waitForExit() == 78)
            #expect(program.standardError.contains("0.0.0.0"))
            #expect(program.standardError.contains("use --auth FILE and tls://HOST:PORT"))
        }
    }

    @Test func `an unknown key of the configuration file is an error`() async throws {
        try await inFolder { folder in
            let file = folder.appending(path: "telltale.json")
            try Data(#"{"data":"\#(folder.path)/data","kinds":"\#(folder.path)/kinds","colour":"red"}"#.utf8).write(
                to: file)
            let program = try DaemonProcess.launch(["--config", file.path])
            #expect(program.waitForExit() == 78)
            #expect(program.standardError.contains("colour"))
        }
    }

    @Test func `a broken kind is named with its file, and nothing is served`() async throws {
        try await inFolder { folder in
            try Data(#"{"kind":"walk","type":"activity","version":1,"app":"a"}"#.utf8).write(
                to: folder.appending(path: "kinds/walk.json"))
            try DaemonProcess.expectRefusal(
                of: ["--data", folder.path + "/data", "--kinds", folder.path + "/kinds", "--listen", "127.0.0.1:0"],
                telling: "walk.json")
        }
    }

    @Test func `debug logs report connections and commits, and of no key`() async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess(["--log-level", "debug"])
            let peer = try daemon.greetedPeer()
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
