internal import Glibc

/// All bytes of a descriptor, whatever a single call reads or writes.
public enum FileBytes {
    /// Everything from the descriptor's place on; `nil` = it cannot be read, by `errno`, or has more bytes than `limit`.
    public static func read(_ descriptor: CInt, limit: Int = .max) -> [UInt8]? {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe piece.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0, bytes.count <= limit - count else { return nil }
            guard count > 0 else { return bytes }
            bytes += piece[..<count]
        }
    }

    /// - Returns: Whether all of it was written; else `errno` says why not.
    public static func write(_ bytes: [UInt8], to descriptor: CInt) -> Bool {
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes[start...].withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            start += count
        }
        return true
    }
}
