internal import Kinds
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

/// How a subscription, or a single look, shows widgets.
struct WidgetTerms: Hashable, Sendable {
    /// `nil` for the place that the surface shows without being told one.
    var place: WidgetPlace?
    /// It is of a place that shows controls and no widgets.
    var isElsewhere = false
    var family: WidgetFamily?
    var mode: WidgetMode?
    /// How many later entries a row has.
    var ahead: UInt8 = 4

    init() {}

    /// - Throws: `bad_attr` for a family or a mode that there is not.
    init(_ look: WidgetLook, placement: String?) throws(WireError) {
        if let placement {
            place = WidgetPlace(rawValue: placement)
            isElsewhere = place == nil
        }
        if let text = look.family {
            family = WidgetFamily(rawValue: text)
            if family == nil { throw Self.unknown("family", text, WidgetFamily.allCases.map(\.rawValue)) }
        }
        if let text = look.mode {
            mode = WidgetMode(rawValue: text)
            if mode == nil { throw Self.unknown("mode", text, WidgetMode.allCases.map(\.rawValue)) }
        }
        if let ahead = look.ahead { self.ahead = UInt8(clamping: ahead) }
    }

    private static func unknown(_ name: String, _ text: String, _ values: [String]) -> WireError {
        WireError(
            .badAttribute, "\(name)=\(text) is no \(name) of a widget; there are \(values.joined(separator: ", "))")
    }

    /// Adds what differs from the default to a selection: a subscription that says nothing of widgets selects as ever.
    func combine(into hash: inout StableHash) {
        if let family { hash.combine(family.rawValue) }
        if let mode { hash.combine(mode.rawValue) }
        if ahead != WidgetTerms().ahead { hash.combine(UInt64(ahead)) }
    }
}

/// The row of a widget that a subscriber holds.
struct WidgetSent {
    var scene: WidgetScene
    /// Of a tile: where it stands.
    var tile: TileSight?
    /// When another row is due, because the entries in it are used up; `nil` = they are all there are.
    var usedUpAt: Timestamp?
    /// When the watch looks at it; never later than ``usedUpAt``.
    var watchedAt: Timestamp?
}
