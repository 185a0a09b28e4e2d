public import TelltaleModel

/// Where on a device a control stands, which decides what of it is shown (rules.md 6.2).
///
/// The names are those of `placement=` and of a row's `placement` on the wire.
public enum ControlPlacement: String, CaseIterable, Hashable, Sendable {
    case controlCenterSmall, controlCenterMedium, controlCenterLarge
    case lockScreen
    /// The Action button while it is being pressed: a hint of what holding it will do.
    case actionButton
    /// The Action button once it has been held: the Dynamic Island shows what it did.
    case actionButtonHold
    case menuBar
    case smartStack
    /// Where controls are chosen: a preview that never changes.
    case gallery

    /// Where a surface shows a control that was not placed anywhere in particular; `nil` = it has no controls.
    ///
    /// A car's dashboard gets a medium tile: a driver reads a symbol with its name and value, and has nothing to open.
    public static func standard(on surface: Surface, isLocked: Bool) -> ControlPlacement? {
        switch surface {
        case .phone, .pad: isLocked ? .lockScreen : .controlCenterMedium
        case .watch: .smartStack
        case .carplay: .controlCenterMedium
        case .desktop: .menuBar
        case .standby: .lockScreen
        case .vision: nil  // visionOS has no controls (G5).
        }
    }

    var showsSymbol: Bool { self != .actionButton }

    var showsTitle: Bool {
        switch self {
        case .controlCenterMedium, .controlCenterLarge, .smartStack, .gallery: true
        case .controlCenterSmall, .lockScreen, .actionButton, .actionButtonHold, .menuBar: false
        }
    }

    var showsText: Bool {
        switch self {
        case .controlCenterMedium, .controlCenterLarge, .smartStack, .gallery, .actionButtonHold: true
        case .controlCenterSmall, .lockScreen, .actionButton, .menuBar: false
        }
    }

    var showsTint: Bool {
        switch self {
        case .controlCenterSmall, .controlCenterMedium, .controlCenterLarge, .lockScreen, .actionButtonHold, .menuBar,
            .smartStack:
            true
        case .actionButton, .gallery: false
        }
    }

    var showsHint: Bool { self == .actionButton }

    /// The momentary text after an action (`controlWidgetStatus`).
    var showsStatus: Bool { self == .controlCenterMedium || self == .controlCenterLarge }
}

/// For whom a control is drawn.
public struct ControlViewer: Hashable, Sendable {
    /// `nil` = the whole state (`view=full`).
    public var placement: ControlPlacement?
    /// The connection that will draw it: it is shown what it tapped.
    public var connection: Int64?
    /// The device's `locked` trait.
    public var isLocked: Bool

    public init(placement: ControlPlacement?, connection: Int64? = nil, isLocked: Bool = false) {
        self.placement = placement
        self.connection = connection
        self.isLocked = isLocked
    }
}
