import Foundation
import TestSupport
import Testing

/// A run of `Tools/fuzz/torture` that takes some seconds.
@Suite(.serialized, .endsOneDay, .nightly)
struct TortureTests {
    @Test("Killed under load, with a full disk, and started again: nothing is lost, doubled or shown too early")
    func torture() async throws {
        try await onOwnThread {
            let torture = try RunningProgram(
                URL(filePath: "/usr/bin/env"),
                [
                    "python3", repository.appending(path: "Tools/fuzz/torture").path, "--kills", "6", "--producers",
                    "2",
                    "--daemon", DaemonProcess.executable.path,
                ])
            defer { torture.kill() }
            let status = torture.waitForExit()
            #expect(status == 0, "\(torture.standardError)")
            let report = torture.readToEnd()
            #expect(report.last?.contains("nothing was lost") == true)
            print(report.suffix(2).joined(separator: "\n"))
        }
    }
}
