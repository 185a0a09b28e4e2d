internal import AtomicFile
internal import Glibc
public import Hub
internal import TelltaleModel

/// The file of principals on the disk. It is read as a whole, and looked at for changes.
public struct PrincipalFile {
    public let path: String
    private var seen: Fingerprint?

    /// The metadata that distinguishes one state of a file from another without reading it.
    private struct Fingerprint: Equatable {
        var inode: UInt
        var size: Int
        var seconds: Int
        var nanoseconds: Int
        var mode: UInt32
    }

    public init(_ path: String) {
        self.path = path
    }

    /// Whether the file is another one than ``load()`` read last.
    public var hasChanged: Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return seen != nil }
        return Self.fingerprint(of: status) != seen
    }

    /// Reads the principals.
    ///
    /// - Throws: Every fault, each with the path.
    public mutating func load() throws(PrincipalFaults) -> PrincipalDirectory {
        let (bytes, fingerprint) = try read()
        seen = fingerprint
        let json: JSON
        do throws(JSONError) {
            json = try JSONParser().parse(bytes.span)
        } catch {
            throw PrincipalFaults(faults: ["\(path): \(error)"])
        }
        do throws(PrincipalFaults) {
            return try PrincipalReader.read(json)
        } catch {
            throw PrincipalFaults(faults: error.faults.map { "\(path): \($0)" })
        }
    }

    private func read() throws(PrincipalFaults) -> (bytes: [UInt8], Fingerprint) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure("cannot be read", errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw failure("cannot be read", errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw PrincipalFaults(faults: ["\(path): is no file"]) }
        guard status.st_mode & (S_IROTH | S_IWOTH) == 0 else {
            throw PrincipalFaults(faults: ["\(path): everybody on this machine can read or write it; chmod o= \(path)"])
        }
        guard let bytes = FileBytes.read(descriptor) else { throw failure("cannot be read", errno) }
        return (bytes, Self.fingerprint(of: status))
    }

    private static func fingerprint(of status: stat) -> Fingerprint {
        Fingerprint(
            inode: status.st_ino, size: status.st_size, seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec, mode: status.st_mode)
    }

    private func failure(_ what: String, _ code: CInt) -> PrincipalFaults {
        PrincipalFaults(faults: ["\(path): \(what): \(unsafe String(cString: strerror(code)))"])
    }
}
