public import TelltaleModel

/// What goes out before a key's row and is never folded into it.
public enum Announcement: Hashable, Sendable {
    /// A state that the definition marks as one was entered.
    case milestone(rev: Int64, state: String, at: Timestamp)
    /// The alert's JSON object, as this subscription's surface shows it; empty where its row alone does.
    case alert(rev: Int64, json: [UInt8])

    /// The commit that it belongs to.
    public var rev: Int64 {
        switch self {
        case .milestone(let rev, _, _), .alert(let rev, _): rev
        }
    }

    public var isMilestone: Bool {
        if case .milestone = self { true } else { false }
    }
}
