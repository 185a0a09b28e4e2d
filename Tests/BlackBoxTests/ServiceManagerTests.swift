import Foundation
import Glibc
import TelltaleWire
import TestSupport
import Testing

/// The service manager that started the daemon is sent its states (`sd_notify`).
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
            // Without WATCHDOG_USEC the loop has reported nothing of itself.
            #expect(manager.receiveAtOnce() == nil)
        }
    }

    @Test func `The loop says that it turns, as often as is asked`() async throws {
        try await onOwnThread {
            let manager = try NotifySocket(isAbstract: false)
            // The shell becomes the daemon, so its own number is the daemon's.
            let daemon = try DaemonProcess(
                limits: "export NOTIFY_SOCKET='\(manager.name)' WATCHDOG_USEC=100000 WATCHDOG_PID=$$")
            var reported: [[String]] = []
            for _ in 0..<4 { reported.append(try manager.receive()) }
            #expect(reported.filter { $0 == ["WATCHDOG=1"] }.count == 3)
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
        }
    }

    @Test func `The watchdog of another process is not the daemon's`() async throws {
        try await onOwnThread {
            let manager = try NotifySocket(isAbstract: false)
            let daemon = try DaemonProcess(
                limits: "export NOTIFY_SOCKET='\(manager.name)' WATCHDOG_USEC=2000 WATCHDOG_PID=1")
            let peer = try daemon.greetedPeer()
            for _ in 0..<50 { _ = try peer.ask("PING") }
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
            #expect(manager.receiveAtOnce() == ["READY=1", "STATUS=serving"])
            #expect(manager.receiveAtOnce() == ["STOPPING=1", "STATUS=stopping"])
        }
    }

    @Test func `A loop that stands says nothing, and goes on when it turns again`() async throws {
        try await onOwnThread {
            let manager = try NotifySocket(isAbstract: false)
            let daemon = try DaemonProcess(limits: "export NOTIFY_SOCKET='\(manager.name)' WATCHDOG_USEC=100000")
            for _ in 0..<2 { _ = try manager.receive() }
            daemon.send(SIGSTOP)
            try #require(daemon.waitUntilStopped())
            while manager.receiveAtOnce() != nil {}
            daemon.send(SIGCONT)
            #expect(try manager.receive() == ["WATCHDOG=1"])
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
        }
    }

    @Test func `A long recovery asks for more time while it makes progress`() async throws {
        try await onOwnThread {
            let first = try DaemonProcess()
            let peer = try first.greetedPeer()
            for number in 1...5 {
                #expect(try peer.ask("EVT coffee-order/\(number) type=start")["verdict"] == "applied")
            }
            // Killed, it leaves no snapshot, so that all records are replayed.
            first.send(SIGKILL)
            _ = first.waitForExit()
            let manager = try NotifySocket(isAbstract: false)
            let second = try DaemonProcess(
                in: first.folder, limits: "export NOTIFY_SOCKET='\(manager.name)' TELLTALE_RECOVERY_RECORDS=4")
            var reported: [[String]] = []
            repeat { reported.append(try manager.receive()) } while reported.last != ["READY=1", "STATUS=serving"]
            // The socket holds ten that are not read yet, and there are fewer.
            #expect((3..<10).contains(reported.count))
            #expect(reported.dropLast().allSatisfy { $0.count == 2 && $0[0] == "EXTEND_TIMEOUT_USEC=60000000" })
            #expect(reported.dropLast().last?[1] == "STATUS=recovering records, 100 %")
            second.send(SIGTERM)
            #expect(second.waitForExit() == 0)
        }
    }

    @Test func `A socket that is full holds nothing up`() async throws {
        try await onOwnThread {
            let manager = try NotifySocket(isAbstract: true)
            manager.fill()
            let daemon = try DaemonProcess(limits: "export NOTIFY_SOCKET='\(manager.name)' WATCHDOG_USEC=2000")
            let peer = try daemon.greetedPeer()
            daemon.send(SIGHUP)
            try daemon.waitUntilLogged("kinds reloaded")
            for _ in 0..<50 { #expect(try peer.ask("PING").verb == "PONG") }
            daemon.send(SIGTERM)
            #expect(daemon.waitForExit() == 0)
            // Nothing went in behind what filled it.
            while let reported = manager.receiveAtOnce() { #expect(reported == ["full"]) }
        }
    }

    @Test func `A process that stops is not ready again`() async throws {
        try await onOwnThread {
            let manager = try NotifySocket(isAbstract: false)
            let daemon = try DaemonProcess(limits: "export NOTIFY_SOCKET='\(manager.name)'")
            #expect(try manager.receive() == ["READY=1", "STATUS=serving"])
            // A reader that takes nothing holds the stop up.
            let stuck = try Peer(port: daemon.port, receiveBufferByteCount: 4_096)
            try stuck.send(String(repeating: "HELP\n", count: 5_000) + "PING")
            let witness = try daemon.greetedPeer()
            #expect(try witness.ask("PING").verb == "PONG")
            daemon.send(SIGTERM)
            #expect(try manager.receive() == ["STOPPING=1", "STATUS=stopping"])
            daemon.send(SIGHUP)
            daemon.send(SIGTERM)
            while try witness.receive().verb != "BYE" {}
            shutdown(stuck.socket.descriptor, CInt(SHUT_RDWR))
            #expect(daemon.waitForExit() == 0)
            #expect(manager.receiveAtOnce() == nil)
            #expect(!daemon.standardError.contains("kinds reloaded"))
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
        let status = unsafe withAddress { unsafe bind(descriptor, $0, $1) }
        try #require(status == 0)
        var limit = timeval(tv_sec: Int(patience), tv_usec: 0)
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    private func withAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if name.hasPrefix("@") { bytes[0] = 0 }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        return unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
        }
    }

    deinit {
        close(descriptor)
        if name.hasPrefix("/") { unsafe unlink(name) }
    }

    /// Sends until it takes no more, as where the manager does not read.
    func fill() {
        let sender = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        defer { close(sender) }
        let text = Array("full".utf8)
        unsafe withAddress { pointer, length in
            while unsafe sendto(sender, text, text.count, CInt(MSG_DONTWAIT), pointer, length) > 0 {}
        }
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
