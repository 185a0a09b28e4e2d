import TestSupport
import Testing

/// `telltale-sim provider`: a simulated thing behind a control.
struct ProviderCommandTests {
    @Test func `a toggle without a value is an error that says how to name it`() async throws {
        try await withDaemon { daemon in
            let provider = try RunningProgram(
                program("telltale-sim"), ["provider", "porch-light/front", "--connect", "127.0.0.1:\(daemon.port)"])
            #expect(provider.waitForExit() == 1)
            #expect(
                provider.standardError.hasSuffix(
                    "porch-light/front is a toggle: write porch-light/front=on or porch-light/front=off\n"),
                "\(provider.standardError)")
        }
    }

    @Test(
        "Its times are spans or plain numbers",
        arguments: [
            (["--slow", "0-50", "--whims", "5"], 69), (["--slow", "300ms-2s", "--whims", "5s"], 69),
            (["--slow", "2s-300ms"], 2), (["--slow", "1 s-2 s"], 2), (["--whims", "0s"], 2), (["--whims", "2d"], 2),
        ] as [([String], Int32)])
    func spans(options: [String], status: Int32) async throws {
        try await onOwnThread {
            let provider = try RunningProgram(
                program("telltale-sim"), ["provider", "porch-light/front=on", "--connect", "127.0.0.1:1"] + options)
            #expect(provider.waitForExit() == status, "\(provider.standardError)")
        }
    }
}
