internal import TelltaleModel

/// For whom the activities under a key were that came before the one there now, as far as they were for others.
///
/// Their devices are told that it is gone, and no other device hears of it. And the history before a key became another
/// account's is not that account's to read.
struct AudienceHistory: Hashable, Sendable {
    struct Change: Hashable, Sendable {
        /// The one that began an activity for others.
        var commit: Int64
        /// For whom the one before it was; empty = everybody.
        var accounts: [String]
    }

    /// Oldest first.
    private(set) var changes: [Change] = []
    /// An older change is told to every reader that resumes from before it: a key that goes round among many is no secret.
    private static let limit = 16

    /// Since when the key is for those that it is for now.
    var since: Int64 { changes.last?.commit ?? 0 }

    mutating func append(_ change: Change) {
        changes.append(change)
        guard changes.count > Self.limit else { return }
        changes.removeFirst()
        changes[0].accounts = []
    }

    /// Whether it was for `account` at `sequence`, or since; `nil` = for everybody.
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

    /// - Returns: `nil` where there is none.
    init?(from reader: inout BinaryReader) throws(BinaryError) {
        changes = try reader.readArray { (reader) throws(BinaryError) in
            Change(
                commit: try reader.readInt64(),
                accounts: try reader.readArray { (reader) throws(BinaryError) in try reader.readString() })
        }
        if changes.isEmpty { return nil }
    }
}
