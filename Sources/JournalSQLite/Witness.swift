internal import Glibc
internal import Journal

/// A small file beside the journal that says how far it was acknowledged.
///
/// SQLite takes a write-ahead log that is cut short, or broken in its last transaction, for one that was never
/// finished. This file knows better. It is written after each sync and is not synced itself: it can lag behind after a
/// power failure, and is never ahead of what was acknowledged.
final class Witness {
    private let descriptor: CInt
    private let path: String

    init(_ folder: JournalFolder) throws(JournalError) {
        path = folder.witness
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .failed(what: "could not open \(path)", cause: systemMessage(errno)) }
    }

    deinit {
        Glibc.close(descriptor)
    }

    /// The newest record that was acknowledged in this epoch; 0 when the file does not say.
    static func read(_ folder: JournalFolder, epoch: UInt64?) -> Int64 {
        guard let bytes = try? JournalFolder.beginning(of: folder.witness, count: 24), bytes.count == 24 else {
            return 0
        }
        let words = stride(from: 0, to: 24, by: 8).map { start in
            bytes[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        guard words[2] == Checksum.words(words[0], words[1]), epoch == nil || epoch == words[0] else { return 0 }
        return Int64(bitPattern: words[1])
    }

    func write(epoch: UInt64, sequence: Int64) throws(JournalError) {
        let position = UInt64(bitPattern: sequence)
        let words = (epoch.littleEndian, position.littleEndian, Checksum.words(epoch, position).littleEndian)
        let written = unsafe withUnsafeBytes(of: words) { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        // On a full disk the file is what it was: its 24 bytes were allocated at the first write.
        guard written == 24 || errno == ENOSPC || errno == EDQUOT || errno == EFBIG else {
            throw .failed(what: "could not write \(path)", cause: systemMessage(errno))
        }
    }
}
