import Foundation
import Glibc
import TestSupport
import Testing

/// The service manager that started the daemon is told its states (`sd_notify`).
struct ServiceManagerTests {
    @Test("It is ready, reloads and stops", arguments: [false, true])
    func states(isAbstract: Bool) async throws {
        try await onOwnThread {
            let manager = try NotifySocket(isAbstract: isAbstract)
            let daemon = try DaemonProcess(limits: "export NOTIFY_SOCKET='\(manager.name)'")
            #expect(try manager.receive() == ["READY=1", "STATUS=serving"])
            daemon.send(SIGHUP)
            #expect(try manager.receive() == ["RELOADING=1"])
            #expect(try manager.receive() == ["READY=1"])
            daemon.send(SIGTERM)
            #expect(try manager.receive() == ["STOPPING=1", "STATUS=stopping"])
            #expect(daemon.waitForExit() == 0)
            // Without WATCHDOG_USEC the loop has told nothing of itself.
            #expect(manager.receiveAtOnce() == nil)
        }
    }

    @Test func `The loop says that it turns, as often as is asked`() async throws {
        try await onOwnThread {
            let manager = try NotifySocket(isAbstract: false)
            // The shell becomes the daemon, so its own number is the daemon's.
            let daemon = try DaemonProcess(
                limits: "export NOTIFY_SOCKET='\(manager.name)' WATCHDOG_USEC=100000 WATCHDOG_PID=$$")
            var told: [[String]] = []
            for _ in 0..<4 { told.append(try manager.receive()) }
            #expect(told.filter { $0 == ["WATCHDOG=1"] }.count == 3)
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
        }
    }

    @Test func `The watchdog of another process is not the daemon's`() async throws {
        try await onOwnThread {
            let manager = try NotifySocket(isAbstract: false)
            let daemon = try DaemonProcess(
                limits: "export NOTIFY_SOCKET='\(manager.name)' WATCHDOG_USEC=2000 WATCHDOG_PID=1")
            let peer = try Peer(port: daemon.port)
            _ = try peer.receive()
            for _ in 0..<50 { _ = try peer.ask("PING") }
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
            #expect(manager.receiveAtOnce() == ["READY=1", "STATUS=serving"])
            #expect(manager.receiveAtOnce() == ["STOPPING=1", "STATUS=stopping"])
        }
    }

    @Test("A socket that is missing, or no address, is no failure", arguments: ["/nowhere/notify", "@", "relative"])
    func missing(_ name: String) async throws {
        try await onOwnThread {
            let daemon = try DaemonProcess(limits: "export NOTIFY_SOCKET='\(name)' WATCHDOG_USEC=2000")
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
        }
    }
}

/// The service manager's end.
private final class NotifySocket {
    let name: String
    private let descriptor: CInt

    init(isAbstract: Bool) throws {
        let unique = "telltale-notify-\(UUID().uuidString.prefix(8))"
        name = isAbstract ? "@\(unique)" : FileManager.default.temporaryDirectory.appending(path: unique).path
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if isAbstract { bytes[0] = 0 }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let status = unsafe withUnsafePointer(to: address) {
            unsafe bind(descriptor, UnsafeRawPointer($0).assumingMemoryBound(to: sockaddr.self), length)
        }
        try #require(status == 0)
        var limit = timeval(tv_sec: Int(patience), tv_usec: 0)
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
        close(descriptor)
        if name.hasPrefix("/") { unsafe unlink(name) }
    }

    func receive() throws -> [String] { try #require(receive(flags: 0)) }

    func receiveAtOnce() -> [String]? { receive(flags: CInt(MSG_DONTWAIT)) }

    private func receive(flags: CInt) -> [String]? {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = unsafe recv(descriptor, &bytes, bytes.count, flags)
        guard count >= 0 else { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
