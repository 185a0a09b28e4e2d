public import Kinds
public import TelltaleModel
internal import TelltaleStatechart

extension Activity.Lifecycle {
    var code: UInt8 {
        switch self {
        case .pending: 0
        case .active: 1
        case .stale: 2
        case .ended: 3
        case .dismissed: 4
        }
    }
}

extension Activity {
    /// Encodes the activity for a snapshot, without its key and kind, which the snapshot stores separately.
    public func encode(to writer: inout BinaryWriter) {
        // The version of this encoding. Earlier releases read those that they could have written.
        writer.write(UInt8(dismissers.isEmpty ? 2 : 3))
        write(to: &writer)
        machine.encode(to: &writer)
        if !dismissers.isEmpty { writer.write(Array(dismissers.elements)) { $0.write($1) } }
    }

    /// A hash of the whole state, the same on every machine. The journal stores it to verify transitions on replay.
    public var stateHash: UInt64 {
        var hash = origin.activeHash
        if lifecycle != .active { hash = Self.hash(of: lifecycle, accounts: accounts, attributes: attributes) }
        writeChanging(to: &hash)
        machine.combine(into: &hash)
        if !dismissers.isEmpty {
            hash.combine(UInt64(dismissers.count))
            hash.combine(dismissers.combined)
        }
        return hash.finalize()
    }

    /// The beginning of ``stateHash``, which stays the same within one lifecycle state.
    static func hash(of lifecycle: Lifecycle, accounts: [String], attributes: JSON) -> StableHash {
        var hash = StableHash()
        write(lifecycle, accounts: accounts, attributes: attributes, to: &hash)
        return hash
    }

    private static func write(
        _ lifecycle: Lifecycle, accounts: [String], attributes: JSON, to writer: inout some ValueWriter & ~Copyable
    ) {
        writer.write(lifecycle.code)
        writer.write(accounts) { $0.write($1) }
        writer.write(attributes)
    }

    /// Writes everything but the machine.
    private func write(to writer: inout some ValueWriter & ~Copyable) {
        Self.write(lifecycle, accounts: accounts, attributes: attributes, to: &writer)
        writeChanging(to: &writer)
    }

    private func writeChanging(to writer: inout some ValueWriter & ~Copyable) {
        writer.write(content)
        writer.write(score) { $0.write($1) }
        writer.write(progress) { $0.write($1) }
        writer.write(startedAt)
        writer.write(updatedAt)
        writer.write(staleAt) { $0.write($1) }
        writer.write(endedAt) { $0.write($1) }
        writer.write(removeAt) { $0.write($1) }
        writer.write(lastAlertAt) { $0.write($1) }
        writer.write(scheduledAt) { $0.write($1) }
        writer.write(staleDate) { $0.write($1) }
        writer.write(isAlerting)
        writer.write(isWithheld)
        writer.write(scheduled) { writer, start in
            writer.write(start.alert.title)
            writer.write(start.alert.body)
            writer.write(start.alert.sound) { $0.write($1) }
            writer.write(start.milestones) { writer, milestone in
                writer.write(milestone.state)
                writer.write(milestone.time)
            }
        }
        writer.write(freshAt)
        writer.write(newestVersion) { $0.write($1) }
        writer.write(newestAt)
        writer.write(marks.elements) { writer, mark in
            writer.write(mark.account)
            writer.write(mark.isDismissed)
            writer.write(mark.seenRev) { $0.write($1) }
        }
    }

    /// Decodes an activity that ``encode(to:)`` wrote, for the same key and kind.
    public init(from reader: inout BinaryReader, key: Key, kind: ActivityKind) throws(BinaryError) {
        let version = try reader.readByte()
        guard version == 2 || version == 3 else { throw reader.failure("an activity in a form that is not known here") }
        let code = try reader.readByte()
        guard let lifecycle = Lifecycle.allCases.first(where: { $0.code == code }) else {
            throw reader.failure("no life-cycle state \(code)")
        }
        self.lifecycle = lifecycle
        origin = Origin(
            key: key, kind: kind,
            accounts: try reader.readArray { reader throws(BinaryError) in try reader.readString() },
            attributes: try reader.readJSON())
        content = try reader.readJSON()
        score = try reader.readOptional { reader throws(BinaryError) in try reader.readDouble() }
        progress = try reader.readOptional { reader throws(BinaryError) in try reader.readDouble() }
        startedAt = try reader.readTimestamp()
        updatedAt = try reader.readTimestamp()
        staleAt = try Self.readTime(&reader)
        endedAt = try Self.readTime(&reader)
        removeAt = try Self.readTime(&reader)
        lastAlertAt = try Self.readTime(&reader)
        scheduledAt = try Self.readTime(&reader)
        staleDate = try Self.readTime(&reader)
        isAlerting = try reader.readBool()
        isWithheld = try reader.readBool()
        scheduled = try reader.readOptional { reader throws(BinaryError) in
            ScheduledStart(
                alert: ActivityAlert(
                    title: try reader.readString(), body: try reader.readString(),
                    sound: try reader.readOptional { reader throws(BinaryError) in try reader.readString() }),
                milestones: try reader.readArray { reader throws(BinaryError) in
                    ActivityOutcome.Milestone(state: try reader.readString(), time: try reader.readTimestamp())
                })
        }
        freshAt = try reader.readTimestamp()
        newestVersion = try reader.readOptional { reader throws(BinaryError) in try reader.readInt64() }
        newestAt = try reader.readTimestamp()
        marks = AccountMarks(
            try reader.readArray { reader throws(BinaryError) in
                AccountMarks.Mark(
                    account: try reader.readString(), isDismissed: try reader.readBool(),
                    seenRev: try reader.readOptional { reader throws(BinaryError) in try reader.readInt64() })
            })
        machine = try MachineInstance(from: &reader, statechart: kind.statechart)
        guard version == 3 else { return }
        for digest in try reader.readArray({ reader throws(BinaryError) in try reader.readUInt64() }) {
            dismissers.insert(digest: digest)
        }
    }

    private static func readTime(_ reader: inout BinaryReader) throws(BinaryError) -> Timestamp? {
        try reader.readOptional { reader throws(BinaryError) in try reader.readTimestamp() }
    }
}

extension Activity: Equatable {
    /// Compares key and state; kinds are compared by identity.
    public static func == (left: Activity, right: Activity) -> Bool {
        guard left.key == right.key, left.kind === right.kind else { return false }
        var leftWriter = BinaryWriter()
        var rightWriter = BinaryWriter()
        left.encode(to: &leftWriter)
        right.encode(to: &rightWriter)
        return leftWriter.bytes == rightWriter.bytes
    }
}
