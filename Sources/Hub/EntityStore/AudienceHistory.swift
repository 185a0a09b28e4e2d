internal import TelltaleModel

/// The accounts of earlier activities under a key, if they differ from those of the current one.
///
/// Only the devices of these accounts are notified that an earlier activity is gone. And an account may not read a key's history
/// from before the key became its own.
struct AudienceHistory: Hashable, Sendable {
    struct Change: Hashable, Sendable {
        /// The commit that began an activity for other accounts.
        var commit: Int64
        /// The accounts of the activity before it; empty = everybody.
        var accounts: [String]
    }

    /// Oldest first.
    private(set) var changes: [Change] = []
    /// Changes before these are sent to every reader that resumes from before them: a key that is passed among so many accounts
    /// is no secret.
    private static let limit = 16

    /// The commit since which the key has its current accounts.
    var since: Int64 { changes.last?.commit ?? 0 }

    mutating func append(_ change: Change) {
        changes.append(change)
        guard changes.count > Self.limit else { return }
        changes.removeFirst()
        changes[0].accounts = []
    }

    /// Whether it was for `account` at `sequence` or later; `nil` = for everybody.
    func contains(_ account: String?, after sequence: Int64) -> Bool {
        changes.contains { change in
            change.commit > sequence
                && (change.accounts.isEmpty
                    || account.map { own in change.accounts.contains { $0.utf8.elementsEqual(own.utf8) } } == true)
        }
    }
}

extension AudienceHistory {
    func encode(to writer: inout BinaryWriter) {
        writer.write(changes) { writer, change in
            writer.write(change.commit)
            writer.write(change.accounts) { $0.write($1) }
        }
    }

    /// - Returns: `nil` if there is none.
    init?(from reader: inout BinaryReader) throws(BinaryError) {
        changes = try reader.readArray { (reader) throws(BinaryError) in
            Change(
                commit: try reader.readInt64(),
                accounts: try reader.readArray { (reader) throws(BinaryError) in try reader.readString() })
        }
        if changes.isEmpty { return nil }
    }
}
