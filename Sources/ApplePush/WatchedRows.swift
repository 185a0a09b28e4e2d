internal import TelltaleModel

/// The newest rows and alerts of what a sender of pushes watches.
struct WatchedRows: Sendable {
    typealias Watch = PushState.Watch

    struct Activity {
        fileprivate(set) var row: JSONObject?
        fileprivate(set) var rev: Int64 = 0
        /// Whether it has left the daemon, or is no longer visible to this account.
        fileprivate(set) var isGone = false
        fileprivate(set) var startedAt: Int64 = 0
        fileprivate(set) var alert: OutgoingPush.Alert?
        fileprivate(set) var alertRev: Int64 = 0
        /// The digest of what a device would get.
        fileprivate var digest: UInt64 = 0
        /// The rev of the last row whose digest changed.
        fileprivate(set) var changedRev: Int64 = 0
        /// The row of the view `phone`, for notifications.
        fileprivate(set) var surface: JSONObject?
        fileprivate(set) var surfaceRev: Int64 = 0
        fileprivate var surfaceText: [JSON?] = []

        var isEnd: Bool { isGone || row?["lifecycle"]?.string == "ended" }
        var isPending: Bool { row?["lifecycle"]?.string == "pending" }
    }

    private var activities: [Watch: [Key: Activity]] = [:]
    /// The newest rev of a kind's rows, for reloads.
    private var newest: [Watch: Int64] = [:]
    /// The watches of which all rows have arrived.
    private var live: Set<Watch> = []

    func activity(_ key: Key, in watch: Watch) -> Activity? { activities[watch]?[key] }

    func keys(in watch: Watch) -> [Key] { activities[watch, default: [:]].keys.sorted() }

    func newestRev(in watch: Watch) -> Int64? { newest[watch] }

    func isLive(_ watch: Watch) -> Bool { live.contains(watch) }

    mutating func forget(_ watch: Watch) {
        activities[watch] = nil
        newest[watch] = nil
        live.remove(watch)
    }

    // The functions below return whether something is new.

    mutating func store(
        row: JSONObject, of key: Key, rev: Int64, in watch: Watch, _ form: OutgoingPush.Form?
    ) -> Bool {
        newest[watch] = max(newest[watch] ?? 0, rev)
        return update(key, in: watch) { activity in
            guard rev > activity.rev else { return false }
            let digest = Self.digest(of: row, form)
            if digest != activity.digest || activity.isGone { activity.changedRev = rev }
            activity.row = row
            activity.rev = rev
            activity.isGone = false
            activity.digest = digest
            activity.startedAt = row["startedAt"]?.integer ?? 0
            if activity.alertRev > activity.changedRev, activity.alertRev <= rev { activity.changedRev = rev }
            return true
        }
    }

    mutating func store(surface: JSONObject, of key: Key, rev: Int64, in watch: Watch) -> Bool {
        update(key, in: watch) { activity in
            guard rev >= activity.surfaceRev else { return false }
            let view = surface["lockScreen"]?["view"]
            let text = [view?["title"], view?["subtitle"], surface["title"], surface["url"]]
            if text != activity.surfaceText || activity.alertRev == rev { activity.surfaceRev = rev }
            activity.surface = surface
            activity.surfaceText = text
            return true
        }
    }

    mutating func store(alert: OutgoingPush.Alert, of key: Key, rev: Int64, in watch: Watch) -> Bool {
        update(key, in: watch) { activity in
            guard rev > activity.alertRev else { return false }
            activity.alert = alert
            activity.alertRev = rev
            if rev <= activity.rev { activity.changedRev = max(activity.changedRev, rev) }
            activity.surfaceRev = max(activity.surfaceRev, rev)
            return true
        }
    }

    mutating func takeDeletion(of key: Key, rev: Int64, in watch: Watch, at now: Timestamp) -> Bool {
        newest[watch] = max((newest[watch] ?? 0) + 1, rev)
        guard activities[watch]?[key] != nil else { return false }
        return update(key, in: watch) { activity in
            guard !activity.isGone else { return false }
            activity.rev = max(activity.rev + 1, rev)
            activity.changedRev = activity.rev
            activity.isGone = true
            // The card keeps the last content and disappears immediately.
            activity.row?["removeAt"] = .integer(now.milliseconds)
            return true
        }
    }

    mutating func takeLive(_ watch: Watch) -> Bool { live.insert(watch).inserted }

    private mutating func update(_ key: Key, in watch: Watch, _ change: (inout Activity) -> Bool) -> Bool {
        var activity = activities[watch]?[key] ?? Activity()
        guard change(&activity) else { return false }
        activities[watch, default: [:]][key] = activity
        return true
    }

    /// The digest of everything that a device would get from a row, so that an unchanged look causes no push.
    private static func digest(of row: JSONObject, _ form: OutgoingPush.Form?) -> UInt64 {
        var hash = StableHash(seed: 1)
        hash.combine(json: form.map { OutgoingPush.content(row, $0) } ?? row["content"] ?? .null)
        for name in ["staleAt", "score", "removeAt", "startedAt"] { hash.combine(json: row[name] ?? .null) }
        // A device detects by itself that content has become stale.
        let lifecycle = row["lifecycle"]?.string ?? ""
        hash.combine(lifecycle == "stale" ? "active" : lifecycle)
        return hash.finalize()
    }
}
