public import TelltaleModel

/// The daemon's `STATS` as metrics. Missing figures are left out.
public enum DaemonFigures {
    /// - Parameters:
    ///   - stats: The object in its answer; `nil` while it does not answer.
    ///   - version: Of its greeting.
    public static func families(_ stats: JSON?, version: String?) -> [MetricFamily] {
        var families = [
            MetricFamily(
                "telltale_up", .gauge, "Whether the daemon answers the gateway.",
                [MetricFamily.Sample(value: stats == nil ? 0 : 1)])
        ]
        guard let stats else { return families }
        if let version {
            families.append(
                MetricFamily(
                    "telltale_build_info", .gauge, "The daemon's release.",
                    [MetricFamily.Sample(labels: [("version", version)], value: 1)]))
        }
        for (path, name, help) in gauges { append(stats, path, name, .gauge, help, &families) }
        for (path, name, help) in counters { append(stats, path, name, .counter, help, &families) }
        labelled(stats, "verdicts", "telltale_verdicts_total", "verdict", "What was decided, by verdict.", &families)
        labelled(
            stats, "conflated", "telltale_rows_folded_total", "why",
            "Rows that came late and stand for several commits.",
            &families)
        // The daemon leaves it out while it is 0.
        families.append(
            MetricFamily(
                "telltale_left_out_activities", .gauge,
                "Activities that views of accounts leave out, once for each view.",
                [MetricFamily.Sample(value: stats["leftOut"]?.double ?? 0)]))
        widgets(stats, &families)
        if let cluster = stats["cluster"] { append(cluster, &families) }
        if let sync = stats["sync"] { families.append(syncs(sync)) }
        if let expiry = stats["certificateExpires"]?.double {
            families.append(
                MetricFamily(
                    "telltale_tls_certificate_expiry_timestamp_seconds", .gauge,
                    "When the certificate of a listener ends.",
                    [MetricFamily.Sample(labels: [("listener", "line")], value: expiry / 1_000)]))
        }
        return families
    }

    private static let gauges: [(String, String, String)] = [
        ("connections", "telltale_connections", "Open connections of the line protocol."),
        ("subscriptions", "telltale_subscriptions", "Subscriptions."),
        ("entities", "telltale_entities", "Keys that exist or are followed."),
        ("kinds", "telltale_kinds", "Kinds in force."),
        // A position in the journal, not a count of this process. A counter's name would have to end in _total.
        ("seq", "telltale_commit_sequence", "The newest durable commit."),
        ("dirtyKeys", "telltale_dirty_keys", "Rows that subscribers are owed."),
        ("eventIDs", "telltale_event_ids", "Event ids that are remembered."),
        ("sessionBytes", "telltale_session_bytes", "Memory of connections and subscriptions, counted, in bytes."),
        ("rules", "telltale_rules", "The edition of the rules by which the history is decided."),
    ]

    private static let counters: [(String, String, String)] = [
        ("requests", "telltale_requests_total", "Request lines."),
        ("commits", "telltale_commits_total", "Batches written to the journal."),
        ("rows", "telltale_rows_total", "Rows that subscribers were due."),
        ("deadlines", "telltale_deadlines_total", "Timers and dates that fell due."),
        ("refusals", "telltale_refusals_total", "Faulty lines and refused requests."),
        ("accepted", "telltale_connections_accepted_total", "Connections taken."),
        ("refused", "telltale_connections_refused_total", "Connections that found no room."),
        ("stuckReadersCut", "telltale_stuck_readers_cut_total", "Connections closed because they took no byte."),
        ("storageFull", "telltale_storage_full_total", "Batches that found the disk full."),
        ("guardErrors", "telltale_guard_errors_total", "Guards that could not be evaluated."),
        ("machineErrors", "telltale_machine_errors_total", "Steps that a machine refused."),
        ("authFailures", "telltale_auth_failures_total", "Tokens that were not good."),
    ]

    /// Adds the metrics of a daemon with kinds of widgets.
    private static func widgets(_ stats: JSON, _ families: inout [MetricFamily]) {
        append(
            stats, "refusedGroups", "telltale_widget_groups_refused_total", .counter,
            "Changes that would have opened a group beyond the limits.", &families)
        labelled(
            stats, "foreseen", "telltale_foreseen_deadlines_total", "result",
            "Deadlines that came as widgets had told (kept), or that an event overtook (missed).", &families)
        guard let budget = stats["budget"] else { return }
        append(
            budget, "units", "telltale_widget_budget_units", .gauge, "Devices that have a budget of rows.", &families)
        append(
            budget, "paid", "telltale_widget_budget_rows_paid_total", .counter, "Rows that a budget paid.", &families)
        append(
            budget, "held", "telltale_widget_budget_rows_held_total", .counter, "Rows that waited for a budget.",
            &families)
    }

    /// Adds the metrics of a cluster node.
    private static func append(_ cluster: JSON, _ families: inout [MetricFamily]) {
        let isLeading = cluster["role"]?.string == "leader"
        families.append(
            MetricFamily(
                "telltale_cluster_leading", .gauge, "Whether this node leads.",
                [MetricFamily.Sample(labels: [("node", cluster["node"]?.string ?? "")], value: isLeading ? 1 : 0)]))
        append(cluster, "term", "telltale_cluster_term", .gauge, "The newest term that it knows.", &families)
        append(
            cluster, "lag", "telltale_cluster_lag_messages", .gauge, "Messages of the log that it has not read.",
            &families)
    }

    private static func append(
        _ stats: JSON, _ path: String, _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        _ families: inout [MetricFamily]
    ) {
        guard let value = stats[path]?.double else { return }
        families.append(MetricFamily(name, kind, help, [MetricFamily.Sample(value: value)]))
    }

    private static func labelled(
        _ stats: JSON, _ path: String, _ name: String, _ label: String, _ help: String,
        _ families: inout [MetricFamily]
    ) {
        guard let object = stats[path]?.object else { return }
        let samples = object.compactMap { member in
            member.value.double.map { MetricFamily.Sample(labels: [(label, member.name)], value: $0) }
        }
        families.append(MetricFamily(name, .counter, help, samples))
    }

    /// `sync.buckets` is an array of `[microseconds, count]`, the count of syncs that took at most so long; without it
    /// there is only the sum.
    private static func syncs(_ sync: JSON) -> MetricFamily {
        let count = Int(clamping: sync["count"]?.integer ?? 0)
        let sum = (sync["meanMicroseconds"]?.double ?? 0) * Double(count) / 1e6
        var bounds: [Double] = []
        var counts: [Int] = []
        var below = 0
        for bucket in sync["buckets"]?.array ?? [] {
            guard let pair = bucket.array, pair.count == 2, let bound = pair[0].double, let upTo = pair[1].integer,
                bound > (bounds.last ?? 0) * 1e6, upTo >= below
            else { continue }
            bounds.append(bound / 1e6)
            counts.append(Int(upTo) - below)
            below = Int(upTo)
        }
        counts.append(max(0, count - below))
        return MetricFamily(
            "telltale_journal_sync_seconds", .histogram, "Writing and syncing a batch, in seconds.",
            MetricFamily.Sample.histogram([], bounds: bounds, counts: counts, sum: sum))
    }
}
