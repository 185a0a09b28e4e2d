import Authenticator
import Hub
import Logging

/// The file of `--auth`: who may say what, read again when it changes.
struct Principals {
    private var file: PrincipalFile
    /// As it was read at the start, until it is taken.
    private var first: PrincipalDirectory?
    /// The faults that the log was told of last: a file that stays wrong is a line, and not one a second.
    private var told: [String] = []

    init(_ path: String) throws(PrincipalFaults) {
        file = PrincipalFile(path)
        first = try file.load()
    }

    /// Gives what was read at the start, once: the server has it from then on.
    mutating func takeFirst() -> PrincipalDirectory? {
        defer { first = nil }
        return first
    }

    /// Reads the file again.
    ///
    /// - Parameter isAsked: Whether it is read although it has not changed.
    /// - Returns: What is in force from now on; `nil` = what was.
    mutating func reread(isAsked: Bool, _ logger: Logger) -> PrincipalDirectory? {
        guard isAsked || file.hasChanged else { return nil }
        do throws(PrincipalFaults) {
            let directory = try file.load()
            told = []
            logger.info("principals reloaded", metadata: ["count": "\(directory.principalCount)"])
            return directory
        } catch {
            if isAsked || error.faults != told {
                for fault in error.faults {
                    logger.error("the principals were not reloaded; the old ones stay in force: \(fault)")
                }
            }
            told = error.faults
            return nil
        }
    }
}
