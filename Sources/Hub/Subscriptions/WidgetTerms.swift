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
    /// Of whoever looks at everything without an account: suggestions are shown of boards that are everybody's alone.
    var hidesOwnedSuggestions = false
    /// How many later entries a row has.
    var ahead: UInt8 = 4

    init() {}

    /// - Parameters:
    ///   - pattern: Of the keys; `nil` = a request names one.
    ///   - account: For which they are shown.
    /// - Throws: `bad_attr` for a family or a mode that there is not.
    init(
        _ look: WidgetLook, placement: String?, of pattern: Pattern? = nil, account: String? = nil
    ) throws(WireError) {
        hidesOwnedSuggestions = pattern == .all && account == nil
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

/// The row of a widget that a subscriber holds. A subscriber of everything has one for each widget.
struct WidgetSent {
    /// How it is drawn; widgets that are drawn alike have one object. `nil`: none is held. It is a suggestion, which may be
    /// shown later.
    var scene: WidgetForm.SceneBox?
    /// Of a tile: where it stands.
    var tile: SentTile
    /// When another row is due, because the entries in it are used up; `nil` = they are all there are.
    var usedUpAt: Timestamp?
    /// When the watch looks at it; never later than ``usedUpAt``.
    var watchedAt: Timestamp?
    /// A hash of its rev and its bytes, where another row is due; 0 elsewhere. Of 32 bits, which cost the row no room.
    var digest: UInt32 = 0
}

/// The place of a tile in the row that a subscriber holds.
enum SentTile {
    /// Of a widget that is no tile.
    case none
    /// Of a tile that stays where it is, until something changes: the hash of its sight.
    case resting(Int)
    /// Of one that moves by itself.
    case moving(MovingTile)

    /// Objects, because few tiles move.
    final class MovingTile: Sendable {
        let sight: TileSight

        init(_ sight: TileSight) { self.sight = sight }
    }

    init(_ sight: TileSight?) {
        guard let sight else {
            self = .none
            return
        }
        let rests = sight.turns.isEmpty && sight.orders.isEmpty && sight.suggestedTimes == nil
        self = rests ? .resting(sight.hashValue) : .moving(MovingTile(sight))
    }

    /// Whether a tile that was told so stands there now.
    ///
    /// - Parameters:
    ///   - sight: Where it stands now.
    ///   - time: The kinds' clock: turns that the subscriber was told have come by then.
    ///   - key: Of the tile.
    func isAt(_ sight: TileSight?, at time: Timestamp, _ key: Key?) -> Bool {
        switch self {
        case .none: sight == nil
        case .resting(let hash): sight?.hashValue == hash
        case .moving(let tile): (key.map { tile.sight.turned(to: time, $0) } ?? tile.sight) == sight
        }
    }
}
