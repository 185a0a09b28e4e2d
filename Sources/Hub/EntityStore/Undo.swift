internal import FanOut
internal import Machines
internal import TelltaleModel

/// How to undo one change of a batch that is not written.
enum Undo: Sendable {
    case entity(EntityIndex, EntityState, kind: Int, rev: Int64, lastRecord: Int64, dismissedAt: Timestamp?)
    /// The newest id of a source.
    case eventID(source: Int)
    // Rare cases are boxed: an event with an id records two undo steps.
    indirect case tap(TapLedger.Identity)
    indirect case kinds(KindTable)
    indirect case settings(DecisionSettings, isRecorded: Bool)
    case resumeFloor(Int64)
    indirect case readdressed(EntityIndex, AudienceHistory?)
    /// The former deadline of a control.
    case timed(EntityIndex, ControlDeadline?)
    /// The former contribution of an activity to an aggregate, or one part of it.
    indirect case contributed(EntityIndex, number: Int, Contribution?)
    case part(EntityIndex, number: Int16, value: Int16, Contribution.Part)
    indirect case attached(EntityIndex, Attachments.Attachment?)
}

extension Undo {
    /// Captures what is at an index now.
    @inline(__always)
    init(to entity: borrowing Entity, at index: EntityIndex) {
        self = .entity(
            index, entity.state, kind: entity.kind, rev: entity.rev, lastRecord: entity.lastRecord,
            dismissedAt: entity.dismissedAt)
    }
}
