internal import CTelltaleLibuv
internal import Glibc

extension Listener {
    /// Binds `path` after removing a stale socket file, which a process that died has left.
    ///
    /// libuv unlinks the file when the handle is closed.
    static func bindUnixSocket(
        _ path: String, on loop: EventLoop, mode: UInt16
    ) throws(UVError) -> OwnedHandle {
        let attempt = "listen on \(Endpoint.unix(path: path))"
        guard path.utf8.count <= Endpoint.pathLengthLimit, !path.utf8.contains(0) else {
            throw UVError(.nameTooLong, attempting: attempt)
        }
        let handle = try OwnedHandle(on: loop, attempting: "make a Unix socket") { unsafe uv_pipe_init($0, $1, 0) }
        var status = unsafe uv_pipe_bind(handle.pointer(as: uv_pipe_t.self), path)
        if status == UV_EADDRINUSE.rawValue, isStaleSocket(path) {
            _ = unsafe unlink(path)
            status = unsafe uv_pipe_bind(handle.pointer(as: uv_pipe_t.self), path)
        }
        try UVError.check(status, attempting: attempt)
        _ = unsafe chmod(path, mode_t(mode))
        return handle
    }

    /// Whether `path` is a socket without a listener. Any other file is kept.
    private static func isStaleSocket(_ path: String) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { Glibc.close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            for (index, byte) in path.utf8.enumerated() where index < Endpoint.pathLengthLimit {
                unsafe field[index] = byte
            }
        }
        let connected = unsafe withUnsafePointer(to: address) { address in
            unsafe connect(
                descriptor, UnsafeRawPointer(address).assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_un>.size))
        }
        return connected < 0 && errno == ECONNREFUSED
    }
}
