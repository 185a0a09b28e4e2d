internal import CTelltaleLibuv
internal import Glibc

/// An IPv4 or IPv6 address with its port, as the system wants it.
@safe struct SocketAddress {
    private var storage = sockaddr_storage()

    /// An address written in digits. No name is looked up.
    init?(literal host: String, port: UInt16) {
        let isAddress = unsafe withUnsafeMutablePointer(to: &storage) { storage in
            let raw = UnsafeMutableRawPointer(storage)
            // The system makes this memory large and aligned enough for either.
            if unsafe uv_ip4_addr(host, CInt(port), raw.assumingMemoryBound(to: sockaddr_in.self)) == 0 { return true }
            return unsafe uv_ip6_addr(host, CInt(port), raw.assumingMemoryBound(to: sockaddr_in6.self)) == 0
        }
        guard isAddress else { return nil }
    }

    /// What `uv_tcp_getsockname` or `uv_tcp_getpeername` says of a socket.
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

    /// A copy of one answer of `getaddrinfo`.
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

    /// `nil` when it is neither IPv4 nor IPv6.
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
        // The port stands at the same place in both kinds of address.
        let port = unsafe withSockaddr { address in
            unsafe UnsafeRawPointer(address).assumingMemoryBound(to: sockaddr_in.self).pointee.sin_port
        }
        return .tcp(host: host, port: UInt16(bigEndian: port))
    }
}
