internal import AtomicFile
internal import Glibc
internal import Replication

// Checkpoints and purging, in small files beside the log. The log itself stays as long as it is.
extension FileLog {
    private static let pieceLimit = 1 << 20
    private static let pieceCount = 8

    /// The first message that is not purged.
    var first: Int64 {
        let bytes = (try? AtomicFile("\(path).first").read(limit: 32)?.bytes) ?? []
        return Int64(String(decoding: bytes, as: UTF8.self)) ?? 1
    }

    /// - Returns: `nil` for what nothing answers.
    func answer(_ request: CheckpointRequest) -> CheckpointAnswer? {
        switch request {
        case .list: return .list(checkpoints, LogExtent(first: first, byteCount: ends.last ?? 0))
        case .store(let piece, let number, let id):
            guard write(piece, "piece-\(id)-\(number)") else { return nil }
            return .stored(number: number, of: id)
        case .finish(let manifest, let id):
            guard write(manifest, "manifest-\(id)") else { return nil }
            return .finished(id)
        case .read(let id, let from):
            var pieces: [[UInt8]] = []
            while pieces.count < Self.pieceCount, let piece = read("piece-\(id)-\(from + pieces.count)") {
                pieces.append(piece)
            }
            return .pieces(pieces, of: id, from: from)
        case .message(let position): return .message(message(at: position), at: position)
        case .remove(let id):
            for name in names where name == "manifest-\(id)" || name.hasPrefix("piece-\(id)-") {
                unsafe unlink("\(path).\(name)")
            }
        case .purge(let before):
            guard before > first else { break }
            try? AtomicFile("\(path).first").replace(with: Array(String(before).utf8), mode: 0o600)
        }
        return nil
    }

    private func write(_ bytes: [UInt8], _ name: String) -> Bool {
        (try? AtomicFile("\(path).\(name)").replace(with: bytes, mode: 0o600)) != nil
    }

    private func read(_ name: String) -> [UInt8]? {
        try? AtomicFile("\(path).\(name)").read(limit: Self.pieceLimit)?.bytes
    }

    private var checkpoints: [StoredCheckpoint] {
        var found: [String: StoredCheckpoint] = [:]
        for name in names {
            if name.hasPrefix("manifest-") {
                let id = String(name.dropFirst("manifest-".count))
                found[id, default: StoredCheckpoint(id: id, manifest: nil, pieceCount: 0)].manifest = read(name)
            } else if name.hasPrefix("piece-"), let hyphen = name.lastIndex(of: "-") {
                let id = String(name[..<hyphen].dropFirst("piece-".count))
                found[id, default: StoredCheckpoint(id: id, manifest: nil, pieceCount: 0)].pieceCount += 1
            }
        }
        return found.values.sorted { $0.id < $1.id }
    }

    /// Of the files beside the log, behind its own name.
    private var names: [String] {
        let (folder, name) = parts
        guard let directory = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let file = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if file.hasPrefix(name + ".") { names.append(String(file.dropFirst(name.utf8.count + 1))) }
        }
        return names
    }
}
