public import Kinds
public import Machines
public import TelltaleModel

/// The way in which a place shows a widget of a family, in a device's situation: mode, background, margin, scale, and
/// whether it takes taps (Protocols/Widgets/README.md). A pure function; `Protocols/Machines/widgets.table` tests it.
public struct WidgetScene: Hashable, Sendable {
    public enum Background: String, Hashable, Sendable { case kept, removed }

    public let family: WidgetFamily
    public let place: WidgetPlace
    public let mode: WidgetMode
    public let background: Background
    /// In points.
    public let margin: Double
    /// 2 if the place draws at twice the size.
    public let scale: Int
    /// For a tile on visionOS: its size in percent, and its mounting; `nil` elsewhere.
    public let tileScale: Int?
    public let mounting: WidgetMounting?
    /// The layer behind an accented widget: `glass`, or a colour.
    public let behind: String?
    /// Tinted for a dark room.
    public let isNight: Bool
    /// Drawn dark, without animation.
    public let isLuminanceReduced: Bool
    /// Seen from afar: no details.
    public let isSimplified: Bool
    public let isDark: Bool
    public let isMotionReduced: Bool
    /// The owner's name is drawn below.
    public let showsName: Bool
    /// Whether buttons take taps.
    public let isInteractive: Bool
    /// Whether parts have links of their own.
    public let hasLinks: Bool
    /// Whether a tap opens the app.
    public let opensApp: Bool
    /// Private parts are not sent.
    public let isRedacted: Bool
    /// A placeholder is shown instead of the content.
    public let isPlaceholder: Bool
    /// Sample content, without any action.
    public let isPreview: Bool
    public let hasAccount: Bool
    public let surface: Surface
    public let platform: String

    /// Places a widget.
    ///
    /// - Parameters:
    ///   - family: `nil` for the default family of the place.
    ///   - place: `nil` for the default place of the surface.
    ///   - mode: The requested mode; one that the family lacks is replaced (W4).
    ///   - tile: The style of its tile. The placement in it is ignored in favour of `place`.
    ///   - isSample: Draw it as it would look there, without any action.
    /// - Returns: `nil` if it cannot be shown: the place or the surface lacks the family, or the kind excludes the place (W1,
    ///   W49, W77).
    public init?(
        _ kind: WidgetKind, surface: Surface, place: WidgetPlace? = nil, family: WidgetFamily? = nil,
        mode: WidgetMode? = nil, traits: Traits = Traits(), hasAccount: Bool = true,
        settings: SurfaceSettings = SurfaceSettings(), tile: TileStyle? = nil, isSample: Bool = false
    ) {
        let place = place ?? Self.standardPlace(on: surface)
        let family = family ?? Self.standardFamily(at: place, on: surface)
        guard Self.isOffered(kind, family, at: place, on: surface) else { return nil }
        let own = traits.widgets
        guard isSample || Self.isRelevant(kind, at: place, own, settings) else { return nil }
        self.family = family
        self.place = place
        self.hasAccount = hasAccount
        self.surface = surface
        platform = Self.platform(of: surface)
        // W68: a theme colours the frame and the content.
        let theme = surface == .vision ? tile?.theme : nil
        let wanted = mode ?? (theme == nil ? Self.mode(at: place, family, traits) : .accented)
        self.mode = family.has(wanted) ? wanted : family.has(.accented) ? .accented : .vibrant
        let isRemoved =
            place != .gallery
            && (self.mode != .fullColor || [.lockScreen, .standby, .carplay, .complications].contains(place))
        background = isRemoved && kind.isBackgroundRemovable ? .removed : .kept
        let isTight = background == .removed || place == .desktop || place == .lockScreen
        margin = isTight ? min(kind.margin, 11) : kind.margin
        scale = place == .standby || place == .carplay ? 2 : 1
        behind = self.mode == .accented && surface != .watch ? theme ?? Self.behind(own.tint) : nil
        tileScale = surface == .vision ? tile?.scale : nil
        mounting = surface == .vision && tile != nil ? tile?.mounting ?? .elevated : nil
        isNight = place == .standby && traits.isLightLow
        isLuminanceReduced = traits.isLuminanceReduced || (surface == .watch && traits.isWristDown)
        isSimplified = surface == .vision && own.isFar
        isDark = own.isDark
        isMotionReduced = own.isMotionReduced
        showsName = (surface == .phone && place == .home) || place == .notificationCenter
        isPreview = place == .gallery || isSample
        isInteractive =
            Self.takesTaps(family, at: place, on: surface) && !traits.isLocked && !isLuminanceReduced && !isPreview
            && !(place == .carplay && (!own.hasTouch || kind.disfavouredPlaces.contains(.carplay)))
        hasLinks = !family.isAccessory && place != .smartStack && !isPreview
        opensApp = !isPreview && (place != .carplay || kind.hasCarApp)
        // Sample content is nobody's.
        // A car's widgets are placed on its own board and not forwarded to it, so they follow its phone's lock.
        isRedacted = !isPreview && traits.isRedacted(on: surface == .carplay ? .phone : surface, settings)
        isPlaceholder = kind.isProtected && traits.isLocked
    }

    // MARK: Places

    /// The place of a widget if none is named.
    public static func standardPlace(on surface: Surface) -> WidgetPlace {
        switch surface {
        case .phone, .pad: .home
        case .watch: .smartStack
        case .carplay: .carplay
        case .desktop: .desktop
        case .standby: .standby
        case .vision: .horizontal
        }
    }

    /// The family of a widget if none is named.
    public static func standardFamily(at place: WidgetPlace, on surface: Surface) -> WidgetFamily {
        switch (place, surface) {
        case (_, .watch), (.lockScreen, .phone): .accessoryRectangular
        default: .systemSmall
        }
    }

    /// The catalogue's platform: a phone shows StandBy, and a car takes its phone's.
    static func platform(of surface: Surface) -> String {
        switch surface {
        case .carplay, .standby: Surface.phone.rawValue
        case .phone, .pad, .watch, .desktop, .vision: surface.rawValue
        }
    }

    /// Whether a place of the surface has the family, and the kind allows the place.
    public static func isOffered(
        _ kind: WidgetKind, _ family: WidgetFamily, at place: WidgetPlace, on surface: Surface
    ) -> Bool {
        guard kind.families.contains(family), !kind.neverPlaces.contains(place) else { return false }
        if kind.isProtected, surface == .desktop { return false }
        if !kind.isBackgroundRemovable, [.lockScreen, .standby, .carplay].contains(place) { return false }
        let places =
            Catalogue.families.first {
                $0.family == family.rawValue && $0.platform == platform(of: surface)
            }?.places ?? []
        switch (place, surface) {
        case (.carplay, .carplay), (.standby, .standby), (.standby, .phone): return places.contains(place.rawValue)
        // A car and a phone in StandBy show nothing else.
        case (.carplay, _), (_, .carplay), (.standby, _), (_, .standby): return false
        case (.gallery, _): return !places.isEmpty
        case _: return places.contains(place.rawValue)
        }
    }

    /// Whether some surface has the family at a place; `nil` = at any place.
    public static func isOffered(_ kind: WidgetKind, _ family: WidgetFamily, at place: WidgetPlace?) -> Bool {
        let places = place.map { [$0] } ?? WidgetPlace.allCases.filter { $0 != .gallery }
        return places.contains { place in
            Surface.allCases.contains { isOffered(kind, family, at: place, on: $0) }
        }
    }

    /// The place of a family if none is named: the surface's standard place, else the first that has it.
    public static func firstPlace(of kind: WidgetKind, _ family: WidgetFamily, on surface: Surface) -> WidgetPlace? {
        let others = WidgetPlace.allCases.filter { $0 != .gallery && ($0 != .standby || surface == .standby) }
        return ([standardPlace(on: surface)] + others).first { isOffered(kind, family, at: $0, on: surface) }
    }

    /// W43, W44: a relevant widget appears unplaced in the watch's Smart Stack, and in the places named in the settings, while
    /// the device's situation is one of its contexts. Dates are entries of its row.
    static func isRelevant(
        _ kind: WidgetKind, at place: WidgetPlace, _ traits: WidgetTraits, _ settings: SurfaceSettings
    ) -> Bool {
        guard kind.isEach, let relevance = kind.relevance else { return true }
        guard place == .smartStack || settings.relevancePlaces.contains(place) else { return false }
        return relevance.situations.isEmpty || relevance.situations.contains(where: traits.meets)
    }

    // MARK: The table of places

    private static func mode(at place: WidgetPlace, _ family: WidgetFamily, _ traits: Traits) -> WidgetMode {
        let isTinted = traits.widgets.tint != nil
        switch place {
        case .lockScreen: return .vibrant
        case .standby: return traits.isLightLow ? .vibrant : .fullColor
        case .carplay, .gallery: return .fullColor
        // A desktop with other windows in front of it is faded, whatever its tint.
        case .desktop where traits.widgets.isDesktopBehind: return .vibrant
        case .home, .today, .desktop, .notificationCenter, .smartStack, .complications, .horizontal, .vertical:
            return isTinted ? .accented : .fullColor
        }
    }

    private static func behind(_ tint: String?) -> String? {
        guard let tint else { return nil }
        return tint == "clear" ? "glass" : tint
    }

    /// W71, W72.
    private static func takesTaps(_ family: WidgetFamily, at place: WidgetPlace, on surface: Surface) -> Bool {
        switch family {
        case .systemSmall, .systemMedium, .systemLarge, .systemExtraLarge, .systemExtraLargePortrait: true
        case .accessoryCircular, .accessoryRectangular: surface == .phone || surface == .pad
        case .accessoryCorner, .accessoryInline: false
        }
    }

    // MARK: Drawing

    /// The circumstances for the variants of views.
    private var circumstances: Circumstances {
        var circumstances = Circumstances(surface: surface)
        circumstances.mode = mode
        circumstances.isBackgroundRemoved = background == .removed
        circumstances.isSimplified = isSimplified
        circumstances.isDark = isDark
        circumstances.isLuminanceReduced = isLuminanceReduced
        circumstances.hasAccount = hasAccount
        return circumstances
    }

    /// How views are written in this scene.
    public var drawing: WidgetDrawing {
        var drawing = WidgetDrawing(
            circumstances: circumstances)
        drawing.isInteractive = isInteractive
        drawing.hasLinks = hasLinks && opensApp
        drawing.dropsTint = mode != .fullColor
        drawing.dropsImage = place == .standby || place == .carplay
        drawing.dropsButtons = isSimplified
        drawing.animationLimit = isLuminanceReduced || isMotionReduced || isPreview ? 0 : 2
        drawing.isRedacted = isRedacted
        drawing.isPlaceholder = isPlaceholder
        drawing.imageTreatments = mode == .accented ? Self.treatments[platform == "watch" ? 1 : 0] : nil
        return drawing
    }

    /// W47: for an image without an option, then `accented`, `desaturated`, `accentedDesaturated`, `fullColor`; elsewhere, and on
    /// the watch.
    private static let treatments: [[WidgetDrawing.ImageTreatment]] = [
        [.white, .white, .desaturated, .desaturated, .original],
        [.white, .accent, .whiteDesaturated, .accentDesaturated, .white],
    ]
}
