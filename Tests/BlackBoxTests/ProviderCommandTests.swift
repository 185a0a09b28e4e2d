import TestSupport
import Testing

/// `telltale-sim provider`: a simulated thing behind a control.
struct ProviderCommandTests {
    @Test func `a toggle without a value is an error that says how to name it`() async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess()
            let provider = try RunningProgram(
                program("telltale-sim"), ["provider", "porch-light/front", "--connect", "127.0.0.1:\(daemon.port)"])
            #expect(provider.waitForExit() == 1)
            #expect(
                provider.standardError.hasSuffix(
                    "porch-light/front is a toggle: write porch-light/front=on or porch-light/front=off\n"),
                "\(provider.standardError)")
        }
    }
}
