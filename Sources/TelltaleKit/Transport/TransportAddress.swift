#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Glibc)
    internal import Glibc
#endif

/// An address as the system's calls take it.
struct TransportAddress: Sendable {
    let family: CInt
    private var bytes: [UInt8]

    /// - Parameter path: The path of a Unix socket, at most 103 bytes.
    init(path: String) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
            unsafe place.copyBytes(from: path.utf8.prefix(place.count - 1))
        }
        family = AF_UNIX
        bytes = unsafe withUnsafeBytes(of: &address) { unsafe [UInt8]($0) }
    }

    private init(_ info: addrinfo) {
        family = unsafe info.ai_family
        bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: info.ai_addr, count: Int(info.ai_addrlen)))
    }

    /// The addresses of a name, best first. Blocks.
    static func all(host: String, port: UInt16) -> Result<[TransportAddress], TransportError> {
        var hints = unsafe addrinfo()
        #if canImport(Glibc)
            unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        #else
            unsafe hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let status = unsafe getaddrinfo(host, String(port), &hints, &list)
        guard status == 0 else {
            return .failure(.failed(unsafe "\(host): \(String(cString: gai_strerror(status)))"))
        }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [TransportAddress] = []
        var next = unsafe list
        while let info = unsafe next {
            unsafe addresses.append(TransportAddress(info.pointee))
            unsafe next = info.pointee.ai_next
        }
        return .success(addresses)
    }

    @unsafe func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
        unsafe bytes.withUnsafeBytes { raw in
            guard let start = raw.baseAddress else { return -1 }
            return unsafe body(start.assumingMemoryBound(to: sockaddr.self), socklen_t(raw.count))
        }
    }
}
