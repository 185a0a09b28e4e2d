internal import FoundationEssentials
internal import TelltaleCrypto

/// The folder of the few files that a gateway stores.
enum StateFolder {
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private static let keyByteCount = 32

    /// A secret of this installation, which is created if it is missing.
    ///
    /// - Parameter folder: `nil` = the secret ends with this process.
    /// - Throws: When the folder or the key in it cannot be used.
    static func key(_ name: String, in folder: String?) throws -> [UInt8] {
        guard let folder else { return SealedBytes.random(keyByteCount) }
        let files = FileManager.default
        try files.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let path = "\(folder)/\(name)"
        if let data = files.contents(atPath: path) {
            guard data.count == keyByteCount else {
                throw Fault(description: "\(path) must hold \(keyByteCount) bytes; remove it")
            }
            return Array(data)
        }
        let key = SealedBytes.random(keyByteCount)
        guard files.createFile(atPath: path, contents: Data(key), attributes: [.posixPermissions: 0o600]) else {
            throw Fault(description: "\(path) cannot be written")
        }
        return key
    }
}
