public import TelltaleModel

/// A change of a follower's rows, or of its connection.
public enum Change<Activity: ActivityRow>: Hashable, Sendable {
    /// A key is new, or has changed: this row replaces the one before.
    case update(RowUpdate<Activity>)
    /// A key has left the view.
    case removal(RowRemoval)
    /// A key has reached a state that must not be skipped. It comes before the row.
    case milestone(RowMilestone)
    /// A key asks for attention. It comes once, before the row.
    case alert(RowAlert)
    /// Something has changed, for a follower without rows (``Telltale/notices(of:view:cursor:)``). `count` is the
    /// number of changed keys; `nil` = more than the server counts.
    case changed(rev: Int64, count: Int?)
    /// The rows are complete and current, for the first time or again.
    case live
    /// The server could not resume: it sends all rows again, and keys that are gone are removed before the next
    /// ``live``. `why` is `epoch`, `selection`, `expired` or `future`.
    case reset(why: String)
    /// The server accepted this client, for the first time or again.
    case connected
    /// The connection was lost or could not be made. Rows may be out of date until the next ``live``.
    case disconnected(reason: String, retryAfter: Duration)

    /// The key of the change; `nil` for a change of the connection.
    public var key: Key? {
        switch self {
        case .update(let update): update.key
        case .removal(let removal): removal.key
        case .milestone(let milestone): milestone.key
        case .alert(let alert): alert.key
        case .changed, .live, .reset, .connected, .disconnected: nil
        }
    }
}

/// The newest row of a key.
public struct RowUpdate<Activity: ActivityRow>: Hashable, Sendable {
    public var key: Key
    /// The commit number of the key's last change. A tap sends it back (`ifRev`).
    public var rev: Int64
    /// The body as it came.
    public var body: JSONObject
    /// Whether the row belongs to the initial rows of the subscription.
    public var isSnapshot: Bool
    /// The number of commits that were folded into this row.
    public var skipped: Int
    /// The reason for the folding: `slow`, `rate` or `resume`.
    public var why: String?

    /// The activity, as this view shows it; `nil` for a control and for a widget.
    public var activity: Activity? { Activity(body) }
    /// The row of a control; `nil` for an activity.
    public var control: ControlRow? { ControlRow(body) }
    /// The row of a widget; `nil` for an activity and for a control, and in the full view.
    public var widget: WidgetRow? { WidgetRow(body) }
    /// The place of a tile on its board; `nil` for a key that is not a tile.
    public var tile: TilePlace? { TilePlace(body) }
    /// Milestones that were dropped because the reader was too slow.
    public var missedMilestones: [String] { (body["missed"]?.array ?? []).compactMap(\.string) }
}

/// A key that has left the view.
public struct RowRemoval: Hashable, Sendable {
    public var key: Key
    public var rev: Int64
    /// `dismissed`, `hidden`, `removed`, or `reset`: it was not in a new snapshot.
    public var why: String
    /// The number of commits that were folded into this removal.
    public var skipped: Int
}

/// A milestone of an activity.
public struct RowMilestone: Hashable, Sendable {
    public var key: Key
    public var rev: Int64
    public var state: String
    public var at: Timestamp
}

/// An alert of an activity.
public struct RowAlert: Hashable, Sendable {
    public var key: Key
    /// For ``TelltaleRequests/seen(_:rev:)``.
    public var rev: Int64
    public var title: String?
    public var text: String?
    public var sound: String?
    /// How to draw it: `expanded`, `banner`, `alert`, `notification` or `panel`.
    public var style: String?

    init(key: Key, rev: Int64, body: JSONObject) {
        self.key = key
        self.rev = rev
        title = body["title"]?.string
        text = body["body"]?.string
        sound = body["sound"]?.string
        style = body["style"]?.string
    }
}
