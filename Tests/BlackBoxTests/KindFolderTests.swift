import Foundation
import TestSupport
import Testing

/// Files in the folder of kinds that are no kind's.
struct KindFolderTests {
    @Test func `a pipe and a file that is too large are refused, and nothing is waited for`() async throws {
        try await onOwnThread {
            for isPipe in [true, false] {
                let folder = try TemporaryFolder()
                let path = folder.path("x.json")
                if isPipe {
                    #expect(unsafe mkfifo(path, 0o600) == 0)
                } else {
                    try Data(repeating: 0x20, count: 300_000).write(to: URL(filePath: path))
                }
                let program = try DaemonProcess.launch([
                    "--data", folder.path("data"), "--kinds", folder.url.path, "--listen", "127.0.0.1:0",
                ])
                #expect(program.waitForExit() == 78)
                #expect(
                    program.standardError.contains(
                        isPipe ? "x.json is no file" : "x.json has 300000 bytes; a kind has at most 262144"),
                    "\(program.standardError)")
            }
        }
    }
}
