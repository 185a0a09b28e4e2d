internal import Machines
internal import TelltaleModel
internal import TelltaleWire

/// One thing that the hub decided on, as a journal record stores it.
///
/// The past is recomputed from these entries alone, so they contain everything that a decision depends on.
enum JournalEntry: Sendable {
    /// Settings that decisions depend on, as they take effect.
    case settings(JSON)
    /// The kinds, all of them, as they take effect.
    case kinds([JSON])
    case event(PostedEvent, source: String)
    case dismissed(Key, account: String)
    case seen(Key, account: String, rev: Int64)
    /// Creates a control that its kind file lists.
    case created(Key)
    /// A person tapped a control. `sender` and `eid` make a retry harmless. `account` is the one for which a press starts an
    /// activity; `nil` = everyone.
    case tapped(
        Key, Tap, connection: ConnectionNumber, sender: String, eid: String?, isLocked: Bool,
        account: String? = nil)
    /// A provider reported the state of the real thing. This creates the control if it does not exist.
    case reported(Key, value: Bool?, observedAt: Timestamp?, by: ConnectionNumber)
    case done(Key, OperationID, value: Bool?, by: ConnectionNumber)
    case failed(Key, OperationID, ProviderFailure?, by: ConnectionNumber)
    /// A provider supplied the timeline for a refresh of a widget: the tail of its `DONE`.
    case supplied(Key, OperationID, JSON, by: ConnectionNumber)
    /// A widget must be refreshed. `isFree`: its sender serves the kind.
    case reloaded(Key, isFree: Bool)
    /// A refresh of a widget was sent to its provider; it was due then.
    case refreshStarted(Key, due: Timestamp)
    /// A person arranged a board.
    case tile(TileEntry)
    /// Another connection, or none, acts for this control now.
    ///
    /// `asksAgain`: recorded by a release that sent a press in progress to the next provider. Its records are replayed by that
    /// rule.
    case providerChanged(Key, to: ConnectionNumber?, refreshesAgain: Bool = false)
    /// The event that a button raised was refused, so the press had no effect.
    case raiseRefused(Key, OperationID, ProviderFailure)
    /// The daemon was restarted, so all earlier connections are gone.
    case restarted(Key)
    /// A control uses the version of its kind in force from now on.
    case kindChanged(Key)
    /// A control belongs to an activity from now on: it exists with the activity and has its accounts. If recorded again, it
    /// takes the activity's current accounts.
    case attached(Key, to: Key)
    /// A control ended with its activity.
    case detached(Key)
    /// The earliest deadline of this key fired.
    ///
    /// The key's state determines which deadline it was and what it did; `due` is when it should have fired, for the history.
    case deadline(Key, due: Timestamp)
    /// Retention has ended; the key is forgotten.
    case pruned(Key)

    /// The key that the entry concerns.
    var key: Key? {
        switch self {
        case .settings, .kinds: nil
        case .event(let event, _): event.command.key
        case .tile(let entry): entry.key
        case .dismissed(let key, _), .seen(let key, _, _), .deadline(let key, _), .pruned(let key), .created(let key),
            .tapped(let key, _, _, _, _, _, _), .reported(let key, _, _, _), .done(let key, _, _, _),
            .failed(let key, _, _, _), .providerChanged(let key, _, _), .raiseRefused(let key, _, _),
            .restarted(let key), .kindChanged(let key), .attached(let key, _), .detached(let key),
            .supplied(let key, _, _, _), .reloaded(let key, _), .refreshStarted(let key, _):
            key
        }
    }
}

/// The body of a journal record: the entry and its outcome.
struct RecordBody: Sendable {
    var entry: JournalEntry
    /// Real wall time, for the age of event ids and for retention.
    var wall: Timestamp
    /// The principal that sent the request; `nil` = the server itself, or a server without tokens.
    var author: String?
    var verdict: Verdict
    /// The key's rev after it.
    var rev: Int64
    /// The state after it in words, for the history.
    var state: StateName
    /// A hash of the key's whole state: a recovery that computes another one must stop.
    var stateHash: UInt64
}

/// A state in words: life-cycle, then the innermost state, joined by a space when it is read.
struct StateName: Sendable, CustomStringConvertible {
    private let lifecycle: String
    private let state: String

    init(lifecycle: String, state: String) {
        self.lifecycle = lifecycle
        self.state = state
    }

    init(_ words: String) {
        self.init(lifecycle: "", state: words)
    }

    var description: String { lifecycle.isEmpty ? state : "\(lifecycle) \(state)" }

    /// As one text.
    func encode(to writer: inout BinaryWriter) {
        if lifecycle.isEmpty { writer.write(state) } else { writer.write(words: lifecycle, state) }
    }
}

extension RecordBody {
    /// A record without an author, as in the first release.
    private static let version: UInt8 = 1
    /// A record whose author precedes the entry.
    private static let authoredVersion: UInt8 = 2

    /// Encodes what ``init(decoding:)`` reads directly from its parts; building a ``RecordBody`` first would copy everything.
    ///
    /// - Parameters:
    ///   - author: The principal that sent the request.
    ///   - writer: A buffer that is empty before and after.
    ///   - writer: Memory to write in; it is empty before and after.
    ///   - writeEntry: Writes the entry that was decided on.
    static func encode(
        _ result: borrowing DecisionResult, wall: Timestamp, by author: String?, _ writer: inout BinaryWriter,
        _ writeEntry: (inout BinaryWriter) -> Void
    ) -> [UInt8] {
        writer.write(author == nil ? version : authoredVersion)
        writer.write(wall)
        writer.write(UInt8(truncatingIfNeeded: Verdict.allCases.firstIndex(of: result.verdict) ?? 0))
        writer.write(result.rev)
        result.description.encode(to: &writer)
        writer.write(result.stateHash)
        if let author { writer.write(author) }
        writeEntry(&writer)
        return writer.take()
    }

    init(decoding bytes: [UInt8]) throws(BinaryError) {
        var reader = BinaryReader(bytes)
        let version = try reader.readByte()
        guard version == Self.version || version == Self.authoredVersion else {
            throw reader.failure("a record of another version")
        }
        wall = try reader.readTimestamp()
        let verdictIndex = Int(try reader.readByte())
        guard Verdict.allCases.indices.contains(verdictIndex) else { throw reader.failure("unknown verdict") }
        verdict = Verdict.allCases[verdictIndex]
        rev = try reader.readInt64()
        state = StateName(try reader.readString())
        stateHash = try reader.readUInt64()
        author = version == Self.authoredVersion ? try reader.readString() : nil
        let form = try reader.readByte()
        switch form {
        case 1: entry = .settings(try reader.readJSON())
        case 2: entry = .kinds(try reader.readArray { (reader) throws(BinaryError) in try reader.readJSON() })
        case 3:
            let event = try PostedEvent(from: &reader)
            entry = .event(event, source: event.command.source ?? "-")
        case 23: entry = .tile(try TileEntry(from: &reader))
        case 4...24: entry = try JournalEntry(form: form, about: try reader.readKey(), from: &reader)
        default: throw reader.failure("unknown entry")
        }
        guard reader.isAtEnd else { throw reader.failure("more than a record") }
    }
}

extension JournalEntry {
    /// The number that begins it in a record. A later form of an entry has another number.
    fileprivate var form: UInt8 {
        switch self {
        case .settings: 1
        case .kinds: 2
        case .event: 3
        case .dismissed: 4
        case .seen: 5
        case .deadline: 6
        case .pruned: 7
        case .created: 8
        case .tapped(_, _, _, _, _, _, let account): account == nil ? 9 : 24
        case .reported: 10
        case .done: 11
        case .failed: 12
        case .providerChanged(_, _, let refreshesAgain): refreshesAgain ? 13 : 17
        case .restarted: 14
        case .kindChanged: 15
        case .raiseRefused: 16
        case .attached: 18
        case .detached: 19
        case .supplied: 20
        case .reloaded: 21
        case .refreshStarted: 22
        case .tile: 23
        }
    }

    /// Reads an entry of a form that begins with its key.
    fileprivate init(form: UInt8, about key: Key, from reader: inout BinaryReader) throws(BinaryError) {
        switch form {
        case 4: self = .dismissed(key, account: try reader.readString())
        case 5: self = .seen(key, account: try reader.readString(), rev: try reader.readInt64())
        case 6: self = .deadline(key, due: try reader.readTimestamp())
        case 7: self = .pruned(key)
        case 8: self = .created(key)
        case 9, 24:
            self = .tapped(
                key, Tap(value: try reader.readOptionalBool()), connection: try reader.readInt64(),
                sender: try reader.readString(), eid: try reader.readOptionalText(), isLocked: try reader.readBool(),
                account: form == 24 ? try reader.readString() : nil)
        case 10:
            self = .reported(
                key, value: try reader.readOptionalBool(),
                observedAt: try reader.readOptional { (reader) throws(BinaryError) in try reader.readTimestamp() },
                by: try reader.readInt64())
        case 11:
            self = .done(
                key, try reader.readOperation(), value: try reader.readOptionalBool(), by: try reader.readInt64())
        case 12:
            self = .failed(
                key, try reader.readOperation(), try reader.readFailure(), by: try reader.readInt64())
        case 13, 17: self = .providerChanged(key, to: try reader.readProvider(), refreshesAgain: form == 13)
        case 14: self = .restarted(key)
        case 15: self = .kindChanged(key)
        case 16: self = .raiseRefused(key, try reader.readOperation(), try reader.readFailure())
        case 18: self = .attached(key, to: try reader.readKey())
        case 19: self = .detached(key)
        case 20:
            self = .supplied(
                key, try reader.readOperation(), try reader.readJSON(), by: try reader.readInt64())
        case 21: self = .reloaded(key, isFree: try reader.readBool())
        case 22: self = .refreshStarted(key, due: try reader.readTimestamp())
        default: throw reader.failure("unknown entry")
        }
    }
}

extension BinaryWriter {
    mutating func write(_ entry: JournalEntry) {
        if case .event(let event, let source) = entry { return write(event, from: source) }
        write(entry.form)
        if case .tile(let entry) = entry { return entry.encode(to: &self) }
        if let key = entry.key { write(key.text) }
        switch entry {
        case .event, .tile, .pruned, .created, .restarted, .kindChanged, .detached: break
        case .settings(let settings): write(settings)
        case .kinds(let kinds): write(kinds) { $0.write($1) }
        case .dismissed(_, let account): write(account)
        case .seen(_, let account, let rev):
            write(account)
            write(rev)
        case .deadline(_, let due), .refreshStarted(_, let due): write(due)
        case .tapped(_, let tap, let connection, let sender, let eid, let isLocked, let account):
            write(tap.value) { $0.write($1) }
            write(connection)
            write(sender)
            write(eid) { $0.write($1) }
            write(isLocked)
            if let account { write(account) }
        case .reported(_, let value, let observedAt, let connection):
            write(value) { $0.write($1) }
            write(observedAt) { $0.write($1) }
            write(connection)
        case .done(_, let operation, let value, let connection):
            write(operation.number)
            write(value) { $0.write($1) }
            write(connection)
        case .failed(_, let operation, let failure, let connection):
            write(operation.number)
            write(failure)
            write(connection)
        case .providerChanged(_, let connection, _): write(connection) { $0.write($1) }
        case .raiseRefused(_, let operation, let failure):
            write(operation.number)
            write(failure)
        case .attached(_, let activity): write(activity.text)
        case .supplied(_, let operation, let timeline, let connection):
            write(operation.number)
            write(timeline)
            write(connection)
        case .reloaded(_, let isFree): write(isFree)
        }
    }

    private mutating func write(_ failure: ProviderFailure?) {
        write(failure?.code) { $0.write($1) }
        write(failure?.message) { $0.write($1) }
    }

    mutating func write(_ event: PostedEvent, from source: String) {
        write(UInt8(3))
        event.encode(to: &self, source: source)
    }
}

extension BinaryReader {
    mutating func readOptionalBool() throws(BinaryError) -> Bool? {
        try readOptional { (reader) throws(BinaryError) in try reader.readBool() }
    }

    mutating func readOptionalText() throws(BinaryError) -> String? {
        try readOptional { (reader) throws(BinaryError) in try reader.readString() }
    }

    fileprivate mutating func readOperation() throws(BinaryError) -> OperationID { OperationID(try readInt64()) }

    fileprivate mutating func readFailure() throws(BinaryError) -> ProviderFailure {
        ProviderFailure(code: try readOptionalText(), message: try readOptionalText())
    }

    mutating func readProvider() throws(BinaryError) -> ConnectionNumber? {
        try readOptional { (reader) throws(BinaryError) in try reader.readInt64() }
    }

    mutating func readKey() throws(BinaryError) -> Key {
        guard let key = Key(try readString()) else { throw failure("not a key") }
        return key
    }
}
