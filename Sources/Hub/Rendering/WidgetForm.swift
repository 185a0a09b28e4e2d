internal import FanOut
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel

/// Everything besides a widget's state that determines the bytes of its row.
final class WidgetForm: Hashable, Sendable {
    var scene: WidgetScene { sceneBox.scene }
    let sceneBox: SceneBox
    /// The moment that is shown now and the following ones, as far as the row contains them.
    let moments: [WidgetMoment]
    /// The date of the first moment that the row leaves out; `nil` = it leaves out none.
    let next: Timestamp?
    /// For a row that leaves out nothing: when more is known; `nil` = never.
    let continuesAt: Timestamp?
    /// The device in the catalogue; -1 = unknown.
    let device: Int16
    let viewer: ControlViewer?
    /// For a tile: its position.
    let tile: TileViewState?

    /// A scene shared by many forms.
    final class SceneBox: Sendable {
        let scene: WidgetScene

        init(_ scene: WidgetScene) { self.scene = scene }
    }

    init(
        scene: SceneBox, moments: [WidgetMoment], next: Timestamp?, continuesAt: Timestamp?, device: Int16,
        viewer: ControlViewer?, tile: TileViewState? = nil
    ) {
        self.sceneBox = scene
        self.moments = moments
        self.next = next
        self.continuesAt = continuesAt
        self.device = device
        self.viewer = viewer
        self.tile = tile
    }

    /// When the next row is due to a subscriber that received the first `count` moments: at the date of the last one, or, if that
    /// is already shown, at the date of the one after it.
    ///
    /// - Returns: `nil` if nothing more is known or will be known.
    func usedUp(after count: Int, at now: Timestamp) -> Timestamp? {
        let entries = entriesUsedUp(after: count, at: now)
        // A suggestion ends with its last time.
        let end = tile?.suggestedTimes?.last.flatMap { $0.upperBound < .distantFuture ? $0.upperBound : nil }
        let dates = [tile?.turnsContinueAt, tile?.leavesAt, end]
        return (dates.compactMap { $0.map { max($0, now + Milliseconds(1)) } } + [entries])
            .compactMap(\.self).min()
    }

    private func entriesUsedUp(after count: Int, at now: Timestamp) -> Timestamp? {
        guard let following = count < moments.count ? moments[count].date : next else {
            return continuesAt.map { max($0, now + Milliseconds(1)) }
        }
        guard count > 0, count <= moments.count else { return following }
        let last = moments[count - 1].date
        return last > now ? last : max(following, now + Milliseconds(1))
    }

    static func == (left: WidgetForm, right: WidgetForm) -> Bool {
        left === right
            || ((left.sceneBox === right.sceneBox || left.scene == right.scene) && left.moments == right.moments
                && left.next == right.next
                && left.continuesAt == right.continuesAt && left.device == right.device && left.viewer == right.viewer
                && left.tile == right.tile)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(scene)
        hasher.combine(moments.first?.date)
        hasher.combine(moments.count)
        hasher.combine(viewer)
        hasher.combine(tile?.order)
        hasher.combine(tile?.isTop)
    }
}

/// Everything besides the state that determines the form of a tile, for a session without taps.
struct TileViewing: Hashable {
    let entity: Int32
    let surface: Surface
    let terms: WidgetTerms
    let account: String?
    let traits: Traits
    let device: Int16
}

/// The forms of widgets, by the numbers that a ``RowForm`` has: the forms of activities, which are nearly all, hold no
/// object, and are copied for nothing.
final class WidgetForms {
    private var forms: [WidgetForm] = []
    private(set) var numbers: [Owned: Int32] = [:]
    /// The futures of widgets that show activities, by index, at one moment. They are the same for each subscriber of a widget.
    private var futures: [Viewing: WidgetFuture] = [:]

    /// The form of one key. Contents are not hashed, so the forms of thousands of keys with moments of the same date would be
    /// compared with each other; one key has few forms.
    struct Owned: Hashable {
        var entity: Int32
        var form: WidgetForm
    }

    private struct Viewing: Hashable {
        var entity: Int32
        var account: String?
    }
    /// The view states of stacks from now on, at the same moment.
    private var stacks: [StackViewing: Turns<Stack.ViewState>] = [:]
    private var orders: [StackViewing: Turns<[Key]>] = [:]
    /// The forms of tiles at the same moment: thousands of devices that show one board are in few situations.
    private var tiles: [TileViewing: RowForm?] = [:]
    /// For thousands of situations; beyond that, forms are made again.
    private static let tileLimit = 16_384
    /// The last board that was read, and the tiles on the last one that nobody placed, at the same moment.
    private var board: (number: Int32, board: Board)?
    private var unplaced: (number: Int32, tiles: [Key: BoardTile])?
    private var futureMoment: (sequence: Int64, time: Timestamp) = (-1, .distantPast)

    /// Devices are in few situations; beyond that, boxes are made again.
    private var scenes: [WidgetScene: WidgetForm.SceneBox] = [:]
    private static let sceneLimit = 1_024

    var count: Int { forms.count }

    /// The shared object of a scene.
    func box(_ scene: WidgetScene) -> WidgetForm.SceneBox {
        if let known = scenes[scene] { return known }
        if scenes.count >= Self.sceneLimit { scenes = [:] }
        let box = WidgetForm.SceneBox(scene)
        scenes[scene] = box
        return box
    }

    subscript(number: Int32) -> WidgetForm { forms[Int(number)] }

    func number(of form: WidgetForm, at entity: EntityIndex) -> Int32 {
        let owned = Owned(entity: entity.rawValue, form: form)
        if let known = numbers[owned] { return known }
        let number = Int32(forms.count)
        forms.append(form)
        numbers[owned] = number
        return number
    }

    /// The moments of a widget at `time`.
    func future(
        of widget: Widget, at entity: EntityIndex, _ kind: WidgetKind, _ time: Timestamp, for account: String?,
        _ store: borrowing EntityStore
    ) -> WidgetFuture {
        guard kind.activityKind != nil else { return widget.future(at: time, kind: kind) }
        setMoment(store.sequence, time)
        let isOwn = kind.aggregate.map { !$0.isForAll } ?? false
        let viewing = Viewing(entity: entity.rawValue, account: isOwn ? account : nil)
        if let known = futures[viewing] { return known }
        let future = store.future(of: widget, at: entity, kind, time, for: viewing.account)
        futures[viewing] = future
        return future
    }

    private func setMoment(_ sequence: Int64, _ time: Timestamp) {
        guard futureMoment != (sequence, time) else { return }
        futures.removeAll(keepingCapacity: true)
        stacks.removeAll(keepingCapacity: true)
        orders.removeAll(keepingCapacity: true)
        forgetTiles()
        futureMoment = (sequence, time)
    }

    /// The view states of a stack from `time` on, if they were computed for others who see the same.
    func known(_ viewing: StackViewing, _ sequence: Int64, _ time: Timestamp) -> Turns<Stack.ViewState>? {
        setMoment(sequence, time)
        return stacks[viewing]
    }

    func keep(_ future: Turns<Stack.ViewState>, of viewing: StackViewing) { stacks[viewing] = future }

    /// Like ``known(_:_:_:)`` for a watch's Smart Stack.
    func knownOrder(_ viewing: StackViewing, _ sequence: Int64, _ time: Timestamp) -> Turns<[Key]>? {
        setMoment(sequence, time)
        return orders[viewing]
    }

    func keep(_ future: Turns<[Key]>, of viewing: StackViewing) { orders[viewing] = future }

    /// The items of a board, assembled once for all its subscribers.
    func board(_ number: Int32, _ time: Timestamp, _ store: borrowing EntityStore) -> Board {
        setMoment(store.sequence, time)
        if let board, board.number == number { return board.board }
        let made = store.board(numbered: number)
        board = (number, made)
        return made
    }

    /// The tile that nobody placed at a key, computed once for all subscribers of its board.
    func unplacedTile(_ key: Key, onBoard number: Int32, _ time: Timestamp, _ store: borrowing EntityStore)
        -> BoardTile?
    {
        setMoment(store.sequence, time)
        if let unplaced, unplaced.number == number { return unplaced.tiles[key] }
        let tiles = Dictionary(store.unplacedTiles(onBoard: number).map { ($0.key, $0) }) { first, _ in first }
        unplaced = (number, tiles)
        return tiles[key]
    }

    /// The form of a tile, if it was made for others who see the same; `.some(nil)` if it is not shown to them.
    func known(_ viewing: TileViewing, _ sequence: Int64, _ time: Timestamp) -> RowForm?? {
        setMoment(sequence, time)
        return tiles[viewing]
    }

    func keep(_ form: RowForm?, of viewing: TileViewing) {
        if tiles.count >= Self.tileLimit { tiles.removeAll(keepingCapacity: true) }
        tiles[viewing] = .some(form)
    }

    private func forgetTiles() {
        (board, unplaced) = (nil, nil)
        if !tiles.isEmpty { tiles = [:] }
    }

    func removeAll() {
        forms = []
        numbers = [:]
        forgetTiles()
    }
}
