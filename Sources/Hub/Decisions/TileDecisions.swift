internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

/// A request about a tile, as it is decided on and recorded.
struct TileEntry: Hashable, Sendable {
    var key: Key
    var input: TileInput
    /// The sender's account. It becomes the board's owner with the first tile.
    var account: String?
    /// The scope in which an `eid` is unique.
    var source: String
    var eid: String?
    /// Equal for two requests with one id if they are the same request.
    var digest: UInt64

    /// The form of an encoded entry. A later form gets another number.
    private static let form: UInt8 = 1

    init(key: Key, input: TileInput, account: String?, source: String, eid: String?, digest: UInt64) {
        (self.key, self.input, self.account) = (key, input, account)
        (self.source, self.eid, self.digest) = (source, eid, digest)
    }

    func encode(to writer: inout BinaryWriter) {
        writer.write(Self.form)
        writer.write(key.text)
        writer.write(account) { $0.write($1) }
        writer.write(source)
        writer.write(eid) { $0.write($1) }
        writer.write(digest)
        input.encode(to: &writer)
    }

    init(from reader: inout BinaryReader) throws(BinaryError) {
        guard try reader.readByte() == Self.form else { throw reader.failure("a record of a tile of another form") }
        key = try reader.readKey()
        account = try reader.readOptionalText()
        source = try reader.readString()
        eid = try reader.readOptionalText()
        digest = try reader.readUInt64()
        input = try TileInput(from: &reader)
    }
}

/// The effects of journal entries on tiles and stacks.
enum TileDecisions {
    static func arrange(_ entry: TileEntry, _ store: inout EntityStore) throws(WireError) -> DecisionResult {
        let (name, id) = (String(entry.key.kind), String(entry.key.id))
        let before = store.board(named: name)
        var board = before
        let outcome: Board.Outcome
        do throws(TileRejection) {
            outcome = try board.apply(entry.input, to: id, for: entry.account, at: store.time)
        } catch {
            throw WireError(ErrorCode(rawValue: error.code) ?? .badAction, "\(entry.key): \(error.message)")
        }
        var result = DecisionResult(verdict: outcome.verdict, entity: store.index(of: entry.key))
        // A record without a change is also one of the key's records.
        if outcome.changed.isEmpty, let entity = result.entity { store.mutate(entity, isPlaceKept: true) { _ in } }
        var derived = DerivedChanges()
        var writer = BinaryWriter()
        for changed in outcome.changed {
            guard let key = Key(kind: name, id: changed), var item = board.items[changed] ?? before.items[changed]
            else {
                continue
            }
            if outcome.removed.contains(changed) { item.remove() }
            writer.write(key.text)
            item.encode(to: &writer)
            let entity = store.intern(key)
            put(item, at: entity, &store)
            let change = Change(entity: entity, isWidget: true, commit: store.nextSequence)
            if key == entry.key {
                (result.entity, result.change) = (entity, change)
            } else {
                derived.changes.append(change)
            }
        }
        if !derived.changes.isEmpty { result.derived = derived }
        result.stateHash = StableHash.of(writer.bytes.span)
        if let entity = result.entity {
            result.rev = store[entity].rev
            result.state = store.boardItem(at: entity)?.state ?? ""
        }
        result.description = StateName(result.state)
        if let eid = entry.eid {
            store.insertEventID(
                entry.digest, hash: HashIndex.hash(of: eid), eid: eid, rev: result.rev, source: entry.source)
        }
        return result
    }

    /// Stores a tile or a stack at the index of its key.
    private static func put(_ item: BoardItem, at entity: EntityIndex, _ store: inout EntityStore) {
        if let former = store.boardItem(at: entity), former.accounts != item.accounts {
            store.readdress(entity, from: former.accounts, commit: store.nextSequence)
        }
        let rev = store.nextSequence
        let goneAt = item.isGone ? store[entity].dismissedAt ?? store.wall : nil
        let kind = item.tile.flatMap { store.widgetVersion(named: $0.widget.kind) }
        store.mutate(entity) { place in
            place.state = .tile(item)
            // A tile of a removed kind is drawn by the kind's last version.
            place.kind = kind ?? (item.tile == nil ? -1 : place.kind)
            place.rev = rev
            place.dismissedAt = goneAt
            place.isWidget = true
        }
    }

    /// Updates the tiles whose kind came, went, or changed its version.
    ///
    /// - Parameter names: The kinds that did.
    static func adopt(_ names: Set<String>, _ store: inout EntityStore) -> DerivedChanges? {
        guard store.hasBoards, !names.isEmpty else { return nil }
        var versions: [Substring: Int?] = [:]
        for name in names { versions.updateValue(store.widgetVersion(named: name[...]), forKey: name[...]) }
        let rev = store.nextSequence
        var derived = DerivedChanges()
        for entity in store.tiles(onKinds: versions.keys) {
            guard let tile = store.boardItem(at: entity)?.tile, let version = versions[tile.widget.kind] else {
                continue
            }
            // A million tiles may show a kind, so their state stays. Only the version that draws them changes; for a removed kind
            // it is the last one.
            store.mutate(entity, isPlaceKept: true) { place in
                place.kind = version ?? place.kind
                place.rev = rev
            }
            derived.changes.append(Change(entity: entity, isWidget: true, commit: rev))
        }
        return derived
    }

    /// A widget and its `rev` are forgotten: the tiles that show it take the record's.
    static func touch(on widget: Key, _ store: inout EntityStore) -> DerivedChanges? {
        let tiles = store.tiles(showing: widget)
        guard !tiles.isEmpty else { return nil }
        let rev = store.nextSequence
        var derived = DerivedChanges()
        for entity in tiles {
            store.mutate(entity, isPlaceKept: true) { $0.rev = rev }
            derived.changes.append(Change(entity: entity, isWidget: true, commit: rev))
        }
        return derived
    }
}

extension TileEntry {
    /// Appends its description for `HISTORY`.
    func writeHistory(to tail: inout JSONWriter) {
        tail.member("do", input.name)
        switch input {
        case .add(let addition), .keep(let addition?):
            tail.member("widget", addition.widget.text)
            tail.member("family", addition.family.rawValue)
            if let stack = addition.stack { tail.member("stack", stack) }
            if let position = addition.position { tail.member("pos", position) }
        case .configure(let change):
            if let widget = change.widget { tail.member("widget", widget.text) }
        case .move(let destination, let position):
            switch destination {
            case .same: break
            case .none: tail.member("stack", "none")
            case .stack(let id): tail.member("stack", id)
            }
            if let position { tail.member("pos", position) }
        case .pin(let position): if let position { tail.member("pos", position) }
        case .stack(let stacking):
            if let isSmart = stacking.isSmart { tail.member("smart", isSmart) }
            if let suggests = stacking.suggests { tail.member("suggest", suggests) }
        case .unpin, .show, .keep(nil), .remove: break
        }
        if let eid { tail.member("eid", eid) }
    }
}
