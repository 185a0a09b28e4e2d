extension DirtyQueue.Entry {
    /// Makes an entry for commits of the key itself, without announcements.
    public init(commit: Int64, foldedCount: Int64) {
        self.init(firstCommit: commit, foldedCount: foldedCount, cause: foldedCount > 0 ? .slow : nil)
    }

    /// Makes the row of a snapshot.
    ///
    /// - Parameter firstCommit: The commit after the newest.
    public init(snapshotSince firstCommit: Int64) { self.init(firstCommit: firstCommit, isSnapshot: true) }

    /// Makes the row of a key that may have changed since the cursor of a resume.
    public init(resumeSince firstCommit: Int64) {
        self.init(firstCommit: firstCommit, cause: .resume, reportsDeletion: true)
    }

    /// Makes the row of a key that is drawn differently, although no commit changed the key itself.
    public init(surroundingsSince firstCommit: Int64) { self.init(firstCommit: firstCommit, hasOwnCommit: false) }

    /// The same row as part of a resume.
    public var resuming: Self {
        var entry = self
        entry.cause = .resume
        entry.reportsDeletion = true
        return entry
    }

    mutating func fold() {
        // A row of a snapshot stands for a state, not for a commit.
        guard !isSnapshot else { return }
        // An entry that was made for changed surroundings stands for no commit yet; this is its first.
        guard hasOwnCommit else {
            hasOwnCommit = true
            return
        }
        foldedCount += 1
        cause = cause ?? .slow
    }
}
