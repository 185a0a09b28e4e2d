internal import FanOut
internal import Kinds
internal import Machines
internal import Surfaces
internal import TelltaleModel

/// Everything beside a widget's state that decides the bytes of its row.
final class WidgetForm: Hashable, Sendable {
    let scene: WidgetScene
    /// The moment that is shown now, and those that follow, as far as the row tells them.
    let moments: [WidgetMoment]
    /// The date of the first moment that the row leaves out; `nil` = it tells all that is known.
    let next: Timestamp?
    /// Of a row that tells all that is known now: from when on more is known; `nil` = never.
    let continuesAt: Timestamp?
    /// The device of the catalogue; -1 = unknown.
    let device: Int16
    let viewer: ControlViewer?
    /// Of a tile: where it stands.
    let tile: TileSight?

    init(
        scene: WidgetScene, moments: [WidgetMoment], next: Timestamp?, continuesAt: Timestamp?, device: Int16,
        viewer: ControlViewer?, tile: TileSight? = nil
    ) {
        self.scene = scene
        self.moments = moments
        self.next = next
        self.continuesAt = continuesAt
        self.device = device
        self.viewer = viewer
        self.tile = tile
    }

    /// When another row is due to a subscriber that was sent the first `count` moments: at the date of the last one, or,
    /// where that is shown already, at the date of the one behind it.
    ///
    /// - Returns: `nil` when nothing more is known, nor becomes known.
    func usedUp(after count: Int, at now: Timestamp) -> Timestamp? {
        let entries = entriesUsedUp(after: count, at: now)
        guard let turns = tile?.turnsContinueAt.map({ max($0, now + Milliseconds(1)) }) else { return entries }
        return min(entries ?? .distantFuture, turns)
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
            || (left.scene == right.scene && left.moments == right.moments && left.next == right.next
                && left.continuesAt == right.continuesAt && left.device == right.device && left.viewer == right.viewer
                && left.tile == right.tile)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(scene)
        hasher.combine(moments.first?.date)
        hasher.combine(moments.count)
        hasher.combine(viewer)
    }
}

/// The forms of widgets, by the numbers that a ``RowForm`` has: the forms of activities, which are nearly all, hold no
/// object, and are copied for nothing.
final class WidgetForms {
    private var forms: [WidgetForm] = []
    private var numbers: [WidgetForm: Int32] = [:]
    /// The futures of widgets that show activities, by their indices, at one moment: each subscriber of a widget wants
    /// the same.
    private var futures: [Viewing: WidgetFuture] = [:]

    private struct Viewing: Hashable {
        var entity: Int32
        var account: String?
    }
    /// The looks of stacks from now on, at the same moment.
    private var stacks: [StackViewing: Turns<Stack.Sight>] = [:]
    private var orders: [StackViewing: Turns<[Key]>] = [:]
    private var futureMoment: (sequence: Int64, time: Timestamp) = (-1, .distantPast)

    var count: Int { forms.count }

    subscript(number: Int32) -> WidgetForm { forms[Int(number)] }

    func number(of form: WidgetForm) -> Int32 {
        if let known = numbers[form] { return known }
        let number = Int32(forms.count)
        forms.append(form)
        numbers[form] = number
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
        futureMoment = (sequence, time)
    }

    /// The look of a stack from `time` on, where it was computed for others that are shown the same.
    func known(_ viewing: StackViewing, _ sequence: Int64, _ time: Timestamp) -> Turns<Stack.Sight>? {
        setMoment(sequence, time)
        return stacks[viewing]
    }

    func keep(_ future: Turns<Stack.Sight>, of viewing: StackViewing) { stacks[viewing] = future }

    /// The same of a watch's Smart Stack.
    func knownOrder(_ viewing: StackViewing, _ sequence: Int64, _ time: Timestamp) -> Turns<[Key]>? {
        setMoment(sequence, time)
        return orders[viewing]
    }

    func keep(_ future: Turns<[Key]>, of viewing: StackViewing) { orders[viewing] = future }

    func removeAll() {
        forms = []
        numbers = [:]
    }
}
