internal import Glibc
internal import Journal

/// The state of SQLite's write-ahead log, examined before SQLite opens it.
///
/// SQLite stops reading at the first invalid frame and drops the rest. That is right after a crash, when the rest is
/// the transaction that was being written, and wrong if the disk has damaged a frame that was synced before. The frames
/// after the first invalid one distinguish the cases: a transaction begins only after the one before it was synced, so
/// at most one transaction can be incomplete.
///
/// Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
struct WriteAheadLog: Hashable {
    /// The offset after the last complete transaction, in bytes.
    var validByteCount = 0
    /// The number of bytes of this log's own generation after it.
    var droppedByteCount = 0
    /// The number of pages in the complete transactions, repeats counted.
    var validFrameCount = 0
    /// The offset of the damage because of which SQLite would drop synced transactions, in bytes.
    var damageOffset: Int?

    private static let headerByteCount = 32
    private static let frameHeaderByteCount = 24

    init(reading file: String) throws(JournalError) {
        guard let size = JournalFolder.size(of: file), size > 0 else { return }
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .failed(what: "could not open \(file)", cause: systemMessage(errno)) }
        defer { Glibc.close(descriptor) }
        try Self.check(descriptor, size, file)
        guard let address = unsafe mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0), unsafe address != MAP_FAILED
        else { throw .failed(what: "could not read \(file)", cause: systemMessage(errno)) }
        defer { unsafe munmap(address, size) }
        unsafe scan(UnsafeRawBufferPointer(start: address, count: size))
    }

    /// Reads all of it once: where the disk cannot read, memory that is mapped ends the process without a word.
    private static func check(_ descriptor: CInt, _ size: Int, _ file: String) throws(JournalError) {
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        var offset = 0
        while offset < size {
            let count = unsafe piece.withUnsafeMutableBytes {
                unsafe pread(descriptor, $0.baseAddress, $0.count, off_t(offset))
            }
            guard count > 0 else {
                let cause = count < 0 ? systemMessage(errno) : "it became shorter"
                throw .failed(what: "could not read \(file) from byte \(offset) on", cause: cause)
            }
            offset += count
        }
    }

    /// Examines bytes that are already in memory.
    init(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe scan($0) }
    }

    private mutating func scan(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.headerByteCount else { return }
        func word(_ offset: Int) -> UInt32 {
            unsafe UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
        let magic = word(0)
        let pageSize = Int(word(8))
        var sum = Sum(isBigEndian: magic & 1 == 1)
        unsafe sum.add(UnsafeRawBufferPointer(rebasing: bytes[0..<24]))
        guard magic & ~1 == 0x377F_0682, pageSize >= 512, pageSize <= 65_536, sum.matches(word(24), word(28)) else {
            // The header is synced before any frame is written. It may be incomplete if no frame follows, only the
            // zeros that extend the file.
            let isBlank = unsafe bytes[Self.headerByteCount...].allSatisfy { $0 == 0 }
            damageOffset = isBlank ? nil : 0
            return
        }
        validByteCount = Self.headerByteCount

        let frameByteCount = Self.frameHeaderByteCount + pageSize
        let salts = (word(16), word(20))
        var offset = Self.headerByteCount
        while offset + frameByteCount <= bytes.count, word(offset + 8) == salts.0, word(offset + 12) == salts.1 {
            unsafe sum.add(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + 8]))
            unsafe sum.add(UnsafeRawBufferPointer(rebasing: bytes[offset + 24..<offset + frameByteCount]))
            guard sum.matches(word(offset + 16), word(offset + 20)) else { break }
            offset += frameByteCount
            if word(offset - frameByteCount + 4) != 0 { validByteCount = offset }
        }

        validFrameCount = (validByteCount - Self.headerByteCount) / frameByteCount

        // The frames after the last complete transaction.
        var pages: Set<UInt32> = []
        var isFinished = false
        offset = validByteCount
        while offset + Self.frameHeaderByteCount <= bytes.count {
            let isWhole = unsafe isWholeFrame(at: offset, frameByteCount, of: bytes)
            // A single damaged byte cannot hide a frame, because it changes only one of the two salts.
            let isOwn = word(offset + 8) == salts.0 || word(offset + 12) == salts.1
            if isOwn, isWhole || !isTorn(at: offset) {
                let isRepeated = !pages.insert(word(offset)).inserted
                if isFinished || isRepeated { damageOffset = damageOffset ?? validByteCount }
                isFinished = isFinished || word(offset + 4) != 0
            }
            if isOwn { droppedByteCount = min(bytes.count, offset + frameByteCount) - validByteCount }
            offset += frameByteCount
        }
    }

    /// Whether a frame's header may be a mixture of old and new bytes: a disk writes whole sectors, and this header
    /// spans two.
    private func isTorn(at offset: Int) -> Bool {
        offset / 512 != (offset + Self.frameHeaderByteCount - 1) / 512
    }

    /// Whether a frame is valid for the running checksum of the frame or header before it.
    private func isWholeFrame(at offset: Int, _ byteCount: Int, of bytes: UnsafeRawBufferPointer) -> Bool {
        guard offset + byteCount <= bytes.count else { return false }
        func word(_ offset: Int) -> UInt32 {
            unsafe UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
        let sums = offset == Self.headerByteCount ? 24 : offset - byteCount + 16
        var sum = Sum(isBigEndian: word(0) & 1 == 1, first: word(sums), second: word(sums + 4))
        unsafe sum.add(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + 8]))
        unsafe sum.add(UnsafeRawBufferPointer(rebasing: bytes[offset + 24..<offset + byteCount]))
        return sum.matches(word(offset + 16), word(offset + 20))
    }

    /// SQLite's log checksum: two sums over pairs of 32-bit words.
    private struct Sum {
        var isBigEndian: Bool
        var first: UInt32 = 0
        var second: UInt32 = 0

        func matches(_ first: UInt32, _ second: UInt32) -> Bool { self.first == first && self.second == second }

        mutating func add(_ bytes: UnsafeRawBufferPointer) {
            var offset = 0
            while offset + 8 <= bytes.count {
                let left = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                let right = unsafe bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                first &+= (isBigEndian ? UInt32(bigEndian: left) : UInt32(littleEndian: left)) &+ second
                second &+= (isBigEndian ? UInt32(bigEndian: right) : UInt32(littleEndian: right)) &+ first
                offset += 8
            }
        }
    }
}
