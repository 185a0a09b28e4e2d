import FoundationEssentials
import Glibc
import Synchronization

/// Kills the process at a named place, for tests of crash recovery. Release builds ignore it.
///
/// `TELLTALE_FAILPOINT=NAME` or `NAME:COUNT`: SIGKILL when the place is reached for the COUNTth time.
final class FailPoint: Sendable {
    static let shared = FailPoint(ProcessInfo.processInfo.environment["TELLTALE_FAILPOINT"])

    /// `TELLTALE_SNAPSHOT_RECORDS=N`: the records between two snapshots, so that a short test has many.
    static var recordsBetweenSnapshots: Int64? { number("TELLTALE_SNAPSHOT_RECORDS").map { Int64($0) } }

    /// `TELLTALE_PART_RECORDS=N`: the records that the journal gets at a time, so that a small batch has many parts.
    static let recordsPerPart = number("TELLTALE_PART_RECORDS").map { max(1, $0) }

    /// `TELLTALE_LOG_BYTES=N`: the length at which the journal's log is copied, so that a short test reaches it.
    static var logByteCount: Int? { number("TELLTALE_LOG_BYTES") }

    /// `TELLTALE_RECOVERY_RECORDS=N`: the records between two progress reports of a recovery, so that a short one
    /// reports as a long one does.
    static let recordsPerRecoveryStep = number("TELLTALE_RECOVERY_RECORDS").map { max(1, $0) }

    private static func number(_ name: String) -> Int? {
        #if DEBUG
            ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
        #else
            nil
        #endif
    }

    private let name: String
    // The journal's threads and the loop's thread all pass these places.
    private let rest: Mutex<Int>

    private init(_ text: String?) {
        let parts = (text ?? "").split(separator: ":")
        name = parts.first.map(String.init) ?? ""
        rest = Mutex(parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
    }

    func reached(_ place: String) {
        #if DEBUG
            guard place == name else { return }
            rest.withLock { rest in
                rest -= 1
                if rest <= 0 { kill(getpid(), SIGKILL) }
            }
        #endif
    }
}
