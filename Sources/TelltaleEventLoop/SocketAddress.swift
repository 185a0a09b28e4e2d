internal import CTelltaleLibuv
internal import Glibc

/// An IPv4 or IPv6 address and port in the system's format.
@safe struct SocketAddress {
    private var storage = sockaddr_storage()

    /// Parses a numeric address. Does not look up names.
    init?(literal host: String, port: UInt16) {
        let isAddress = unsafe withUnsafeMutablePointer(to: &storage) { storage in
            let raw = UnsafeMutableRawPointer(storage)
            // The storage is large enough and aligned for either family.
            if unsafe uv_ip4_addr(host, CInt(port), raw.assumingMemoryBound(to: sockaddr_in.self)) == 0 { return true }
            return unsafe uv_ip6_addr(host, CInt(port), raw.assumingMemoryBound(to: sockaddr_in6.self)) == 0
        }
        guard isAddress else { return nil }
    }

    /// The address that `uv_tcp_getsockname` or `uv_tcp_getpeername` returns for a socket.
    init?(
        of tcp: UnsafeMutablePointer<uv_tcp_t>,
        _ ask: (UnsafePointer<uv_tcp_t>, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<CInt>) -> CInt
    ) {
        var length = CInt(MemoryLayout<sockaddr_storage>.size)
        let status = unsafe withUnsafeMutablePointer(to: &storage) { storage in
            unsafe ask(tcp, UnsafeMutableRawPointer(storage).assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard status == 0 else { return nil }
    }

    /// A copy of one result of `getaddrinfo`.
    init(copying address: UnsafePointer<sockaddr>, length: Int) {
        unsafe withUnsafeMutableBytes(of: &storage) { storage in
            let source = unsafe UnsafeRawBufferPointer(start: address, count: min(length, storage.count))
            unsafe storage.copyMemory(from: source)
        }
    }

    func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>) -> Result) -> Result {
        unsafe withUnsafePointer(to: storage) { storage in
            unsafe body(UnsafeRawPointer(storage).assumingMemoryBound(to: sockaddr.self))
        }
    }

    /// `nil` for an address that is neither IPv4 nor IPv6.
    var endpoint: Endpoint? {
        let host = unsafe withSockaddr { address in
            unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text -> String? in
                guard let start = text.baseAddress, unsafe uv_ip_name(address, start, text.count) == 0 else {
                    return nil
                }
                return unsafe String(cString: start)
            }
        }
        guard let host else { return nil }
        // The port is at the same offset in both address families.
        let port = unsafe withSockaddr { address in
            unsafe UnsafeRawPointer(address).assumingMemoryBound(to: sockaddr_in.self).pointee.sin_port
        }
        return .tcp(host: host, port: UInt16(bigEndian: port))
    }
}
