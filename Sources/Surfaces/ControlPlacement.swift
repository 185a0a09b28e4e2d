public import TelltaleModel

/// The place of a control on a device, which determines the parts that are shown (Protocols/Surfaces/rules.md 6.2).
///
/// The names are those of `placement=` and of a row's `placement` on the wire.
public enum ControlPlacement: String, CaseIterable, Hashable, Sendable {
    case controlCenterSmall, controlCenterMedium, controlCenterLarge
    case lockScreen
    /// The Action button while it is pressed: a hint of the action for a long press.
    case actionButton
    /// The Action button after a long press: the Dynamic Island shows the result.
    case actionButtonHold
    case menuBar
    case smartStack
    /// The gallery of controls: a preview that never changes.
    case gallery

    /// The place of a control that has no explicit placement on this surface; `nil` if the surface has no controls.
    ///
    /// On a car's dashboard it is a medium tile, because a driver reads a symbol with name and value and opens nothing.
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

    /// Whether a momentary text is shown after an action (`controlWidgetStatus`).
    var showsStatus: Bool { self == .controlCenterMedium || self == .controlCenterLarge }
}

/// The viewer that a control is drawn for.
public struct ControlViewer: Hashable, Sendable {
    /// `nil` for the whole state (`view=full`).
    public var placement: ControlPlacement?
    /// The connection that draws the control. It is shown the value that it requested.
    public var connection: Int64?
    /// The device's `locked` trait.
    public var isLocked: Bool
    /// Whether the view around an embedded control hides what is private (E10, W76). A control by itself hides it while locked (G13).
    public var isRedacted = false

    public init(placement: ControlPlacement?, connection: Int64? = nil, isLocked: Bool = false) {
        self.placement = placement
        self.connection = connection
        self.isLocked = isLocked
    }
}
