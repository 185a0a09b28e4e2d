import Glibc
import Journal
import TelltaleModel

/// A folder that goes with its owner.
final class JournalTestFolder: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/telltale-journal-XXXXXX\0".utf8CString)
        path = unsafe template.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress, let made = unsafe mkdtemp(start) else { return "/nonexistent" }
            return unsafe String(cString: made)
        }
    }

    deinit {
        for folder in files where folder.hasPrefix("damaged-") {
            let inner = path + "/" + folder
            for file in Self.files(in: inner) { _ = unsafe unlink(inner + "/" + file) }
            _ = unsafe rmdir(inner)
        }
        removeFiles()
        _ = unsafe rmdir(path)
    }

    func removeFiles() {
        for file in files { _ = unsafe unlink(path + "/" + file) }
    }

    var files: [String] { Self.files(in: path) }

    private static func files(in path: String) -> [String] {
        guard let folder = unsafe opendir(path) else { return [] }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    func read(_ file: String) -> [UInt8] {
        let descriptor = unsafe open(path + "/" + file, O_RDONLY)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var status = stat()
        unsafe fstat(descriptor, &status)
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let got = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
        return Array(bytes.prefix(max(0, got)))
    }

    func write(_ file: String, _ bytes: some Collection<UInt8>) {
        let descriptor = unsafe open(path + "/" + file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(descriptor) }
        let bytes = Array(bytes)
        let written = unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        precondition(written == bytes.count)
    }

    /// The files of the folder, as a crash of the process would leave them.
    var image: [String: [UInt8]] {
        Dictionary(uniqueKeysWithValues: files.map { ($0, read($0)) })
    }

    func restore(_ image: [String: [UInt8]]) {
        removeFiles()
        for (file, bytes) in image { write(file, bytes) }
    }
}

/// Records of a few entities in turn, chained.
func records(_ sequences: Range<Int64>, entities: Int64 = 3, byteCount: Int = 20) -> [JournalRecord] {
    sequences.map { sequence in
        JournalRecord(
            sequence: sequence, time: Timestamp(milliseconds: 1_763_719_200_000 + sequence * 10),
            entity: sequence % 7 == 0 ? "" : "parcel/\(sequence % entities)", previous: max(0, sequence - entities),
            body: (0..<byteCount).map { UInt8(truncatingIfNeeded: Int64($0) &* 31 &+ sequence) })
    }
}

/// A history of one entity.
func chain(_ sequences: Range<Int64>, entity: String = "parcel/1") -> [JournalRecord] {
    sequences.map { sequence in
        JournalRecord(
            sequence: sequence, time: Timestamp(milliseconds: sequence * 10), entity: entity, previous: sequence - 1,
            body: Array("body \(sequence)".utf8))
    }
}

extension Journal {
    /// Everything that a recovery would read.
    func readAll(after sequence: Int64 = 0, portion: Int = 100) throws -> [JournalRecord] {
        var all: [JournalRecord] = []
        var last = sequence
        while true {
            let records = try readRecords(after: last, limit: portion)
            guard let newest = records.last else { return all }
            all += records
            last = newest.sequence
        }
    }

    func readSnapshot() throws -> [[UInt8]]? {
        try snapshot.map { snapshot in try (0..<snapshot.chunkCount).map { try readChunk($0) } }
    }

    func tidyUp() throws {
        while try tidy() {}
    }
}
