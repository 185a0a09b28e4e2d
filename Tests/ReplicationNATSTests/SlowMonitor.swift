import Foundation
import Glibc

/// A monitor that takes one connection, and answers a byte at a time.
final class SlowMonitor {
    struct Failure: Error {}

    let port: UInt16
    private let descriptor: CInt

    /// - Parameter pause: Microseconds before each byte.
    init(answer: String, pause: UInt32) throws {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { address in
            let address = unsafe UnsafeMutableRawPointer(address).assumingMemoryBound(to: sockaddr.self)
            guard unsafe bind(descriptor, address, length) == 0, listen(descriptor, 1) == 0 else { return CInt(-1) }
            return unsafe getsockname(descriptor, address, &length)
        }
        guard status == 0 else { throw Failure() }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread {
            let accepted = accept(descriptor, nil, nil)
            var request = [UInt8](repeating: 0, count: 1_024)
            _ = unsafe recv(accepted, &request, request.count, 0)
            for byte in answer.utf8 {
                usleep(pause)
                var byte = byte
                guard unsafe send(accepted, &byte, 1, CInt(MSG_NOSIGNAL)) == 1 else { break }
            }
            close(accepted)
        }
    }

    deinit { close(descriptor) }
}
