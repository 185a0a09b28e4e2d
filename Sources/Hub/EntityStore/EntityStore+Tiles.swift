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

// The effects of journal entries on tiles and stacks.
extension EntityStore {
    func boardItem(at entity: EntityIndex) -> BoardItem? {
        if case .tile(let item) = entities[entity].state { item } else { nil }
    }

    /// Everything on a board.
    func board(named name: some StringProtocol) -> Board {
        entities.kindNumbers.known(String(name)).map { board(numbered: $0) } ?? Board()
    }

    func board(numbered number: Int32) -> Board {
        var items: [String: BoardItem] = [:]
        for entity in boards.items(onBoard: number) {
            if let key = entities[entity].key, let item = boardItem(at: entity) { items[String(key.id)] = item }
        }
        return Board(items)
    }

    mutating func apply(_ entry: TileEntry, sequence: Int64) throws(WireError) -> DecisionResult {
        let (name, id) = (String(entry.key.kind), String(entry.key.id))
        let before = board(named: name)
        var board = before
        let outcome: Board.Outcome
        do throws(TileRejection) {
            outcome = try board.apply(entry.input, to: id, for: entry.account, at: time)
        } catch {
            throw WireError(ErrorCode(rawValue: error.code) ?? .badAction, "\(entry.key): \(error.message)")
        }
        var result = DecisionResult(verdict: outcome.verdict, entity: entities.index(of: entry.key))
        // A record without a change is also one of the key's records.
        if outcome.changed.isEmpty, let entity = result.entity { mutate(entity, isPlaceKept: true) { _ in } }
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
            let entity = intern(key)
            put(item, at: entity, rev: sequence, sequence: sequence)
            let change = Change(entity: entity, isWidget: true, commit: sequence)
            if key == entry.key {
                (result.entity, result.change) = (entity, change)
            } else {
                derived.changes.append(change)
            }
        }
        if !derived.changes.isEmpty { result.derived = derived }
        result.stateHash = StableHash.of(writer.bytes.span)
        if let entity = result.entity {
            result.rev = entities[entity].rev
            result.state = boardItem(at: entity)?.state ?? ""
        }
        result.description = StateName(result.state)
        if let eid = entry.eid {
            insertEventID(
                entry.digest, hash: HashIndex.hash(of: eid), eid: eid, rev: result.rev, source: entry.source)
        }
        return result
    }

    /// Stores a tile or a stack at the index of its key.
    private mutating func put(_ item: BoardItem, at entity: EntityIndex, rev: Int64, sequence: Int64) {
        if let former = boardItem(at: entity), former.accounts != item.accounts {
            readdress(entity, from: former.accounts, commit: sequence)
        }
        let goneAt = item.isGone ? entities[entity].dismissedAt ?? wall : nil
        let kind = item.tile.flatMap { widgetVersion(named: $0.widget.kind) }
        mutate(entity) { place in
            place.state = .tile(item)
            // A tile of a removed kind is drawn by the kind's last version.
            place.kind = kind ?? (item.tile == nil ? -1 : place.kind)
            place.rev = rev
            place.dismissedAt = goneAt
            place.isWidget = true
        }
    }

    /// The version in force of a kind of widgets; `nil` = there is none with this name.
    func widgetVersion(named name: Substring) -> Int? {
        guard let index = kinds.current[String(name)], case .widget = kinds.versions[index].body else { return nil }
        return index
    }

    /// Updates the tiles whose kind came, went, or changed its version.
    ///
    /// - Parameter former: The versions in force before.
    mutating func adoptTiles(since former: [String: Int], sequence: Int64) -> DerivedChanges? {
        let names = Set(former.keys).union(kinds.current.keys).filter { former[$0] != kinds.current[$0] }
        guard !boards.isEmpty, !names.isEmpty else { return nil }
        var versions: [Substring: Int?] = [:]
        for name in names { versions.updateValue(widgetVersion(named: name[...]), forKey: name[...]) }
        var derived = DerivedChanges()
        for entity in boards.tiles(onKinds: versions.keys) {
            guard let tile = boardItem(at: entity)?.tile, let version = versions[tile.widget.kind] else { continue }
            // A million tiles may show a kind, so their state stays. Only the version that draws them changes; for a removed kind
            // it is the last one.
            mutate(entity, isPlaceKept: true) { place in
                place.kind = version ?? place.kind
                place.rev = sequence
            }
            derived.changes.append(Change(entity: entity, isWidget: true, commit: sequence))
        }
        return derived
    }

    /// A widget and its `rev` are forgotten: the tiles that show it take the record's.
    mutating func touchTiles(on widget: Key, sequence: Int64) -> DerivedChanges? {
        guard boards.hasTiles(on: widget) else { return nil }
        var derived = DerivedChanges()
        for entity in boards.tiles(on: widget) {
            mutate(entity, isPlaceKept: true) { $0.rev = sequence }
            derived.changes.append(Change(entity: entity, isWidget: true, commit: sequence))
        }
        return derived
    }

    // MARK: The widgets of tiles

    /// The widget that a tile shows, if it exists.
    func widgetEntity(of tile: Tile) -> EntityIndex? {
        guard let entity = entities.index(of: tile.widget), widget(at: entity) != nil, !isGone(entity) else {
            return nil
        }
        return entity
    }

    /// Whether the key of a widget must exist before it has content: a provider loads it, it counts activities, its hours pass,
    /// or only the tile knows its configuration.
    func needsWidget(_ key: Key) -> Bool {
        guard let index = widgetVersion(named: key.kind), case .widget(let kind) = kinds.versions[index].body else {
            return false
        }
        if let entity = entities.index(of: key), widget(at: entity) != nil, !isGone(entity) { return false }
        switch kind.source {
        case .asked, .over, .schedule: return true
        case .pushed, .one: return kind.configuration(ofID: String(key.id)) == nil
        case .each: return false
        }
    }

    /// The configuration of a key as given by a tile that shows it, if the kind still accepts it.
    func configuration(byTileOn key: Key, in kind: WidgetKind) -> JSON? {
        guard !boards.isEmpty, let tile = boards.someTile(on: key).flatMap({ boardItem(at: $0)?.tile }),
            let object = tile.configuration.object,
            let whole = try? WidgetParameter.configuration(of: object, parameters: kind.parameters),
            WidgetParameter.id(of: whole, parameters: kind.parameters) == String(key.id)
        else { return nil }
        return whole
    }

    /// Widgets that tiles show and that new kinds make possible again.
    var missingTileWidgets: [Key] {
        boards.isEmpty
            ? []
            : boards.widgets.filter { key in
                guard needsWidget(key), let kind = widgetVersion(named: key.kind).map({ kinds.versions[$0] }),
                    case .widget(let definition) = kind.body
                else { return false }
                return hasPlace(key, in: definition) && !definition.instances.contains(String(key.id))
            }
    }

    // MARK: Revs

    /// The `rev` of the row of a key; for a tile, the newer of its own and its widget's.
    func rowRev(of entity: EntityIndex) -> Int64 {
        let rev = entities[entity].rev
        guard !boards.isEmpty, entities.isWidget(entity), let shown = shownWidget(at: entity) else { return rev }
        return max(rev, entities[shown].rev)
    }

    /// The widget in the row of a tile; `nil` for every other key.
    func shownWidget(at entity: EntityIndex) -> EntityIndex? {
        guard case .tile(let item) = entities[entity].state, !item.isGone, let tile = item.tile else { return nil }
        return entities.index(of: tile.widget)
    }

    /// Whether a commit after `sequence` changed the widget of a tile, or of another one in its smart stack.
    func hasWidgetChanged(ofTile entity: EntityIndex, after sequence: Int64) -> Bool {
        guard !boards.isEmpty, entities.isWidget(entity) else { return false }
        if hasSuggestionChanged(besideTile: entity, after: sequence) { return true }
        return ([entity] + neighbours(ofTile: entity)).contains { tile in
            guard let shown = shownWidget(at: tile) else { return false }
            return hasOwnChange(shown, after: sequence)
        }
    }

    /// The other tiles of a tile's smart stack. The row of each says which one is on top.
    ///
    /// - Complexity: O(the tiles of its board).
    func neighbours(ofTile entity: EntityIndex) -> [EntityIndex] {
        neighbours(ofTiles: [entity], onBoard: entities[entity].kindName).filter { $0 != entity }
    }

    /// All tiles of the smart stacks that contain these tiles, including suggested ones.
    ///
    /// - Complexity: O(the tiles of the board).
    func neighbours(ofTiles tiles: [EntityIndex], onBoard board: Int32) -> [EntityIndex] {
        guard let name = tiles.first.flatMap({ entities[$0].key?.kind }) else { return [] }
        let stacks = Set(tiles.compactMap { boardItem(at: $0)?.tile?.stack }).filter { id in
            let holder = Key(kind: name, id: id).flatMap { entities.index(of: $0) }
            return holder.flatMap { boardItem(at: $0)?.stack }?.isSmart == true
        }
        guard !stacks.isEmpty else { return [] }
        return (boards.items(onBoard: board) + suggestions.keys(onBoard: board)).filter { tile in
            boardItem(at: tile)?.tile?.stack.map { stacks.contains($0) } ?? false
        }
    }

    /// The tiles that a selector follows and whose widgets a commit after `sequence` changed.
    ///
    /// - Complexity: O(tiles of the board), else O(what changed, and the tiles that show it).
    func tiles(changedAfter sequence: Int64, followedBy selector: PatternIndex.Selector) -> [EntityIndex] {
        guard !boards.isEmpty else { return [] }
        let candidates: [EntityIndex]
        switch selector {
        case .all: return []
        case .key(let entity): candidates = [entity]
        case .kind(let number): candidates = boards.items(onBoard: number)
        case .allWithWidgets:
            // Other tiles of their stacks may have turned.
            let tiles = changed(after: sequence).flatMap { entity in
                isWidget(entity) ? entities[entity].key.map { boards.tiles(on: $0) } ?? [] : []
            }
            candidates = Set(tiles.flatMap { [$0] + neighbours(ofTile: $0) }).sorted()
        }
        return candidates.filter { hasWidgetChanged(ofTile: $0, after: sequence) }
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
