internal import Glibc

/// A port of 127.0.0.1 for a server that is started later, and again.
public func freePort() throws -> UInt16 { try freePorts(1)[0] }

/// Ports of 127.0.0.1 for servers that are started later, below those that connections get by themselves: one of those is taken
/// by any test's connection before its server listens, or while that is down.
public func freePorts(_ count: Int) throws -> [UInt16] {
    var ports: [UInt16] = []
    for _ in 0..<10_000 where ports.count < count {
        let port = UInt16.random(in: 10_000..<32_000)
        if !ports.contains(port), isFree(port) { ports.append(port) }
    }
    guard ports.count == count else { throw NoFreePort() }
    return ports
}

private struct NoFreePort: Error {}

private func isFree(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    return unsafe withUnsafePointer(to: sockaddr_in(localPort: port)) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
            unsafe bind(descriptor, raw, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}
