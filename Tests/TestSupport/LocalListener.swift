internal import Glibc

/// A socket that listens on a port of 127.0.0.1, and accepts nothing by itself.
public final class LocalListener: Sendable {
    public struct Failure: Error {}

    public let port: UInt16
    public let descriptor: CInt

    /// - Parameter backlog: How many connections wait; the system keeps one more.
    public init(backlog: CInt) throws {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.descriptor = descriptor
        var address = sockaddr_in(localPort: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { address in
            let address = unsafe UnsafeMutableRawPointer(address).assumingMemoryBound(to: sockaddr.self)
            guard unsafe bind(descriptor, address, length) == 0, listen(descriptor, backlog) == 0 else {
                return CInt(-1)
            }
            return unsafe getsockname(descriptor, address, &length)
        }
        port = UInt16(bigEndian: address.sin_port)
        guard status == 0 else { throw Failure() }
    }

    deinit { close(descriptor) }
}

extension sockaddr_in {
    /// Of 127.0.0.1.
    init(localPort port: UInt16) {
        self.init()
        sin_family = sa_family_t(AF_INET)
        sin_port = port.bigEndian
        sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    }
}
