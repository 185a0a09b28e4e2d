public import TelltaleModel

/// A line that is sent before a key's row and is never folded into it.
public enum Announcement: Hashable, Sendable {
    /// The activity entered a state that its definition marks as a milestone.
    case milestone(rev: Int64, state: String, at: Timestamp)
    /// The alert's JSON object, as this subscription's surface shows it. Empty on a surface that shows only the alert's
    /// row. `redacted` is what a device that hides what is private is sent instead; `nil` if nothing of it is private.
    case alert(rev: Int64, json: [UInt8], redacted: [UInt8]? = nil)

    /// The commit that caused the announcement.
    public var rev: Int64 {
        switch self {
        case .milestone(let rev, _, _), .alert(let rev, _, _): rev
        }
    }

    public var isMilestone: Bool {
        if case .milestone = self { true } else { false }
    }

    /// The approximate memory of a stored announcement, in bytes.
    var byteCount: Int {
        switch self {
        case .milestone(_, let state, _): MemoryLayout<Self>.stride + state.utf8.count
        case .alert(_, let json, let redacted): MemoryLayout<Self>.stride + json.count + (redacted?.count ?? 0)
        }
    }
}
