internal import FanOut
internal import Machines
internal import Prefetch
internal import TelltaleModel

/// What a key refers to.
enum EntityState: Sendable {
    /// Nothing: the key is followed before it exists, or its past was pruned.
    case none
    case activity(ActivityBox)
    // Boxed too: most keys are activities, and this enum is copied with every record.
    indirect case toggle(Toggle)
    indirect case button(Button)
    indirect case widget(Widget)
    /// A tile of a board, or a stack.
    indirect case tile(BoardItem)
}

extension EntityState {
    /// The operation in progress of a control or a widget.
    var operation: OperationID? {
        switch self {
        case .toggle(let toggle): toggle.flight?.operation.id
        case .button(let button): button.flight?.operation
        case .widget(let widget): widget.refresh?.flight?.operation
        case .none, .activity, .tile: nil
        }
    }

    /// The connection that acts for a control or a widget, as recorded.
    var provider: ConnectionNumber? {
        switch self {
        case .toggle(let toggle): toggle.provider
        case .button(let button): button.provider
        case .widget(let widget): widget.refresh?.provider
        case .none, .activity, .tile: nil
        }
    }
}

/// An immutable, shared activity. It is read and remembered far more often than it changes, and copying it would update a dozen
/// reference counts.
final class ActivityBox: Sendable {
    let value: Activity

    init(_ value: consuming Activity) {
        self.value = value
    }

    // Methods of the box rather than of its content: for `box.value.method()` the compiler copies the whole activity unless it
    // can prove that the box stays.

    var isLive: Bool { value.lifecycle != .dismissed }
    var lifecycle: Activity.Lifecycle { value.lifecycle }
    var deadline: Timestamp? { value.deadline }
    var statePath: String { value.statePath }
    var stateHash: UInt64 { value.stateHash }
    var accounts: [String] { value.accounts }
    var isForEverybody: Bool { value.isForEverybody }

    func isReplaced(by event: ActivityEvent) -> Bool { value.isReplaced(by: event) }
    /// Prefetches the object; the caller need not retain it.
    @inline(__always)
    func prefetch() {
        // Swift does not report the size of an object.
        MemoryAddress(of: self).prefetch(byteCount: 16 + MemoryLayout<Activity>.size)
    }

    var aggregateReader: AggregateReader {
        AggregateReader(lifecycle: value.lifecycle, attributes: value.attributes, content: value.content) { self.value }
    }

    func prefetchParts() { value.prefetchParts() }
    func writeFullRow(to writer: inout JSONWriter) { value.writeFullRow(to: &writer) }
}
