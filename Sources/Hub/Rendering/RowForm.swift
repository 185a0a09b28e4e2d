internal import Surfaces
internal import TelltaleModel

/// Everything besides an entity's state that determines the bytes of its row. Equal forms share one encoding.
enum RowForm: Hashable, Sendable {
    case full
    case activity(Surface, Placement, viewer: ControlViewer?)
    case control(ControlViewer)
    /// The number of the renderer's ``WidgetForm``.
    case widget(Int32)

    /// The form to use if the row does not depend on the viewer.
    var withoutViewer: RowForm {
        switch self {
        case .activity(let surface, let placement, _): .activity(surface, placement, viewer: nil)
        case .full, .control, .widget: self
        }
    }

    /// The placement that a subscription remembers. It excludes the moment of an alert, so the end of an alert sends nothing.
    var placement: Placement {
        switch self {
        case .activity(_, let placement, _): placement.withoutAlert
        case .full, .control, .widget: Placement(nil, order: 0)
        }
    }

    /// The form of the row without an alert.
    var withoutAlert: RowForm {
        if case .activity(let surface, let placement, let viewer) = self {
            .activity(surface, placement.withoutAlert, viewer: viewer)
        } else {
            self
        }
    }
}
