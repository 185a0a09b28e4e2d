/// A place on a person's device that shows live activities and controls.
///
/// The names are those of `surface=` and `view=` on the wire (line-protocol.md §3).
public enum Surface: String, CaseIterable, Hashable, Sendable {
    case phone, pad, watch, carplay, desktop, standby, vision
}

/// What a subscription asks to be shown: the whole state, or what one surface makes of it.
public enum ViewName: Hashable, Sendable, CustomStringConvertible {
    case full
    case surface(Surface)

    /// `nil` when `text` names neither `full` nor a surface.
    public init?(_ text: some StringProtocol) {
        if text == "full" {
            self = .full
        } else if let surface = Surface(rawValue: String(text)) {
            self = .surface(surface)
        } else {
            return nil
        }
    }

    public var description: String {
        switch self {
        case .full: "full"
        case .surface(let surface): surface.rawValue
        }
    }
}
