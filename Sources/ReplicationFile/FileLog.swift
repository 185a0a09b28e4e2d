internal import AtomicFile
internal import Glibc
public import Replication
public import TelltaleEventLoop
internal import TelltaleModel

/// A replicated log that is one file, for tests of several daemons on one machine without a log store: `--engine file:PATH`.
///
/// It replicates nothing. Its processes append under a lock on the file, and look at it 50 times a second. Heartbeats are small files
/// beside it.
public final class FileLog: ReplicatedLog {
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    public var onEvent: ((LogEvent) -> Void)? {
        didSet { deliver() }
    }
    private let path: String
    private let node: String
    private let descriptor: CInt
    /// Where each message ends, in bytes.
    private(set) var ends: [Int64] = []
    private var events: [LogEvent] = []
    /// Messages up to here were reported.
    private var reportedEnd: Int64?
    private var isHeld = false
    private var heartbeats: [String: Heartbeat] = [:]
    /// The newest one of this process.
    private var ownHeartbeat: Heartbeat?
    private var timer: TimerHandle?
    private var isDelivering = false
    private var turns = 0

    private static let pieceLimit = 4 << 20

    public init(_ path: String, node: String, on loop: EventLoop) throws {
        (self.path, self.node) = (path, node)
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Failure(description: "--engine file:\(path): \(unsafe String(cString: strerror(errno)))")
        }
        timer = try TimerHandle(on: loop) { [unowned self] _ in poll() }
        timer?.scheduleRepeating(everyMilliseconds: 20)
    }

    deinit {
        Glibc.close(descriptor)
    }

    public var status: LogStoreStatus {
        var status = LogStoreStatus(name: "file")
        status.isConnected = true
        return status
    }

    public func append(_ bytes: [UInt8], after position: Int64, token: Int64) {
        guard flock(descriptor, LOCK_EX) == 0 else { return }
        measure()
        let isNext = position == Int64(ends.count)
        var isWritten = false
        if isNext {
            let length = UInt32(bytes.count)
            let frame = (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + bytes
            let offset = ends.last ?? 0
            let count = unsafe frame.withUnsafeBytes {
                unsafe pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset))
            }
            isWritten = count == frame.count && fdatasync(descriptor) == 0
            if isWritten { ends.append(offset + Int64(frame.count)) } else { ftruncate(descriptor, off_t(offset)) }
        }
        flock(descriptor, LOCK_UN)
        if isWritten {
            events.append(.stored(token: token, position: position + 1))
        } else {
            events.append(isNext ? .full(token: token) : .refused(token: token))
        }
        deliver()
    }

    public func read(from position: Int64) {
        measure()
        reportedEnd = min(max(first - 1, position), Int64(ends.count))
        if reportedEnd == Int64(ends.count) {
            events.append(.read([], from: Int64(ends.count), end: Int64(ends.count)))
        }
        sendMore()
        deliver()
    }

    public func hold(_ isHeld: Bool) {
        self.isHeld = isHeld
        sendMore()
        deliver()
    }

    public func heartbeat(_ heartbeat: Heartbeat) {
        ownHeartbeat = heartbeat
        // Another process with the name of this one writes to the same file.
        hear(node)
        try? AtomicFile("\(path).beat-\(node)").replace(with: heartbeat.encoded(), mode: 0o600)
        events.append(.heartbeatStored(number: heartbeat.number))
        hear()
        events.append(.heartbeatsShown(through: heartbeat.number))
        deliver()
    }

    public func queryServers(_ request: CheckpointRequest) {
        measure()
        if let answer = answer(request) { events.append(.checkpoint(answer)) }
        deliver()
    }

    public func close() {
        timer = nil
        events = []
        onEvent = nil
    }

    // MARK: Looking

    private func poll() {
        measure()
        sendMore()
        turns += 1
        if turns % 5 == 0 { hear() }
        deliver()
    }

    /// Finds the whole messages that others have appended.
    private func measure() {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return }
        while true {
            let start = ends.last ?? 0
            let head = readBytes(at: start, count: 4)
            guard head.count == 4 else { return }
            let length = head.reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
            guard start + 4 + length <= Int64(status.st_size) else { return }
            ends.append(start + 4 + length)
        }
    }

    /// - Returns: `nil` where there is none.
    func message(at position: Int64) -> [UInt8]? {
        guard position >= first, position > 0, position <= Int64(ends.count) else { return nil }
        let start = position == 1 ? 0 : ends[Int(position) - 2]
        return readBytes(at: start + 4, count: Int(ends[Int(position) - 1] - start - 4))
    }

    private func sendMore() {
        guard var position = reportedEnd, !isHeld else { return }
        while position < Int64(ends.count) {
            var messages: [[UInt8]] = []
            var byteCount = 0
            let from = position
            while position < Int64(ends.count), byteCount < Self.pieceLimit {
                let start = position == 0 ? 0 : ends[Int(position) - 1]
                let bytes = readBytes(at: start + 4, count: Int(ends[Int(position)] - start - 4))
                messages.append(bytes)
                byteCount += bytes.count
                position += 1
            }
            events.append(.read(messages, from: from, end: Int64(ends.count)))
        }
        reportedEnd = position
    }

    private func hear() {
        let (folder, prefix) = (parts.folder, parts.name + ".beat-")
        guard let directory = unsafe opendir(folder) else { return }
        defer { unsafe closedir(directory) }
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name.hasPrefix(prefix) { hear(String(name.dropFirst(prefix.count))) }
        }
    }

    private func hear(_ other: String) {
        guard let bytes = try? AtomicFile("\(path).beat-\(other)").read(limit: 4_096)?.bytes,
            let heartbeat = try? Heartbeat(decoding: bytes), heartbeat.node == other, heartbeats[other] != heartbeat,
            heartbeat.instance != ownHeartbeat?.instance
        else { return }
        heartbeats[other] = heartbeat
        events.append(.heard(heartbeat))
    }

    var parts: (folder: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        return (String(path[..<slash]), String(path[path.index(after: slash)...]))
    }

    private func readBytes(at offset: Int64, count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = unsafe bytes.withUnsafeMutableBytes {
            unsafe pread(descriptor, $0.baseAddress, $0.count, off_t(offset))
        }
        return Array(bytes.prefix(max(0, got)))
    }

    private func deliver() {
        guard !isDelivering else { return }
        isDelivering = true
        while let onEvent, !events.isEmpty { onEvent(events.removeFirst()) }
        isDelivering = false
    }

    // MARK: Checkpoints
    //
    // Checkpoints and purging, in small files beside the log. The log itself stays as long as it is.

    private static let checkpointPieceLimit = 1 << 20
    private static let checkpointPieceCount = 8

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
            while pieces.count < Self.checkpointPieceCount, let piece = read("piece-\(id)-\(from + pieces.count)") {
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
        try? AtomicFile("\(path).\(name)").read(limit: Self.checkpointPieceLimit)?.bytes
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

    /// What the names of the files beside the log add to its own name.
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
