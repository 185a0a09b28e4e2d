public import TelltaleStatechart

/// Circumstances of a device: those that a view depends on, or those of a device that are not the usual ones.
///
/// Rows that depend on none are drawn once for all devices. There are at most four: a placement has room for so many.
public struct CircumstanceSet: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Private parts are hidden.
    public static let redaction = Self(rawValue: 1 << 0)
    /// The appearance is dark.
    public static let darkness = Self(rawValue: 1 << 1)
    /// The display is always on.
    public static let reducedLuminance = Self(rawValue: 1 << 2)
    /// Nobody's account is known.
    public static let noAccount = Self(rawValue: 1 << 3)
}

/// What each presentation of a kind depends on.
public struct PresentationCircumstances: Hashable, Sendable {
    /// A byte for each presentation, because every placement of every activity tests it.
    private var bytes: UInt64 = 0

    /// None.
    public init() {}

    /// - Parameter subject: The activity, for what is drawn of it now; `nil` for what may be drawn.
    public init(_ views: ActivityViews, for subject: GuardSubject? = nil) {
        for (place, view) in [views.compact, views.minimal, views.lockScreen, views.expanded].enumerated() {
            set(place, view, subject)
        }
        // Without a small view the Lock Screen view is drawn.
        set(4, views.small ?? views.lockScreen, subject)
    }

    private mutating func set(_ place: Int, _ view: ActivityView, _ subject: GuardSubject?) {
        bytes |= UInt64(view.circumstances(for: subject).rawValue) << UInt64(8 * place)
    }

    private subscript(place: Int) -> CircumstanceSet {
        CircumstanceSet(rawValue: UInt8(truncatingIfNeeded: bytes >> UInt64(8 * place)))
    }

    public var isEmpty: Bool { bytes == 0 }
    public var compact: CircumstanceSet { self[0] }
    public var minimal: CircumstanceSet { self[1] }
    public var lockScreen: CircumstanceSet { self[2] }
    public var expanded: CircumstanceSet { self[3] }
    public var small: CircumstanceSet { self[4] }
}
