internal import Kinds
public import TelltaleModel

extension BoardItem {
    /// The form of an encoded item. A later form gets another number.
    private static let form: UInt8 = 1

    /// Appends all of its state.
    public func encode(to writer: inout BinaryWriter) {
        writer.write(Self.form)
        writer.write(account) { $0.write($1) }
        writer.write(isGone)
        switch content {
        case .tile(let tile):
            writer.write(UInt8(1))
            writer.write(tile.widget.text)
            writer.write(tile.configuration)
            writer.write(tile.family.rawValue)
            writer.write(tile.stack) { $0.write($1) }
            writer.write(tile.position)
            writer.write(tile.pinned) { $0.write($1) }
            writer.write(tile.chosenAt) { $0.write($1) }
            tile.style.encode(to: &writer)
            writer.write(tile.createdAt)
        case .stack(let stack):
            writer.write(UInt8(2))
            writer.write(stack.family.rawValue)
            writer.write(stack.isSmart)
            writer.write(stack.suggests)
            writer.write(stack.placement?.rawValue) { $0.write($1) }
            writer.write(stack.position)
        }
    }

    /// Reads what ``encode(to:)`` wrote.
    public init(from reader: inout BinaryReader) throws(BinaryError) {
        guard try reader.readByte() == Self.form else { throw reader.failure("a tile of another form") }
        account = try reader.readText()
        isGone = try reader.readBool()
        switch try reader.readByte() {
        case 1:
            var tile = Tile(
                widget: try reader.readWidgetKey(), configuration: try reader.readJSON(),
                family: try reader.readWord(WidgetFamily.self), style: TileStyle(),
                createdAt: Timestamp(milliseconds: 0))
            tile.stack = try reader.readText()
            tile.position = try reader.readInt()
            tile.pinned = try reader.readOptional { (reader) throws(BinaryError) in try reader.readInt() }
            tile.chosenAt = try reader.readOptional { (reader) throws(BinaryError) in try reader.readTimestamp() }
            tile.style = try TileStyle(from: &reader)
            tile.createdAt = try reader.readTimestamp()
            content = .tile(tile)
        case 2:
            var stack = TileStack(family: try reader.readWord(WidgetFamily.self))
            stack.isSmart = try reader.readBool()
            stack.suggests = try reader.readBool()
            stack.placement = try reader.readOptional { (reader) throws(BinaryError) in
                try reader.readWord(WidgetPlace.self)
            }
            stack.position = try reader.readInt()
            content = .stack(stack)
        default: throw reader.failure("neither a tile nor a stack")
        }
    }
}

extension TileStyle {
    func encode(to writer: inout BinaryWriter) {
        writer.write(placement?.rawValue) { $0.write($1) }
        writer.write(mounting?.rawValue) { $0.write($1) }
        writer.write(scale) { $0.write($1) }
        writer.write(theme) { $0.write($1) }
    }

    init(from reader: inout BinaryReader) throws(BinaryError) {
        placement = try reader.readOptional { (reader) throws(BinaryError) in try reader.readWord(WidgetPlace.self) }
        mounting = try reader.readOptional { (reader) throws(BinaryError) in try reader.readWord(WidgetMounting.self) }
        scale = try reader.readOptional { (reader) throws(BinaryError) in try reader.readInt() }
        theme = try reader.readText()
    }
}

extension TileInput {
    /// The form of an encoded input. A later form gets another number.
    private static let form: UInt8 = 1

    /// Appends the complete input, as a journal record stores it.
    public func encode(to writer: inout BinaryWriter) {
        writer.write(Self.form)
        switch self {
        case .add(let addition):
            writer.write(UInt8(1))
            addition.encode(to: &writer)
        case .configure(let change):
            writer.write(UInt8(2))
            writer.write(change.widget?.text) { $0.write($1) }
            writer.write(change.configuration) { $0.write($1) }
            writer.write(change.style) { $1.encode(to: &$0) }
        case .move(let destination, let position):
            writer.write(UInt8(3))
            switch destination {
            case .same: writer.write(UInt8(0))
            case .none: writer.write(UInt8(1))
            case .stack(let id):
                writer.write(UInt8(2))
                writer.write(id)
            }
            writer.write(position) { $0.write($1) }
        case .pin(let position):
            writer.write(UInt8(4))
            writer.write(position) { $0.write($1) }
        case .unpin: writer.write(UInt8(5))
        case .show: writer.write(UInt8(6))
        case .keep(nil): writer.write(UInt8(7))
        case .keep(let addition?):
            writer.write(UInt8(10))
            addition.encode(to: &writer)
        case .stack(let stacking):
            writer.write(UInt8(8))
            writer.write(stacking.family?.rawValue) { $0.write($1) }
            writer.write(stacking.isSmart) { $0.write($1) }
            writer.write(stacking.suggests) { $0.write($1) }
            writer.write(stacking.placement?.rawValue) { $0.write($1) }
            writer.write(stacking.position) { $0.write($1) }
        case .remove: writer.write(UInt8(9))
        }
    }

    /// Reads what ``encode(to:)`` wrote.
    public init(from reader: inout BinaryReader) throws(BinaryError) {
        guard try reader.readByte() == Self.form else { throw reader.failure("a request of a tile of another form") }
        switch try reader.readByte() {
        case 1: self = .add(try Addition(from: &reader))
        case 2:
            var change = Change()
            change.widget = try reader.readOptional { (reader) throws(BinaryError) in try reader.readWidgetKey() }
            change.configuration = try reader.readOptional { (reader) throws(BinaryError) in try reader.readJSON() }
            change.style = try reader.readOptional { (reader) throws(BinaryError) in try TileStyle(from: &reader) }
            self = .configure(change)
        case 3:
            let destination: Destination
            switch try reader.readByte() {
            case 0: destination = .same
            case 1: destination = .none
            case 2: destination = .stack(try reader.readString())
            default: throw reader.failure("no destination of a tile")
            }
            self = .move(to: destination, position: try reader.readPosition())
        case 4: self = .pin(position: try reader.readPosition())
        case 5: self = .unpin
        case 6: self = .show
        case 7: self = .keep(nil)
        case 8:
            var stacking = Stacking()
            stacking.family = try reader.readOptional { (reader) throws(BinaryError) in
                try reader.readWord(WidgetFamily.self)
            }
            stacking.isSmart = try reader.readOptional { (reader) throws(BinaryError) in try reader.readBool() }
            stacking.suggests = try reader.readOptional { (reader) throws(BinaryError) in try reader.readBool() }
            stacking.placement = try reader.readOptional { (reader) throws(BinaryError) in
                try reader.readWord(WidgetPlace.self)
            }
            stacking.position = try reader.readPosition()
            self = .stack(stacking)
        case 9: self = .remove
        case 10: self = .keep(try Addition(from: &reader))
        default: throw reader.failure("unknown request of a tile")
        }
    }
}

extension TileInput.Addition {
    fileprivate func encode(to writer: inout BinaryWriter) {
        writer.write(widget.text)
        writer.write(configuration)
        writer.write(family.rawValue)
        writer.write(stack) { $0.write($1) }
        writer.write(position) { $0.write($1) }
        style.encode(to: &writer)
    }

    fileprivate init(from reader: inout BinaryReader) throws(BinaryError) {
        self.init(
            widget: try reader.readWidgetKey(), configuration: try reader.readJSON(),
            family: try reader.readWord(WidgetFamily.self))
        stack = try reader.readText()
        position = try reader.readPosition()
        style = try TileStyle(from: &reader)
    }
}

extension BinaryReader {
    fileprivate mutating func readText() throws(BinaryError) -> String? {
        try readOptional { (reader) throws(BinaryError) in try reader.readString() }
    }

    fileprivate mutating func readPosition() throws(BinaryError) -> Int? {
        try readOptional { (reader) throws(BinaryError) in try reader.readInt() }
    }

    fileprivate mutating func readWidgetKey() throws(BinaryError) -> Key {
        guard let key = Key(try readString()) else { throw failure("not a key") }
        return key
    }

    fileprivate mutating func readWord<Word: RawRepresentable>(
        _ type: Word.Type
    ) throws(BinaryError) -> Word where Word.RawValue == String {
        let text = try readString()
        guard let word = Word(rawValue: text) else { throw failure("\(text) is no \(Word.self)") }
        return word
    }
}
