internal import Surfaces
internal import TelltaleModel

/// Everything beside an entity's state that decides the bytes of its row: equal forms share one encoding.
enum RowForm: Hashable, Sendable {
    case full
    case activity(Surface, Placement, viewer: ControlViewer?)
    case control(ControlViewer)
    /// By its number among the renderer's.
    case widget(Int32)

    /// The form that is shared when nothing in the row depends on the viewer.
    var withoutViewer: RowForm {
        switch self {
        case .activity(let surface, let placement, _): .activity(surface, placement, viewer: nil)
        case .full, .control, .widget: self
        }
    }

    /// The placement that a subscription remembers. The moment of an alert is no part of it, so its end sends nothing.
    var placement: Placement {
        switch self {
        case .activity(_, let placement, _): placement.withoutAlert
        case .full, .control, .widget: Placement(nil, order: 0)
        }
    }

    /// The form of a row that comes without an alert.
    var withoutAlert: RowForm {
        if case .activity(let surface, let placement, let viewer) = self {
            .activity(surface, placement.withoutAlert, viewer: viewer)
        } else {
            self
        }
    }
}
