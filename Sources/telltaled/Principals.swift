import Authenticator
import Hub
import Logging

/// The file of `--auth`, which says who may do what. It is reloaded when it changes.
struct Principals {
    private var file: PrincipalFile
    /// The directory that was read at the start, until it is taken.
    private var first: PrincipalDirectory?
    /// The faults that were logged last, so that a file that stays wrong is logged once and not every second.
    private var logged: [String] = []

    init(_ path: String) throws(PrincipalFaults) {
        file = PrincipalFile(path)
        first = try file.load()
    }

    /// Returns what was read at the start, once; the server owns it from then on.
    mutating func takeFirst() -> PrincipalDirectory? {
        defer { first = nil }
        return first
    }

    /// Reads the file again.
    ///
    /// - Parameter isAsked: Whether to read the file even if it has not changed.
    /// - Returns: The new directory; `nil` = the old one stays in force.
    mutating func reread(isAsked: Bool, _ logger: Logger) -> PrincipalDirectory? {
        guard isAsked || file.hasChanged else { return nil }
        do throws(PrincipalFaults) {
            let directory = try file.load()
            logged = []
            logger.info("principals reloaded", metadata: ["count": "\(directory.principalCount)"])
            return directory
        } catch {
            if isAsked || error.faults != logged {
                for fault in error.faults {
                    logger.error("the principals were not reloaded; the old ones stay in force: \(fault)")
                }
            }
            logged = error.faults
            return nil
        }
    }
}
