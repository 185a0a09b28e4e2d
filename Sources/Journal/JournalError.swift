/// The failure of a journal's operation, with its object, its cause and the remedy.
public enum JournalError: Error, Hashable, Sendable {
    /// The disk, a quota or a size limit is full. Nothing was written partially, and the next call may succeed.
    case full(what: String, cause: String)
    /// A sync or an input/output error. The content of the disk is unknown, so every later write fails as well. The
    /// daemon stops acknowledging, reports the error and exits; a restart reads the actual content.
    case failed(what: String, cause: String)
    /// A fault outside the journal: a permission, a file in a folder's place, another program. The content of the disk
    /// is unchanged.
    case unusable(what: String, cause: String, advice: String)
    /// The content differs from what was written. The place is a file, with a record, chunk or byte if known.
    case corrupt(place: String, advice: String)
    /// Another process uses the folder.
    case locked(folder: String, by: String)
    /// The file belongs to another program or to a newer release.
    case foreign(file: String, reason: String)

    /// The same error for a process that exits with it: such a process does not continue by itself and acknowledges
    /// nothing.
    ///
    /// - Parameter next: The step to take after the disk is repaired, such as "start again".
    public func ending(_ next: String) -> JournalError {
        switch self {
        case .full(let what, let cause):
            .unusable(what: what, cause: cause, advice: "free some space, then \(next)")
        case .failed(let what, let cause):
            .unusable(what: what, cause: cause, advice: "check the disk, then \(next)")
        case .unusable, .corrupt, .locked, .foreign: self
        }
    }
}

extension JournalError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .full(let what, let cause): "\(what): \(cause) (free some space; it goes on by itself then)"
        case .failed(let what, let cause):
            "\(what): \(cause) (nothing more is acknowledged; check the disk, then start again)"
        case .unusable(let what, let cause, let advice): "\(what): \(cause) (\(advice))"
        case .corrupt(let place, let advice): "the journal is damaged: \(place) (\(advice))"
        case .locked(let folder, let by):
            "\(folder) is in use by \(by) (stop that one first, or choose another --data)"
        case .foreign(let file, let reason): "\(file) \(reason) (choose another --data, or the release that made it)"
        }
    }
}
