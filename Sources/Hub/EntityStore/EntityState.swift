internal import FanOut
internal import Machines
internal import Prefetch
internal import TelltaleModel

/// The thing behind a key.
enum EntityState: Sendable {
    /// Nothing: a key that somebody follows before it exists, or one whose past has been pruned.
    case none
    case activity(ActivityBox)
    // Behind references too: most keys are activities, and this is copied with every record.
    indirect case toggle(Toggle)
    indirect case button(Button)
    indirect case widget(Widget)
    /// A tile of a board, or a stack.
    indirect case tile(BoardItem)
}

/// An activity behind a reference: it is looked at, and remembered, far more often than it changes, and a copy of it
/// touches the counts of a dozen objects.
final class ActivityBox: Sendable {
    let value: Activity

    init(_ value: consuming Activity) {
        self.value = value
    }

    // Methods of the box and not of what is in it: the compiler copies the whole activity for `box.value.method()`
    // wherever it does not see that the box stays.

    var isLive: Bool { value.lifecycle != .dismissed }
    var lifecycle: Activity.Lifecycle { value.lifecycle }
    var deadline: Timestamp? { value.deadline }
    var statePath: String { value.statePath }
    var stateHash: UInt64 { value.stateHash }
    var accounts: [String] { value.accounts }
    var isForEverybody: Bool { value.isForEverybody }

    func isReplaced(by event: ActivityEvent) -> Bool { value.isReplaced(by: event) }
    /// Asks the processor for it; who does so need not hold on to it.
    @inline(__always)
    func prefetch() {
        // Swift does not tell the size of an object.
        MemoryAddress(of: self).prefetch(byteCount: 16 + MemoryLayout<Activity>.size)
    }

    var aggregateReader: AggregateReader {
        AggregateReader(lifecycle: value.lifecycle, attributes: value.attributes, content: value.content) { self.value }
    }

    func prefetchParts() { value.prefetchParts() }
    func writeFullRow(to writer: inout JSONWriter) { value.writeFullRow(to: &writer) }
}
