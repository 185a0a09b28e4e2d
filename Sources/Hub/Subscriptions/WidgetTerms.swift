internal import Kinds
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

/// How a subscription or a single request shows widgets.
struct WidgetTerms: Hashable, Sendable {
    /// `nil` for the default place of the surface.
    var place: WidgetPlace?
    /// It is for a place that shows controls and no widgets.
    var isElsewhere = false
    var family: WidgetFamily?
    var mode: WidgetMode?
    /// A reader of everything without an account sees the suggestions of everybody's boards only.
    var hidesOwnedSuggestions = false
    /// How many later entries a row has.
    var ahead: UInt8 = 4

    init() {}

    /// - Parameters:
    ///   - pattern: The keys' pattern; `nil` = a request that names one key.
    ///   - account: The account for which they are shown.
    /// - Throws: `bad_attr` for an unknown family or mode.
    init(
        _ look: WidgetStyle, placement: String?, of pattern: Pattern? = nil, account: String? = nil
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

    /// Adds what differs from the default to a selection, so that the selection of a subscription without widget terms does not
    /// change.
    func combine(into hash: inout StableHash) {
        if let family { hash.combine(family.rawValue) }
        if let mode { hash.combine(mode.rawValue) }
        if ahead != WidgetTerms().ahead { hash.combine(UInt64(ahead)) }
    }
}

/// The row of a widget that a subscriber holds. A subscriber of everything has one for each widget.
struct WidgetSent {
    /// How it is drawn; equal scenes share one object. `nil`: no row is held, for a suggestion that may be shown later.
    var scene: WidgetForm.SceneBox?
    /// For a tile: its position.
    var tile: SentTile
    /// When the next row is due, because its entries are used up; `nil` = it has all entries.
    var usedUpAt: Timestamp?
    /// When the watch examines it; never later than ``usedUpAt``.
    var watchedAt: Timestamp?
    /// A hash of its rev and its bytes if another row is due; 0 otherwise. 32 bits fit without enlarging the value.
    var digest: UInt32 = 0
}

/// The position of a tile in the row that a subscriber holds.
enum SentTile {
    /// The widget is not a tile.
    case none
    /// A tile that stays in place until something changes: the hash of its view state.
    case resting(Int)
    /// A tile that moves with time.
    case moving(MovingTile)

    /// A class, because few tiles move.
    final class MovingTile: Sendable {
        let viewState: TileViewState

        init(_ viewState: TileViewState) { self.viewState = viewState }
    }

    init(_ viewState: TileViewState?) {
        guard let viewState else {
            self = .none
            return
        }
        let rests = viewState.turns.isEmpty && viewState.orders.isEmpty && viewState.suggestedTimes == nil
        self = rests ? .resting(viewState.hashValue) : .moving(MovingTile(viewState))
    }

    /// Whether a tile with this last row is at that position now.
    ///
    /// - Parameters:
    ///   - viewState: Its position now.
    ///   - time: The kinds' clock: turns that the subscriber knows have happened by then.
    ///   - key: The tile's key.
    func isAt(_ viewState: TileViewState?, at time: Timestamp, _ key: Key?) -> Bool {
        switch self {
        case .none: viewState == nil
        case .resting(let hash): viewState?.hashValue == hash
        case .moving(let tile): (key.map { tile.viewState.turned(to: time, $0) } ?? tile.viewState) == viewState
        }
    }
}
