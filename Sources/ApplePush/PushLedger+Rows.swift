public import TelltaleModel

// The rows and alerts that a daemon sends.
extension PushLedger {
    /// A row of the `full` view.
    public mutating func take(row: JSONObject, of key: Key, rev: Int64, in watch: Watch) {
        guard registrationsByWatch[watch] != nil else { return }
        newest[watch] = max(newest[watch] ?? 0, rev)
        markReloads(of: watch)
        var activity = activities[watch]?[key] ?? Activity(rev: 0, changedRev: 0)
        guard rev > activity.rev else { return }
        let digest = digest(of: row, forms[watch.kind])
        if digest != activity.digest || activity.isGone { activity.changedRev = rev }
        activity.row = row
        activity.rev = rev
        activity.isGone = false
        activity.digest = digest
        activity.startedAt = row["startedAt"]?.integer ?? 0
        if activity.alertRev > activity.changedRev, activity.alertRev <= rev { activity.changedRev = rev }
        activities[watch, default: [:]][key] = activity
        mark(key, in: watch)
    }

    /// A row of the view `phone`, for notifications that people read.
    public mutating func take(surface: JSONObject, of key: Key, rev: Int64, in watch: Watch) {
        guard registrationsByWatch[watch] != nil else { return }
        var activity = activities[watch]?[key] ?? Activity(rev: 0, changedRev: 0)
        guard rev >= activity.surfaceRev else { return }
        let view = surface["lockScreen"]?["view"]
        let text = [view?["title"], view?["subtitle"], surface["title"], surface["url"]]
        if text != activity.surfaceText || activity.alertRev == rev { activity.surfaceRev = rev }
        activity.surface = surface
        activity.surfaceText = text
        activities[watch, default: [:]][key] = activity
        mark(key, in: watch)
    }

    /// Takes an activity's alert, which may come before or after its row.
    public mutating func take(alert: OutgoingPush.Alert, of key: Key, rev: Int64, in watch: Watch) {
        guard registrationsByWatch[watch] != nil else { return }
        var activity = activities[watch]?[key] ?? Activity(rev: 0, changedRev: 0)
        guard rev > activity.alertRev else { return }
        activity.alert = alert
        activity.alertRev = rev
        if rev <= activity.rev { activity.changedRev = max(activity.changedRev, rev) }
        activity.surfaceRev = max(activity.surfaceRev, rev)
        activities[watch, default: [:]][key] = activity
        mark(key, in: watch)
    }

    /// Takes a removal: the activity has left the daemon or is no longer visible to this account.
    public mutating func takeDeletion(of key: Key, rev: Int64, in watch: Watch, at now: Timestamp) {
        guard registrationsByWatch[watch] != nil else { return }
        newest[watch] = max((newest[watch] ?? 0) + 1, rev)
        markReloads(of: watch)
        guard var activity = activities[watch]?[key], !activity.isGone else { return }
        activity.rev = max(activity.rev + 1, rev)
        activity.changedRev = activity.rev
        activity.isGone = true
        // The card keeps the last content and disappears immediately.
        activity.row?["removeAt"] = .integer(now.milliseconds)
        activities[watch, default: [:]][key] = activity
        mark(key, in: watch)
    }

    /// All rows of a watch have arrived. An activity without a row is gone.
    public mutating func takeLive(_ watch: Watch) {
        guard registrationsByWatch[watch] != nil, live.insert(watch).inserted else { return }
        for id in (registrationsByWatch[watch] ?? []).sorted() {
            switch registrations[id]?.subject {
            case .update(let key)?, .channel(let key)?: mark(LaneID(id, key))
            case .web(_, _, let key?)?: mark(LaneID(id, key))
            case .start?, .web?: for key in (startedKeys[id] ?? []).sorted() { mark(LaneID(id, key)) }
            case .reload?: mark(LaneID(id, nil))
            case nil: break
            }
        }
    }

    private mutating func mark(_ key: Key, in watch: Watch) {
        for id in (registrationsByKey[watch]?[key] ?? []).sorted() { mark(LaneID(id, key)) }
        for id in (broadByWatch[watch] ?? []).sorted() {
            guard let registration = registrations[id], registration.isBroad else { continue }
            mark(registration, key)
        }
    }

    mutating func mark(_ start: PushRegistration, _ key: Key) { mark(LaneID(start.id, key)) }

    private mutating func markReloads(of watch: Watch) {
        for id in (broadByWatch[watch] ?? []).sorted() {
            if case .reload? = registrations[id]?.subject { mark(LaneID(id, nil)) }
        }
    }
}
