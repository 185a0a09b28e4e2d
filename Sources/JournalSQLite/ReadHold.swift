internal import Journal

/// A read transaction of a journal's connection that lasts over several commits.
///
/// SQLite otherwise takes and gives back a read lock in each transaction, with four of its six calls for locks. A
/// connection reads its own commits, whenever its read transaction began. But pages that come after its beginning are
/// copied into the file only after its end, and the log restarts only after it.
final class ReadHold {
    private let connection: SQLiteConnection
    private let statement: SQLiteStatement
    private(set) var isHeld = false
    /// The log's length at the beginning, in pages.
    private var length = 0

    /// The growth of the log, in pages, after which the hold is renewed.
    private static let lengthLimit = 256

    init(_ connection: SQLiteConnection) throws(JournalError) {
        self.connection = connection
        statement = try connection.prepare("SELECT rowid FROM sqlite_schema")
    }

    /// Called in a transaction, which the hold outlasts.
    func begin(_ what: @autoclosure () -> String) throws(JournalError) {
        guard !isHeld else { return }
        length = connection.logLength
        isHeld = try statement.step(what())
    }

    /// Called between two transactions, and before the log is copied.
    func end() {
        guard isHeld else { return }
        isHeld = false
        statement.reset()
    }

    /// Ends a hold that is so old that it keeps many pages from being copied.
    func endIfOld() {
        if connection.logLength - length > Self.lengthLimit { end() }
    }
}
