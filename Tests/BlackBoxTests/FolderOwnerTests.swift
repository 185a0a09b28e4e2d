import Foundation
import Glibc
import TestSupport
import Testing

/// Commands that root runs on the folder of a daemon, which is another user.
struct FolderOwnerTests {
    @Test(.enabled(if: geteuid() == 0, "only root can give files to another user"))
    func `what root repairs belongs to the folder's owner, as before`() async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess()
            let peer = try Peer(port: daemon.port)
            _ = try peer.receive()
            _ = try peer.ask("EVT errand/1 type=start")
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
            let data = daemon.folder.appending(path: "data").path
            let own = data + "/of-root"
            try Data("root's".utf8).write(to: daemon.folder.appending(path: "elsewhere"))
            _ = try run("chown -R 65534:65534 \(data) && ln \(daemon.folder.path)/elsewhere \(own)")
            let repair = try RunningProgram(program("telltale"), ["journal", "repair", data])
            let lines = repair.readToEnd()
            #expect(repair.waitForExit() == 0, "\(repair.standardError)")
            #expect(lines.contains { $0.hasPrefix("nothing was damaged") }, "\(lines)")
            // A second name of a file of root's is none that the command made.
            #expect(try run("find \(data) -user root") == [own])
            #expect(
                try run("find \(data) -maxdepth 1 -name journal.sqlite -uid 65534 -gid 65534") == [
                    data + "/journal.sqlite"
                ])
        }
    }

    private func run(_ command: String) throws -> [String] {
        let shell = try RunningProgram(URL(filePath: "/bin/sh"), ["-c", command])
        let lines = shell.readToEnd()
        try #require(shell.waitForExit() == 0, "\(command): \(shell.standardError)")
        return lines
    }
}
