internal import Crypto
internal import FoundationEssentials

/// The folder of the few files that a gateway keeps.
enum StateFolder {
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// A secret of this installation, which is made where it is not there yet.
    ///
    /// - Parameter folder: `nil` = the secret ends with this process.
    /// - Throws: When the folder or the key in it cannot be used.
    static func key(_ name: String, in folder: String?) throws -> SymmetricKey {
        guard let folder else { return SymmetricKey(size: .bits256) }
        let files = FileManager.default
        try files.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let path = "\(folder)/\(name)"
        if let data = files.contents(atPath: path) {
            guard data.count == 32 else { throw Fault(description: "\(path) is to hold 32 bytes; remove it") }
            return SymmetricKey(data: data)
        }
        let key = SymmetricKey(size: .bits256)
        let data = key.withUnsafeBytes { Data(unsafe $0) }
        guard files.createFile(atPath: path, contents: data, attributes: [.posixPermissions: 0o600]) else {
            throw Fault(description: "\(path) cannot be written")
        }
        return key
    }
}
