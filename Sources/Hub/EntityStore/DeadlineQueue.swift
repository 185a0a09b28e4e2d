internal import FanOut
internal import HeapModule
internal import TelltaleModel

/// A moment at which a key is due. A replaced entry stays in its heap until it comes up.
struct Deadline: Comparable, Sendable {
    var time: Timestamp
    /// Increases with every entry: entries of one moment fire in the order in which they were armed.
    var order: Int64
    var entity: EntityIndex

    static func < (left: Deadline, right: Deadline) -> Bool {
        (left.time, left.order) < (right.time, right.order)
    }
}

/// The deadline of a control, and the leap of the wall clock when it was set.
struct ControlDeadline: Hashable, Sendable {
    var deadline: Timestamp
    var leap: Milliseconds
}

/// The deadlines of every key, on two clocks.
///
/// An entity notes the time of its entry (``Entity/armed``, ``Entity/wallArmed``); an entry with another time is stale.
struct DeadlineQueue: Sendable {
    /// Deadlines of activities, on the kinds' clock.
    private var kindsClock = Heap<Deadline>()
    /// Deadlines of controls and the retention of dismissed activities, on the real clock.
    private var wallClock = Heap<Deadline>()
    private var count: Int64 = 0
    /// How far the wall clock has leapt ahead of the monotonic one since the start.
    private(set) var leap = Milliseconds.zero
    /// The deadline of each control that has one, with the leap when it was set.
    private var controls: [EntityIndex: ControlDeadline] = [:]

    var next: Timestamp? { kindsClock.min?.time }
    var nextOnWallClock: Timestamp? { wallClock.min?.time }

    /// The number of entries, stale ones included.
    var entryCount: Int { kindsClock.count + wallClock.count }

    /// Arms the next deadlines of an entity.
    ///
    /// If a deadline moves to later, its entry stays and is re-examined when it comes up. So a clock that every event restarts
    /// costs one entry, not one per event.
    @inline(__always)
    mutating func arm(
        _ entity: EntityIndex, at time: Timestamp?, onWallClock wallTime: Timestamp?, in entities: inout EntityTable
    ) {
        if let time, time < entities[entity].armed ?? .distantFuture {
            entities[entity].armed = time
            count += 1
            kindsClock.insert(Deadline(time: time, order: count, entity: entity))
        }
        if let wallTime, wallTime < entities[entity].wallArmed ?? .distantFuture {
            entities[entity].wallArmed = wallTime
            count += 1
            wallClock.insert(Deadline(time: wallTime, order: count, entity: entity))
        }
    }

    mutating func setLeap(_ leap: Milliseconds) { self.leap = leap }

    /// Records the current deadline of a control's machine; `nil` if it has none.
    ///
    /// - Returns: How to undo it, if it changed.
    mutating func note(_ deadline: Timestamp?, ofControl control: EntityIndex) -> Undo? {
        let former = controls[control]
        guard former?.deadline != deadline else { return nil }
        controls[control] = deadline.map { ControlDeadline(deadline: $0, leap: leap) }
        return .timed(control, former)
    }

    /// Undoes a change of a control's deadline.
    mutating func restore(_ deadline: ControlDeadline?, ofControl control: EntityIndex) {
        controls[control] = deadline
    }

    /// The moment at which a control's deadline fires on the wall clock. It is postponed by the leaps of this clock since the
    /// deadline was set, because a time-out is a span and not a date.
    func postponed(_ deadline: Timestamp, ofControl control: EntityIndex) -> Timestamp {
        guard let noted = controls[control], noted.deadline == deadline else { return deadline }
        return deadline + max(.zero, leap - noted.leap)
    }

    /// Takes the earliest entry at or before `time`. Its entity's deadline may have moved since.
    mutating func pop(by time: Timestamp, in entities: inout EntityTable) -> Deadline? {
        while let next = kindsClock.min, next.time <= time {
            _ = kindsClock.popMin()
            // The entry was replaced.
            guard entities[next.entity].armed == next.time else { continue }
            entities[next.entity].armed = nil
            return next
        }
        return nil
    }

    /// Takes the earliest entry at or before `time` on the real clock.
    mutating func popOnWallClock(by time: Timestamp, in entities: inout EntityTable) -> Deadline? {
        while let next = wallClock.min, next.time <= time {
            _ = wallClock.popMin()
            guard entities[next.entity].wallArmed == next.time else { continue }
            entities[next.entity].wallArmed = nil
            return next
        }
        return nil
    }
}
