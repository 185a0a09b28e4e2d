import Foundation
import Glibc
import TestSupport
import Testing

/// Commands that root runs on the folder of a daemon, which is another user.
struct FolderOwnerTests {
    @Test(.enabled(if: geteuid() == 0, "only root can give a folder to another user"))
    func `a repair by root says how to give the files back`() async throws {
        try await withDaemon { daemon in
            let peer = try daemon.greetedPeer()
            _ = try peer.ask("EVT errand/1 type=start")
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
            let data = daemon.folder.appending(path: "data").path
            let advice = "what was written belongs to root; before the daemon starts: chown -R 65534:65533 \(data)\n"
            for isOfRoot in [true, false] {
                if !isOfRoot { #expect(unsafe chown(data, 65534, 65533) == 0) }
                let repair = try RunningProgram(program("telltale"), ["journal", "repair", data])
                let lines = repair.readToEnd()
                #expect(repair.waitForExit() == 0, "\(repair.standardError)")
                #expect(lines.contains { $0.hasPrefix("nothing was damaged") }, "\(lines)")
                #expect(repair.standardError.hasSuffix(advice) == !isOfRoot, "\(repair.standardError)")
            }
        }
    }
}
