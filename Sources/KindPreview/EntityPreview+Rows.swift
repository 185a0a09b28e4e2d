internal import Kinds
internal import Machines
public import Surfaces
public import TelltaleModel

// The rows that the daemon would send of a preview.
extension EntityPreview {
    /// The surfaces that show an activity, in the order of ``writeRows(traits:limit:to:)``.
    public static let surfaces: [Surface] = [.phone, .watch, .carplay, .desktop, .standby]

    /// Appends an object of rows: of an activity `full` and one for each of ``surfaces``, null where it shows nothing; of a
    /// control `full` and one for each placement. Empty for an activity that has not begun.
    ///
    /// A row comes with the style of an alert where the last step had one.
    ///
    /// - Parameter limit: Where the rows are longer in bytes, the rest is null.
    /// - Returns: Whether they are all there.
    public func writeRows(traits: Traits, limit: Int, to writer: inout JSONWriter) -> Bool {
        var room = limit
        writer.beginObject()
        func write(_ name: String, _ row: [UInt8]?) {
            writer.name(of: name)
            room -= row?.count ?? 0
            if let row, room >= 0 { writer.raw(row) } else { writer.null() }
        }
        switch body {
        case .activity(_, _?):
            write("full", fullRow())
            for surface in Self.surfaces where room >= 0 {
                write(surface.rawValue, row(on: surface, traits: traits))
            }
        case .activity: break
        case .toggle, .button:
            write("full", controlRow(Self.viewer(nil, traits)))
            for place in ControlPlacement.allCases { write(place.rawValue, controlRow(Self.viewer(place, traits))) }
        }
        writer.endObject()
        return room >= 0
    }

    /// The row of an activity that was opened from a menu bar; `nil` where there is nothing to open.
    public func openedRow(traits: Traits) -> [UInt8]? {
        guard case .activity(_, let activity?) = body, activity.lifecycle != .dismissed else { return nil }
        let placement = Projection.opened(
            VisibleActivity(activity, index: 0, app: 0), surface: .desktop, traits: traits)
        guard placement.isShown else { return nil }
        return Self.bytes { SurfaceRow.write(activity, kind: kind, placement: placement, surface: .desktop, to: &$0) }
    }

    /// How a surface draws the alert of the last step; `nil` where it draws none.
    public func alertStyle(on surface: Surface, traits: Traits) -> AlertStyle? {
        guard alert != nil, case .activity(_, let activity?) = body else { return nil }
        return Projection.alertStyle(
            of: VisibleActivity(activity, index: 0, app: 0), surface: surface, traits: traits,
            foreground: foreground(traits))
    }

    /// `nil` for an activity.
    private func controlRow(_ viewer: ControlViewer) -> [UInt8]? {
        switch body {
        case .activity: nil
        case .toggle(let definition, let toggle):
            Self.bytes {
                ControlRow.write(toggle, kind: definition, name: kind.name, title: kind.title, for: viewer, to: &$0)
            }
        case .button(let definition, let button):
            Self.bytes {
                ControlRow.write(button, kind: definition, name: kind.name, title: kind.title, for: viewer, to: &$0)
            }
        }
    }

    /// The `full` row of an activity; `nil` before it has begun, and for a control.
    public func fullRow() -> [UInt8]? {
        guard case .activity(_, let activity?) = body else { return nil }
        return Self.bytes { activity.writeFullRow(to: &$0) }
    }

    /// The row of an activity on a surface; `nil` where the surface shows nothing of it, and for a control.
    ///
    /// It comes with the style of an alert where the last step had one.
    public func row(on surface: Surface, traits: Traits) -> [UInt8]? {
        guard case .activity(_, let activity?) = body else { return nil }
        let placements = Projection.project(
            surface: surface, traits: traits, foreground: foreground(traits),
            activities: [VisibleActivity(activity, index: 0, app: 0)], competing: false)
        guard var placement = placements.first, placement.isShown else { return nil }
        if alert == nil { placement = placement.withoutAlert }
        return Self.bytes { SurfaceRow.write(activity, kind: kind, placement: placement, surface: surface, to: &$0) }
    }

    /// The number of the app in front, where it is the kind's own.
    private func foreground(_ traits: Traits) -> Int32? { traits.foreground == kind.app ? 0 : nil }

    private static func viewer(_ placement: ControlPlacement?, _ traits: Traits) -> ControlViewer {
        ControlViewer(placement: placement, connection: screen, isLocked: traits.isLocked)
    }

    private static func bytes(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        write(&writer)
        return writer.take()
    }
}
