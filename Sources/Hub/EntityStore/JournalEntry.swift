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
    case asked(Key, due: Timestamp)
    /// A person arranged a board.
    case tile(TileEntry)
    /// Another connection, or none, acts for this control now.
    ///
    /// `asksAgain`: recorded by a release that sent a press in progress to the next provider. Its records are replayed by that
    /// rule.
    case providerChanged(Key, to: ConnectionNumber?, asksAgain: Bool = false)
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
            .supplied(let key, _, _, _), .reloaded(let key, _), .asked(let key, _):
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
        switch try reader.readByte() {
        case 1: entry = .settings(try reader.readJSON())
        case 2: entry = .kinds(try reader.readArray { (reader) throws(BinaryError) in try reader.readJSON() })
        case 3:
            let event = try PostedEvent(from: &reader)
            entry = .event(event, source: event.command.source ?? "-")
        case 4: entry = .dismissed(try reader.readKey(), account: try reader.readString())
        case 5: entry = .seen(try reader.readKey(), account: try reader.readString(), rev: try reader.readInt64())
        case 6: entry = .deadline(try reader.readKey(), due: try reader.readTimestamp())
        case 7: entry = .pruned(try reader.readKey())
        case 8: entry = .created(try reader.readKey())
        case let form where form == 9 || form == 24:
            let key = try reader.readKey()
            let value = try reader.readOptionalBool()
            entry = .tapped(
                key, Tap(value: value), connection: try reader.readInt64(),
                sender: try reader.readString(), eid: try reader.readOptionalText(), isLocked: try reader.readBool(),
                account: form == 24 ? try reader.readString() : nil)
        case 10:
            entry = .reported(
                try reader.readKey(), value: try reader.readOptionalBool(),
                observedAt: try reader.readOptional { (reader) throws(BinaryError) in try reader.readTimestamp() },
                by: try reader.readInt64())
        case 11:
            entry = .done(
                try reader.readKey(), OperationID(try reader.readInt64()), value: try reader.readOptionalBool(),
                by: try reader.readInt64())
        case 12:
            let (key, operation) = (try reader.readKey(), OperationID(try reader.readInt64()))
            let failure = ProviderFailure(code: try reader.readOptionalText(), message: try reader.readOptionalText())
            entry = .failed(key, operation, failure, by: try reader.readInt64())
        case 13: entry = .providerChanged(try reader.readKey(), to: try reader.readProvider(), asksAgain: true)
        case 14: entry = .restarted(try reader.readKey())
        case 15: entry = .kindChanged(try reader.readKey())
        case 16:
            entry = .raiseRefused(
                try reader.readKey(), OperationID(try reader.readInt64()),
                ProviderFailure(code: try reader.readOptionalText(), message: try reader.readOptionalText()))
        case 17: entry = .providerChanged(try reader.readKey(), to: try reader.readProvider())
        case 18: entry = .attached(try reader.readKey(), to: try reader.readKey())
        case 19: entry = .detached(try reader.readKey())
        case 20:
            entry = .supplied(
                try reader.readKey(), OperationID(try reader.readInt64()), try reader.readJSON(),
                by: try reader.readInt64())
        case 21: entry = .reloaded(try reader.readKey(), isFree: try reader.readBool())
        case 22: entry = .asked(try reader.readKey(), due: try reader.readTimestamp())
        case 23: entry = .tile(try TileEntry(from: &reader))
        default: throw reader.failure("unknown entry")
        }
        guard reader.isAtEnd else { throw reader.failure("more than a record") }
    }
}

extension BinaryWriter {
    mutating func write(_ entry: JournalEntry) {
        switch entry {
        case .settings(let settings):
            write(UInt8(1))
            write(settings)
        case .kinds(let kinds):
            write(UInt8(2))
            write(kinds) { $0.write($1) }
        case .event(let event, let source):
            write(event, from: source)
        case .dismissed(let key, let account):
            write(UInt8(4))
            write(key.text)
            write(account)
        case .seen(let key, let account, let rev):
            write(UInt8(5))
            write(key.text)
            write(account)
            write(rev)
        case .deadline(let key, let due):
            write(UInt8(6))
            write(key.text)
            write(due)
        case .pruned(let key):
            write(UInt8(7))
            write(key.text)
        case .created(let key):
            write(UInt8(8))
            write(key.text)
        case .tapped(let key, let tap, let connection, let sender, let eid, let isLocked, let account):
            write(UInt8(account == nil ? 9 : 24))
            write(key.text)
            write(tap.value) { $0.write($1) }
            write(connection)
            write(sender)
            write(eid) { $0.write($1) }
            write(isLocked)
            if let account { write(account) }
        case .reported(let key, let value, let observedAt, let connection):
            write(UInt8(10))
            write(key.text)
            write(value) { $0.write($1) }
            write(observedAt) { $0.write($1) }
            write(connection)
        case .done(let key, let operation, let value, let connection):
            write(UInt8(11))
            write(key.text)
            write(operation.number)
            write(value) { $0.write($1) }
            write(connection)
        case .failed(let key, let operation, let failure, let connection):
            write(UInt8(12))
            write(key.text)
            write(operation.number)
            write(failure?.code) { $0.write($1) }
            write(failure?.message) { $0.write($1) }
            write(connection)
        case .providerChanged(let key, let connection, let asksAgain):
            write(UInt8(asksAgain ? 13 : 17))
            write(key.text)
            write(connection) { $0.write($1) }
        case .restarted(let key):
            write(UInt8(14))
            write(key.text)
        case .kindChanged(let key):
            write(UInt8(15))
            write(key.text)
        case .raiseRefused(let key, let operation, let failure):
            write(UInt8(16))
            write(key.text)
            write(operation.number)
            write(failure.code) { $0.write($1) }
            write(failure.message) { $0.write($1) }
        case .attached(let key, let activity):
            write(UInt8(18))
            write(key.text)
            write(activity.text)
        case .detached(let key):
            write(UInt8(19))
            write(key.text)
        case .supplied(let key, let operation, let timeline, let connection):
            write(UInt8(20))
            write(key.text)
            write(operation.number)
            write(timeline)
            write(connection)
        case .reloaded(let key, let isFree):
            write(UInt8(21))
            write(key.text)
            write(isFree)
        case .asked(let key, let due):
            write(UInt8(22))
            write(key.text)
            write(due)
        case .tile(let entry):
            write(UInt8(23))
            entry.encode(to: &self)
        }
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

    mutating func readProvider() throws(BinaryError) -> ConnectionNumber? {
        try readOptional { (reader) throws(BinaryError) in try reader.readInt64() }
    }

    mutating func readKey() throws(BinaryError) -> Key {
        guard let key = Key(try readString()) else { throw failure("not a key") }
        return key
    }
}
