public import Kinds
public import TelltaleModel

extension Widget {
    /// Appends all of its state.
    public func encode(to writer: inout BinaryWriter) {
        writer.write(configuration)
        writer.write(accounts) { $0.write($1) }
        writer.write(createdAt)
        writer.write(entries) { writer, entry in
            writer.write(entry.date)
            writer.write(entry.content)
            writer.write(entry.relevance) { $0.write($1) }
        }
        switch policy {
        case .atEnd: writer.write(UInt8(1))
        case .never: writer.write(UInt8(2))
        case .after(let date):
            writer.write(UInt8(3))
            writer.write(date)
        }
        writer.write(asOf) { $0.write($1) }
        writer.write(isGone)
        writer.write(UInt8(Phase.allCases.firstIndex(of: committedPhase) ?? 0))
        writer.write(newestVersion) { $0.write($1) }
        writer.write(newestAt)
        // Other widgets are encoded as before derived ones existed.
        if let keptCount { writer.write(keptCount) }
        if let refresh { refresh.encode(to: &writer) }
        if let tallies {
            writer.write(tallies) { writer, tally in
                writer.write(tally.name)
                writer.write(tally.start)
                writer.write(tally.amount)
            }
        }
    }

    /// The form of an encoded widget, known from its context.
    public enum Form: UInt8, Sendable {
        case plain = 6
        case derived, aggregate, refreshed
    }

    public var form: Form { isAggregate ? .aggregate : isDerived ? .derived : isRefreshed ? .refreshed : .plain }

    /// Reads what ``encode(to:)`` wrote.
    public init(from reader: inout BinaryReader, _ form: Form = .plain) throws(BinaryError) {
        configuration = try reader.readJSON()
        accounts = try reader.readArray { (reader) throws(BinaryError) in try reader.readString() }
        createdAt = try reader.readTimestamp()
        entries = try reader.readArray { (reader) throws(BinaryError) in
            WidgetEntry(
                date: try reader.readTimestamp(), content: try reader.readJSON(),
                relevance: try reader.readOptional { (reader) throws(BinaryError) in try reader.readJSON() })
        }
        switch try reader.readByte() {
        case 1: policy = .atEnd
        case 2: policy = .never
        case 3: policy = .after(try reader.readTimestamp())
        default: throw reader.failure("unknown policy")
        }
        asOf = try reader.readOptional { (reader) throws(BinaryError) in try reader.readTimestamp() }
        isGone = try reader.readBool()
        let phase = Int(try reader.readByte())
        guard Phase.allCases.indices.contains(phase) else { throw reader.failure("unknown phase") }
        committedPhase = Phase.allCases[phase]
        newestVersion = try reader.readOptional { (reader) throws(BinaryError) in try reader.readInt64() }
        newestAt = try reader.readTimestamp()
        keptCount = form == .derived ? try reader.readByte() : nil
        if form == .refreshed { refresh = try Refresh(from: &reader) }
        if form == .aggregate {
            tallies = try reader.readArray { (reader) throws(BinaryError) in
                WidgetTally(
                    name: try reader.readString(), start: try reader.readTimestamp(), amount: try reader.readInt64())
            }
        }
    }

    /// Appends the body of a `view=full` row as one object. It does not change without a new `rev`.
    ///
    /// - Parameter values: For an aggregate: its values without the tallies.
    public func writeFullRow(
        key: Key, kind: WidgetKind, values: JSONObject = JSONObject(), to writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.member("kind", String(key.kind))
        writer.member("source", kind.source.name)
        // Computed content is never used up. The committed phase applies to posted content.
        writer.member("phase", kind.isPushed || isGone ? committedPhase.rawValue : Phase.fresh.rawValue)
        writer.member("configuration", configuration)
        if let activity = kind.activityKind, let id = kind.activityID(ofWidget: String(key.id)) {
            writer.member("activity", "\(activity)/\(id)")
        }
        if let asOf { writer.member("asOf", asOf.milliseconds) }
        if let tallies {
            var all = values
            for tally in tallies { all[tally.name] = Millionths.json(Int128(tally.amount)) }
            writer.member("values", .object(all))
            // Tallies start with the key.
            if !tallies.isEmpty { writer.member("since", createdAt.milliseconds) }
        }
        if kind.isPushed {
            writer.name("policy")
            switch policy {
            case .atEnd: writer.value("atEnd")
            case .never: writer.value("never")
            case .after(let date):
                writer.beginObject()
                writer.member("after", date.milliseconds)
                writer.endObject()
            }
            writer.name("entries")
            writer.beginArray()
            for entry in entries {
                writer.beginObject()
                writer.member("date", entry.date.milliseconds)
                writer.member("content", entry.content)
                if let relevance = entry.relevance { writer.member("relevance", relevance) }
                writer.endObject()
            }
            writer.endArray()
        }
        if let stale = kind.stale, let asOf { writer.member("staleAt", (asOf + stale).milliseconds) }
        writer.endObject()
    }
}
