internal import TelltaleModel

/// The actions of transitions and states.
extension Step {
    mutating func run(_ range: Range<Int>) throws(MachineError) {
        if range.isEmpty { return }
        hasDoneAnything = true
        isCacheable = false
        // A dry run has no limits for content and timers, so it runs no action.
        guard !isDryRun else { throw .alwaysLoop }
        actionCount += range.count
        guard actionCount <= Self.actionLimit else { throw .alwaysLoop }
        for index in range {
            switch chart.tables.actions[index] {
            case .assign(let assignments): try assign(assignments)
            case .raise(let event): raised.append(event)
            case .send(let event, let delay, let id):
                if delay > .zero {
                    try instance.arm(
                        .init(deadline: time + delay, cause: .send(event: Int32(event), id: Int32(id))))
                } else {
                    sent.append(event)
                }
            case .cancel(let id):
                instance.timers.removeAll { timer in
                    guard case .send(_, let own) = timer.cause else { return false }
                    return own == Int32(id)
                }
            }
        }
    }

    /// Merges the content of a deferred event. A content that no longer fits is discarded, because an error would make
    /// every later event fail as well.
    mutating func merge(_ patch: JSON) {
        guard let members = patch.object, !members.isEmpty else { return }
        let merged = values.content.merging(patch)
        guard values.attributes.textByteCount + merged.textByteCount <= contentLimit else { return }
        values.content = merged
        hasAssigned = true
    }

    /// Assigns all members at once: every path reads the values from before the first assignment.
    private mutating func assign(_ assignments: [ActionDescription.Assignment]) throws(MachineError) {
        var content = values.content.object ?? JSONObject()
        for assignment in assignments {
            switch assignment.source {
            case .literal(let literal): content[assignment.name] = literal
            case .path(let path): content[assignment.name] = path.value(in: values)
            }
        }
        values.content = .object(content)
        let byteCount = values.attributes.textByteCount + values.content.textByteCount
        guard byteCount <= contentLimit else {
            throw .contentTooLarge(byteCount: byteCount, limit: contentLimit)
        }
        hasAssigned = true
    }
}
