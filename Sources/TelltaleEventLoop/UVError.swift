internal import CTelltaleLibuv

/// An error of libuv or of the operating system.
public struct UVError: Error, Hashable, Sendable, CustomStringConvertible {
    /// libuv's error number, which on Linux is a negated `errno`.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: CInt

        public init(rawValue: CInt) {
            self.rawValue = rawValue
        }

        public static let addressInUse = Code(rawValue: UV_EADDRINUSE.rawValue)
        public static let connectionRefused = Code(rawValue: UV_ECONNREFUSED.rawValue)
        public static let connectionReset = Code(rawValue: UV_ECONNRESET.rawValue)
        public static let invalidArgument = Code(rawValue: UV_EINVAL.rawValue)
        public static let nameTooLong = Code(rawValue: UV_ENAMETOOLONG.rawValue)
        public static let noSuchFile = Code(rawValue: UV_ENOENT.rawValue)
        public static let protocolError = Code(rawValue: UV_EPROTO.rawValue)
    }

    public let code: Code
    /// The attempted operation, for an error message: `listen on 127.0.0.1:7878`.
    public let attempt: String

    public init(_ code: Code, attempting attempt: String) {
        self.code = code
        self.attempt = attempt
    }

    /// The name of the number: `EADDRINUSE`.
    public var name: String { unsafe Self.text(code, uv_err_name_r) }

    /// The system's message: `address already in use`.
    public var message: String { unsafe Self.text(code, uv_strerror_r) }

    public var description: String { "cannot \(attempt): \(message) (\(name))" }

    /// libuv's plain `uv_strerror` leaks memory for an unknown number; the `_r` functions do not.
    private static func text(
        _ code: Code, _ describe: (CInt, UnsafeMutablePointer<CChar>?, Int) -> UnsafeMutablePointer<CChar>?
    ) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            guard let text = unsafe describe(code.rawValue, buffer.baseAddress, buffer.count) else { return "" }
            return unsafe String(cString: text)
        }
    }

    /// Throws unless `status`, a result of libuv, is a success.
    static func check(_ status: CInt, attempting attempt: @autoclosure () -> String) throws(UVError) {
        guard status < 0 else { return }
        throw UVError(Code(rawValue: status), attempting: attempt())
    }
}
