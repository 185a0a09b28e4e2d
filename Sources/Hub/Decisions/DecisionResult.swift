internal import FanOut
internal import Machines
internal import TelltaleModel

/// The result of one journal entry: for its reply, its record and the followers of its key.
struct DecisionResult: Sendable {
    var verdict: Verdict
    var entity: EntityIndex?
    /// The key's rev after it.
    var rev: Int64 = 0
    /// The innermost state after it.
    var state = ""
    /// For the history.
    var description = StateName("")
    var stateHash: UInt64 = 0
    var isOldEnd = false
    /// The names of the tail that a widget does not know; `nil` if the entry is not a widget's event.
    var unknownToWidget: [String]?
    /// A widget began that is loaded by a provider, so the acting connection must be recorded.
    var beginsRefresh = false
    var operation: OperationID?
    var calls: [(key: Key, ProviderCall)] = []
    /// Events that a button sends to activities; they are decided next.
    var raised: [RaisedEvent] = []
    /// The consequence for the controls of an activity; they are decided next.
    var controls = ControlConsequence.none
    /// The change that followers see; `nil` when nothing changed for them.
    var change: Change?
    /// The changes to the widgets that show the activity; `nil` = none.
    var derived: DerivedChanges?
    private let addressOnly = AddressOnly()
}

/// The changes that one record about an activity makes to the widgets that show it.
///
/// They have no records of their own: a replay of the record gives the same widgets.
struct DerivedChanges: Sendable {
    /// Changes to aggregate widgets first, then in the order of the kinds' names.
    var changes: [Change] = []
    /// How many widgets had predicted the deadline that came, and how many had predicted one that an event overtook.
    var keptCount = 0
    var missedCount = 0
}
