import Foundation
import Glibc
import TelltaleModel
import TelltaleWire
import TestSupport
import Testing

/// The time of a daemon, which passes only when a test says so. Blocking; not for the cooperative pool.
///
/// A heartbeat of a second and a button's timeout are then counted in steps, and a machine that stands still for longer changes
/// nothing.
final class HeldTime {
    /// For the daemon that is to be started.
    let limits: String
    private let path: String
    private let folder: TemporaryFolder
    private var socket: RawSocket?

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("clock")
        limits = "export TELLTALE_CLOCK='\(path)'"
    }

    /// The daemon is ready. One that was built for release has its own time.
    func connect() throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        let socket = try RawSocket(unix: true)
        try socket.connect(path: path)
        self.socket = socket
    }

    /// Lets 10 ms pass, as soon as the daemon has nothing to do, and waits until what they bring about is done.
    ///
    /// - Returns: Whether they passed: `false` where the daemon has its own time, or is gone.
    func step() throws -> Bool {
        guard let socket else { return false }
        do {
            try socket.send([0])
            return try !socket.receive(limit: 1).isEmpty
        } catch let failure as RawSocket.Failure where [EPIPE, ECONNRESET].contains(failure.number) {
            return false
        }
    }
}

struct HeldTimeTests {
    @Test func `the second of a button is over after a hundred steps, and not before, however long they take`()
        async throws
    {
        try await onOwnThread {
            let time = try HeldTime()
            let daemon = try DaemonProcess(limits: time.limits)
            try time.connect()
            let peer = try daemon.greetedPeer()
            for line in ["SERVE send-off", "REPORT send-off/1", "PRESS send-off/1"] {
                #expect(try peer.ask(line).verb == "OK")
            }
            for _ in 0..<99 { try #require(try time.step()) }
            #expect(try peer.ask("GET send-off/1").tail?["phase"] == "performing")
            for _ in 0..<2 { try #require(try time.step()) }
            let row = try peer.ask("GET send-off/1").tail
            #expect(row?["phase"] == "idle" && row?["last"]?["reason"] == "timeout")
        }
    }
}
