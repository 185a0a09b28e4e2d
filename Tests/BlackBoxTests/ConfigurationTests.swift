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
            for name in names where !["data", "kinds", "socket"].contains(name) {
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

    @Test func `other than loopback is refused until there is authentication`() async throws {
        try await onOwnThread {
            let folder = try DaemonProcess.makeFolder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let program = try DaemonProcess.launch(
                ["--data", folder.path + "/data", "--kinds", folder.path + "/kinds", "--listen", "0.0.0.0:0"])
            #expect(program.waitForExit() == 78)
            #expect(program.standardError.contains("0.0.0.0"))
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
}
