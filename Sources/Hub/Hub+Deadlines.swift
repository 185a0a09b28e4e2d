internal import FanOut
internal import HeapModule
internal import Machines
public import TelltaleModel

extension Hub {
    /// The next moment on the kinds' clock at which ``decide(at:limit:batchLimit:)`` has something to do by itself.
    public var nextDeadline: Timestamp? { deadlines.min?.time }
    /// The same on the real clock.
    public var nextWallDeadline: Timestamp? { wallDeadlines.min?.time }

    func isDeadlineDue(at now: HubTime) -> Bool {
        guard now.monotonic >= storageRetryAt else { return false }
        if let next = deadlines.min, next.time <= max(time, now.time) { return true }
        if let next = wallDeadlines.min, next.time <= max(wall, now.wall) { return true }
        return false
    }

    /// Fires what is due by the hub's time, in the order of its dates: after a full disk too, because an event that is
    /// tried again must not overtake a timer that was due before it.
    ///
    /// Where there are more than half of a batch, the others wait for the next one: timers alone must not keep requests from
    /// being heard.
    mutating func fireDeadlines(at now: HubTime) {
        while let next = deadlines.min, next.time <= time, batchHasRoomForDeadlines {
            _ = deadlines.popMin()
            // Another entry took this one's place.
            guard entities[next.entity].armed == next.time else { continue }
            entities[next.entity].armed = nil
            guard activity(at: next.entity)?.deadline == next.time else {
                arm(next.entity)
                continue
            }
            fire(next.entity, due: next.time, at: now)
        }
        while let next = wallDeadlines.min, next.time <= wall, batchHasRoomForDeadlines {
            _ = wallDeadlines.popMin()
            guard entities[next.entity].wallArmed == next.time else { continue }
            entities[next.entity].wallArmed = nil
            guard wallDeadline(of: next.entity) == next.time else {
                arm(next.entity)
                continue
            }
            fire(next.entity, due: next.time, at: now)
        }
    }

    /// Fires what is due of one key, when others of the batch's had no room: a timer of its own comes before what is said
    /// of it.
    mutating func fireDeadlines(of key: Key, at now: HubTime) {
        guard let entity = entities.index(of: key) else { return }
        for _ in 0..<Self.deadlinesOfOneKey {
            if let due = activity(at: entity)?.deadline, due <= time {
                fire(entity, due: due, at: now)
            } else if let due = wallDeadline(of: entity), due <= wall {
                fire(entity, due: due, at: now)
            } else {
                return
            }
        }
    }

    /// As many timers as a machine can have, and as many as their steps may set off: a kind whose timers go in a circle is
    /// not waited for.
    private static let deadlinesOfOneKey = 128

    private mutating func fire(_ entity: EntityIndex, due: Timestamp, at now: HubTime) {
        guard let key = entities[entity].key else { return }
        statistics.deadlinesFired += 1
        // One that is refused is not armed again before something changes, or it would be due for ever.
        _ = try? record(entities[entity].dismissedAt == nil ? .deadline(key, due: due) : .pruned(key), at: now)
    }

    /// Notes the next moments of an entity, after anything about it changed.
    ///
    /// A deadline that moved to later keeps its entry, which is looked at again when it comes up; so a clock that every
    /// event winds anew costs one entry and not one an event.
    mutating func arm(_ entity: EntityIndex) { arm(entity, deadline: activity(at: entity)?.deadline) }

    /// - Parameter deadline: Of the activity behind it, by the hub's own clock; `nil` where it has none.
    mutating func arm(_ entity: EntityIndex, deadline: Timestamp?) {
        if let time = deadline, time < entities[entity].armed ?? .distantFuture {
            armedCount += 1
            entities[entity].armed = time
            deadlines.insert(Deadline(time: time, order: armedCount, entity: entity))
        }
        if let time = wallDeadline(of: entity), time < entities[entity].wallArmed ?? .distantFuture {
            armedCount += 1
            entities[entity].wallArmed = time
            wallDeadlines.insert(Deadline(time: time, order: armedCount, entity: entity))
        }
    }

    private func wallDeadline(of entity: EntityIndex) -> Timestamp? {
        switch entities[entity].state {
        case .none: nil
        case .activity: entities[entity].dismissedAt.map { $0 + settings.retention }
        case .toggle(let toggle): toggle.deadline
        case .button(let button): button.deadline
        }
    }
}
