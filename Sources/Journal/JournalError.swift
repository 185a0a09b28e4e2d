/// What a journal could not do. Each says what, where, and what to do about it.
public enum JournalError: Error, Hashable, Sendable {
    /// The disk, a quota or a size limit is full. Nothing was half written, and the next call may succeed.
    case full(what: String, cause: String)
    /// A sync or an input/output error. What is on the disk is unknown, so every later write fails too: stop
    /// acknowledging, say so, and leave. A restart reads what is really there.
    case failed(what: String, cause: String)
    /// Something beside the journal is in the way: a permission, a file in a folder's place, another program. What is
    /// on the disk is as it was.
    case unusable(what: String, cause: String, advice: String)
    /// The journal does not hold what was written. The place is a file, with a record, chunk or byte where known.
    case corrupt(place: String, advice: String)
    /// Another process has the folder.
    case locked(folder: String, by: String)
    /// The file is not ours, or of a newer release.
    case foreign(file: String, reason: String)

    /// The same of a process that ends with it: nothing goes on by itself then, and nothing was being acknowledged.
    ///
    /// - Parameter next: What to do when the disk is in order again, "start again" say.
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
