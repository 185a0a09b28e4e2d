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
}

/// What each presentation of a kind depends on.
public struct PresentationCircumstances: Hashable, Sendable {
    /// A byte for each presentation, because every placement of every activity tests it.
    private var bytes: UInt64 = 0

    /// None.
    public init() {}

    init(_ views: ActivityViews) {
        for (place, view) in [views.compact, views.minimal, views.lockScreen, views.expanded].enumerated() {
            set(place, view)
        }
        // Without a small view the Lock Screen view is drawn.
        set(4, views.small ?? views.lockScreen)
    }

    private mutating func set(_ place: Int, _ view: ActivityView) {
        bytes |= UInt64(view.circumstances.rawValue) << UInt64(8 * place)
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
