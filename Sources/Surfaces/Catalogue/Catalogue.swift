public import TelltaleModel

/// The devices and sizes that clients lay themselves out by, from Apple's Human Interface Guidelines.
///
/// `Protocols/Surfaces/catalogue.json` is the same as data, and a test holds the two together. Lengths are in points
/// unless a name says otherwise.
public enum Catalogue {
    /// A device that a `HELLO device=` may name.
    public struct Device: Hashable, Sendable {
        /// Lower case, words joined by hyphens: `iphone-15-pro`.
        public var name: String
        public var surface: Surface
        /// Upright, for what is held upright.
        public var width: Int
        public var height: Int
        /// Pixels a point.
        public var scale: Int
        public var hasIsland: Bool
        /// `nil` where the system has none.
        public var sizeClasses: SizeClasses?

        /// `canvas=` of the `OK`: `393x852`.
        public var canvas: String { "\(width)x\(height)" }
    }

    public enum SizeClass: String, Hashable, Sendable {
        case compact, regular
    }

    /// Of a window that fills the screen.
    public struct SizeClasses: Hashable, Sendable {
        public var portraitWidth: SizeClass
        public var portraitHeight: SizeClass
        public var landscapeWidth: SizeClass
        public var landscapeHeight: SizeClass
    }

    /// How large something may be: one size, or from the smallest to the largest.
    public struct Extent: Hashable, Sendable {
        public var width: ClosedRange<Double>
        public var height: ClosedRange<Double>
    }

    /// Where a presentation is drawn, and how large.
    public struct Area: Hashable, Sendable {
        /// The surface's name, or the name of a part of it: `island`.
        public var place: String
        public var presentation: Presentation
        /// The screens to which it applies, as `WxH` or as a device's size; `nil` = all.
        public var screen: String?
        public var extent: Extent
    }

    /// A widget family on a screen.
    public struct WidgetSize: Hashable, Sendable {
        public var platform: String
        public var screens: [String]
        public var family: String
        public var extent: Extent
        /// What the canvas is scaled to on the device, where that differs.
        public var device: Extent?
        /// In millimetres at 100 %, where that is how it is seen.
        public var millimetres: Extent?
    }

    /// Where a widget family exists on a platform.
    public struct FamilyPlaces: Hashable, Sendable {
        public var family: String
        public var platform: String
        public var places: [String]
    }

    /// A grid of a screen that is looked at from afar.
    public struct GridColumn: Hashable, Sendable {
        public var columns: Int
        public var width: Int
    }

    /// A length or a number by name.
    public struct Measure: Hashable, Sendable {
        public var name: String
        public var value: Double
        public var unit: String
    }

    /// `nil` for a name that the catalogue does not know.
    public static func device(named name: String) -> Device? {
        devices.first { $0.name.utf8.elementsEqual(name.utf8) }
    }

    /// How many characters a text may have before it is cut, by where it is drawn: what fits at the smallest text size.
    public static func textLimit(_ presentation: Presentation, on surface: Surface, isJoined: Bool) -> Int {
        switch presentation {
        case .minimal: 8
        case .compact: isJoined ? 24 : surface == .desktop ? 32 : 14
        case .small: 40
        case .lockScreen, .expanded: 160
        }
    }
}
