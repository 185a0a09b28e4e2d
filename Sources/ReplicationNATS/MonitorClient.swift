internal import Glibc

/// Queries a server's monitor and blocks: one HTTP/1.0 request on its own connection.
enum MonitorClient {
    private static let byteLimit = 1 << 20

    /// The answer to `/varz`; `nil` if it is not complete within the limit, or its status is not 200.
    ///
    /// - Parameter limit: The time for all addresses of the host, the request and the whole answer, without the name
    ///   lookup.
    static func varz(_ address: MonitorAddress, within limit: Duration = .seconds(2)) -> [UInt8]? {
        guard let (descriptor, deadline) = connect(to: address, within: limit) else { return nil }
        defer { close(descriptor) }
        let request = Array("GET /varz HTTP/1.0\r\nHost: \(address.host)\r\nConnection: close\r\n\r\n".utf8)
        guard unsafe send(descriptor, request, request.count, CInt(MSG_NOSIGNAL)) == request.count else {
            return nil
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            // A limit for each receive would never end an answer that sends one byte a second.
            guard limitWaiting(of: descriptor, SO_RCVTIMEO, until: deadline) else { return nil }
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { return nil }
            if count == 0 { break }
            answer += buffer[..<count]
            guard answer.count <= byteLimit else { return nil }
        }
        return body(of: answer)
    }

    /// The bytes after the head of an answer with the status 200.
    static func body(of answer: [UInt8]) -> [UInt8]? {
        let end = Array("\r\n\r\n".utf8)
        guard answer.starts(with: "HTTP/1.".utf8), answer.dropFirst(8).starts(with: " 200".utf8) else { return nil }
        var place = 0
        while place + end.count <= answer.count {
            if answer[place] == end[0], answer[place..<(place + end.count)].elementsEqual(end) {
                return Array(answer[(place + end.count)...])
            }
            place += 1
        }
        return nil
    }

    /// - Returns: `false` after the deadline.
    private static func limitWaiting(
        of descriptor: CInt, _ option: CInt, until deadline: ContinuousClock.Instant
    ) -> Bool {
        let rest = Int64((deadline - ContinuousClock.now) / .microseconds(1))
        // 0 would mean no limit.
        guard rest > 0 else { return false }
        var limit = timeval(tv_sec: Int(rest / 1_000_000), tv_usec: Int(rest % 1_000_000))
        return unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size)) == 0
    }

    private static func connect(
        to address: MonitorAddress, within limit: Duration
    ) -> (descriptor: CInt, deadline: ContinuousClock.Instant)? {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(address.host, String(address.port), &hints, &list) == 0 else { return nil }
        defer { unsafe freeaddrinfo(list) }
        let deadline = ContinuousClock.now + limit
        var next = unsafe list
        while let entry = unsafe next {
            let entry = unsafe entry.pointee
            unsafe next = entry.ai_next
            let descriptor = unsafe socket(entry.ai_family, entry.ai_socktype | CInt(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { continue }
            // On Linux the send timeout also applies to connecting.
            if limitWaiting(of: descriptor, SO_SNDTIMEO, until: deadline),
                unsafe Glibc.connect(descriptor, entry.ai_addr, entry.ai_addrlen) == 0
            {
                return (descriptor, deadline)
            }
            close(descriptor)
        }
        return nil
    }
}
