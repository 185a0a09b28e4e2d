internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

extension EntityStore {
    /// The probable mistake in an event, for people.
    ///
    /// - Parameters:
    ///   - verdict: The decision on the event.
    ///   - entity: The index of its key.
    /// - Returns: `nil` if nothing suggests a mistake.
    func hint(on posted: PostedEvent, _ verdict: Verdict, at entity: EntityIndex?) -> String? {
        if let happenedAt = posted.command.happenedAt {
            if isSeconds(happenedAt) {
                return
                    "at=\(happenedAt.milliseconds) is in January 1970: at= is in milliseconds, and this looks like seconds"
            }
            if verdict == .ignored, happenedAt > time + settings.activities.aheadLimit {
                return
                    "at= is more than \(settings.activities.aheadLimit.count / 3_600_000) hours ahead of the server's clock"
            }
        }
        guard verdict == .ignored, let entity, case .happened(let name) = posted.event.change,
            let kind = kind(at: entity), case .activity(let activityKind) = kind.body
        else { return nil }
        let event = activityKind.accept[name] ?? name
        guard !activityKind.handles(event) else { return nil }
        return "no state of \(kind.name) handles \(name)"
    }

    /// Whether a date that was read as milliseconds would be within a year of now if read as seconds.
    private func isSeconds(_ date: Timestamp) -> Bool {
        let (milliseconds, overflows) = date.milliseconds.multipliedReportingOverflow(by: 1000)
        guard !overflows, date.milliseconds > 0 else { return false }
        let distance = Timestamp(milliseconds: milliseconds) - time
        return (-Milliseconds.days(366).count...Milliseconds.days(366).count).contains(distance.count)
    }
}
