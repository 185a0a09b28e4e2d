internal import FanOut
internal import TelltaleModel

/// Which activities show which controls in their views. Their rows are sent again when the control changes.
struct ControlReferences: Sendable {
    private var activities: [Key: Set<EntityIndex>] = [:]
    private var controls: [EntityIndex: [Key]] = [:]

    var isEmpty: Bool { controls.isEmpty }

    /// The activities whose newest rows contain the control, in the order of their indices.
    func activities(with control: Key) -> [EntityIndex] {
        activities[control]?.sorted() ?? []
    }

    func controls(in activity: EntityIndex) -> [Key] { controls[activity] ?? [] }

    func shows(controlsIn activity: EntityIndex) -> Bool { controls[activity] != nil }

    /// Records the controls in a row of an activity, in addition to those in its other rows.
    mutating func note(_ keys: [Key], in activity: EntityIndex) {
        for key in keys where activities[key, default: []].insert(activity).inserted {
            controls[activity, default: []].append(key)
        }
    }

    /// Forgets an activity that changed; its next rows record their controls again.
    mutating func forget(_ activity: EntityIndex) {
        guard !isEmpty, let keys = controls.removeValue(forKey: activity) else { return }
        for key in keys {
            activities[key]?.remove(activity)
            if activities[key]?.isEmpty == true { activities[key] = nil }
        }
    }
}
