internal import CTelltaleLibuv
internal import Glibc

/// Whose work a connection's is, by the address of its peer: an IPv4 address, or the first 64 bits of an IPv6 one, in which one
/// machine may have as many as it likes. All peers of Unix sockets are one.
public struct PeerAddress: Hashable, Sendable {
    private enum Form: Hashable {
        case local
        case version4(UInt32)
        case version6(UInt64)
    }

    private let form: Form

    init(_ address: SocketAddress?) {
        let bytes = address?.bytes ?? []
        func number<Number: FixedWidthInteger>(_ bytes: ArraySlice<UInt8>) -> Number {
            bytes.reduce(0) { $0 << 8 | Number($1) }
        }
        switch bytes.count {
        case 4: form = .version4(number(bytes[...]))
        // What a listener for both makes of an IPv4 address.
        case 16 where bytes[..<12].elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]):
            form = .version4(number(bytes[12...]))
        case 16: form = .version6(number(bytes[..<8]))
        case _: form = .local
        }
    }
}

extension SocketAddress {
    /// The bytes of an IPv4 or IPv6 address, without its port; empty for another.
    fileprivate var bytes: [UInt8] {
        unsafe withSockaddr { address in
            let raw = unsafe UnsafeRawPointer(address)
            switch unsafe CInt(address.pointee.sa_family) {
            case AF_INET:
                var part = unsafe raw.assumingMemoryBound(to: sockaddr_in.self).pointee.sin_addr
                return unsafe withUnsafeBytes(of: &part) { unsafe Array($0) }
            case AF_INET6:
                var part = unsafe raw.assumingMemoryBound(to: sockaddr_in6.self).pointee.sin6_addr
                return unsafe withUnsafeBytes(of: &part) { unsafe Array($0) }
            case _: return []
            }
        }
    }
}

extension Connection {
    /// The address of the other end.
    public var peerAddress: PeerAddress {
        guard let stream = unsafe stream else { return PeerAddress(nil) }
        let base = UnsafeMutableRawPointer(stream)
        guard unsafe uv_handle_get_type(base.assumingMemoryBound(to: uv_handle_t.self)) == UV_TCP else {
            return PeerAddress(nil)
        }
        let address = unsafe SocketAddress(of: base.assumingMemoryBound(to: uv_tcp_t.self), uv_tcp_getpeername)
        return PeerAddress(address)
    }
}
