import FoundationEssentials
import Glibc
import Synchronization

/// Kills the process at a named place, for tests of what it leaves behind. Builds for release ignore it.
///
/// `TELLTALE_FAILPOINT=NAME` or `NAME:COUNT`: SIGKILL the COUNTth time that the place is reached.
final class FailPoint: Sendable {
    static let shared = FailPoint(ProcessInfo.processInfo.environment["TELLTALE_FAILPOINT"])

    /// `TELLTALE_SNAPSHOT_RECORDS=N`: how many records lie between two snapshots, so that a test meets many.
    static var recordsBetweenSnapshots: Int64? { number("TELLTALE_SNAPSHOT_RECORDS").map { Int64($0) } }

    /// `TELLTALE_PART_RECORDS=N`: how many records the journal gets at a time, so that a small batch has many parts.
    static let recordsPerPart = number("TELLTALE_PART_RECORDS").map { max(1, $0) }

    /// `TELLTALE_LOG_BYTES=N`: how long the journal's log is when it is copied, so that a test meets that.
    static var logByteCount: Int? { number("TELLTALE_LOG_BYTES") }

    /// `TELLTALE_RECOVERY_RECORDS=N`: how many records a recovery replays before it says how far it has come, so that a short one
    /// speaks as a long one does.
    static let recordsPerRecoveryStep = number("TELLTALE_RECOVERY_RECORDS").map { max(1, $0) }

    private static func number(_ name: String) -> Int? {
        #if DEBUG
            ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
        #else
            nil
        #endif
    }

    private let name: String
    // The journal's threads and the loop's all come by.
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
