import Foundation
import Glibc

/// The descriptors of this process that are sockets of IPv4 at `port`, on this side or on the other.
///
/// Other tests of the process open and close theirs meanwhile, so the number of all descriptors says nothing.
public func openSockets(ofPort port: UInt16) throws -> [CInt] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { CInt($0) }.filter { descriptor in
        unsafe [getsockname, getpeername].contains { nameOf in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let status = unsafe withUnsafeMutablePointer(to: &address) {
                unsafe nameOf(descriptor, UnsafeMutableRawPointer($0).assumingMemoryBound(to: sockaddr.self), &length)
            }
            return status == 0 && address.sin_family == sa_family_t(AF_INET) && address.sin_port == port.bigEndian
        }
    }
}
