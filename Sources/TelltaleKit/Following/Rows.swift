public import TelltaleModel

/// The rows of a follower, by key, after the changes applied so far.
public struct Rows<Activity: ActivityRow>: Sendable {
    private var updates: [Key: RowUpdate<Activity>] = [:]
    /// Whether the rows are complete and current, as far as this client knows.
    public private(set) var isLive = false

    public init() {}

    public mutating func apply(_ change: Change<Activity>) {
        switch change {
        case .update(let update): updates[update.key] = update
        case .removal(let removal): updates[removal.key] = nil
        case .live: isLive = true
        case .reset, .disconnected: isLive = false
        case .milestone, .alert, .changed, .connected: break
        }
    }

    public subscript(key: Key) -> RowUpdate<Activity>? { updates[key] }

    public var isEmpty: Bool { updates.isEmpty }

    /// The activities in the order in which the surface shows them.
    public var activities: [(key: Key, row: Activity)] {
        updates.values.compactMap { update in update.activity.map { (update.key, $0) } }
            .sorted { ($0.row.order, $0.key) < ($1.row.order, $1.key) }
    }

    /// The widgets, by key.
    public var widgets: [(key: Key, rev: Int64, row: WidgetRow)] {
        updates.values.compactMap { update in update.widget.map { (update.key, update.rev, $0) } }.sorted {
            $0.key < $1.key
        }
    }

    /// The controls, by key.
    public var controls: [(key: Key, rev: Int64, row: ControlRow)] {
        updates.values.compactMap { update in update.control.map { (update.key, update.rev, $0) } }.sorted {
            $0.key < $1.key
        }
    }
}
