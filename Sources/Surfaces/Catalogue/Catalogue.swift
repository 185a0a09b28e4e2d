public import TelltaleModel

/// The devices and sizes for the layout of clients, from Apple's Human Interface Guidelines.
///
/// `Protocols/Surfaces/catalogue.json` holds the same data, and a test compares the two. Lengths are in points unless a
/// name says otherwise.
public enum Catalogue {
    /// A device that a `HELLO device=` may name.
    public struct Device: Hashable, Sendable {
        /// Lower case, words joined by hyphens: `iphone-15-pro`.
        public var name: String
        public var surface: Surface
        /// In portrait orientation, for a handheld device.
        public var width: Int
        public var height: Int
        /// Pixels per point.
        public var scale: Int
        public var hasIsland: Bool
        /// `nil` if the system has none.
        public var sizeClasses: SizeClasses?

        /// `canvas=` of the `OK`: `393x852`.
        public var canvas: String { "\(width)x\(height)" }
    }

    public enum SizeClass: String, Hashable, Sendable {
        case compact, regular
    }

    /// The size classes of a window that fills the screen.
    public struct SizeClasses: Hashable, Sendable {
        public var portraitWidth: SizeClass
        public var portraitHeight: SizeClass
        public var landscapeWidth: SizeClass
        public var landscapeHeight: SizeClass
    }

    /// A size, or a range from the smallest to the largest.
    public struct Extent: Hashable, Sendable {
        public var width: ClosedRange<Double>
        public var height: ClosedRange<Double>
    }

    /// The place and the size of a presentation.
    public struct Area: Hashable, Sendable {
        /// The surface's name, or the name of a part of it: `island`.
        public var place: String
        public var presentation: Presentation
        /// The screens that the area applies to, as `WxH` or as a device's size; `nil` for all.
        public var screen: String?
        public var extent: Extent
    }

    /// A widget family on a screen.
    public struct WidgetSize: Hashable, Sendable {
        public var platform: String
        public var screens: [String]
        public var family: String
        public var extent: Extent
        /// The size that the canvas is scaled to on the device, if it differs.
        public var device: Extent?
        /// In millimetres at 100 %, for a device with a physical scale.
        public var millimetres: Extent?
    }

    /// The places of a widget family on a platform.
    public struct FamilyPlaces: Hashable, Sendable {
        public var family: String
        public var platform: String
        public var places: [String]
    }

    /// A column of the grid of a television screen.
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

    /// `nil` for an unknown name.
    public static func device(named name: String) -> Device? {
        devices.first { $0.name.utf8.elementsEqual(name.utf8) }
    }

    /// The number of characters that fit at the smallest text size, by presentation. A longer text is cut.
    public static func textLimit(_ presentation: Presentation, on surface: Surface, isJoined: Bool) -> Int {
        switch presentation {
        case .minimal: 8
        case .compact: isJoined ? 24 : surface == .desktop ? 32 : 14
        case .small: 40
        case .lockScreen, .expanded: 160
        }
    }
}
