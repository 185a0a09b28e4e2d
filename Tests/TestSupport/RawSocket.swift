internal import Glibc

/// A blocking client socket, for the peer's side of a test. Not for the cooperative pool.
public final class RawSocket: Sendable {
    public struct Failure: Error, CustomStringConvertible {
        public let attempt: String
        public let number: CInt

        init(_ attempt: String) {
            self.attempt = attempt
            number = errno
        }

        public var description: String { unsafe "\(attempt): \(String(cString: strerror(number)))" }
    }

    public let descriptor: CInt

    /// - Parameter receiveBufferByteCount: A small one makes a peer that does not read felt early.
    public init(unix: Bool = false, receiveBufferByteCount: CInt? = nil) throws {
        descriptor = socket(unix ? AF_UNIX : AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure("socket") }
        limitWaits()
        if var receiveBufferByteCount {
            unsafe setsockopt(
                descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBufferByteCount, socklen_t(MemoryLayout<CInt>.size))
        }
    }

    /// Takes an accepted descriptor, and closes it at the end.
    public init(accepted descriptor: CInt) throws {
        self.descriptor = descriptor
        limitWaits()
    }

    /// A peer that says nothing, or that reads nothing, is an error in the end.
    private func limitWaits() {
        var limit = timeval(tv_sec: Int(patience), tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    deinit {
        Glibc.close(descriptor)
    }

    public convenience init(port: UInt16) throws {
        try self.init()
        try connect(port: port)
    }

    /// To 127.0.0.1.
    public func connect(port: UInt16) throws {
        let status = unsafe withUnsafePointer(to: sockaddr_in(localPort: port)) { address in
            unsafe Glibc.connect(
                descriptor, UnsafeRawPointer(address).assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_in>.size))
        }
        guard status == 0 else { throw Failure("connect") }
    }

    /// To a Unix socket of this path.
    public func connect(path: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let room = unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in
            unsafe room.copyBytes(from: bytes.prefix(room.count - 1))
            return room.count - 1
        }
        let status = unsafe withUnsafePointer(to: address) { address in
            unsafe Glibc.connect(
                descriptor, UnsafeRawPointer(address).assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_un>.size))
        }
        guard bytes.count <= room, status == 0 else { throw Failure("connect") }
    }

    public func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    public func send(_ bytes: [UInt8]) throws {
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes[start...].withUnsafeBytes { rest in
                unsafe Glibc.send(descriptor, rest.baseAddress, rest.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure("send") }
            start += count
        }
    }

    public func waitUntilReadable() {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&wanted, 1, Int32(patience * 1_000))
    }

    public func shutdownWrite() {
        shutdown(descriptor, CInt(SHUT_WR))
    }

    /// The next bytes, at most `limit`; empty at the end.
    public func receive(limit: Int = 65_536) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = unsafe bytes.withUnsafeMutableBytes { bytes in
            unsafe recv(descriptor, bytes.baseAddress, bytes.count, 0)
        }
        guard count >= 0 else { throw Failure("receive") }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// Everything until the peer shuts its side.
    public func receiveAll() throws -> String {
        var bytes: [UInt8] = []
        while true {
            let piece = try receive()
            guard !piece.isEmpty else { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece
        }
    }

    /// The next line, without its LF. Reads byte by byte, so that nothing beyond it is taken.
    public func receiveLine() throws -> String {
        var bytes: [UInt8] = []
        while let byte = try receive(limit: 1).first, byte != UInt8(ascii: "\n") { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
