import Recordings
import TelltaleModel

/// The widget of the demo: how many parcels wait, and how many are on their way (Protocols/Kinds/widgets/dispatch.json).
struct DemoWidget {
    static let kind = "dispatch"

    /// By the data, when every event is posted.
    private let waitingCount: Int
    private let underwayCount: Int

    init(_ cases: [ReplayPlan.Case]) {
        let parcels = cases.filter { $0.key.kind == "parcel" }
        waitingCount = parcels.count { ["announced", "ordered", "approved"].contains($0.expectedState) }
        underwayCount = parcels.count { $0.expectedState == "handed_to_carrier" }
    }

    /// The texts that a screen draws in the end.
    private var texts: [String] { ["\(waitingCount) to pack", "\(underwayCount) on their way"] }

    /// Whether all screens with the widget draw what the data says: none of them, where the daemon does not know its kind.
    func agrees(on screens: [DemoScreen]) -> Bool {
        let screens = screens.filter(\.showsWidget)
        return screens.allSatisfy { $0.widget == nil } || screens.allSatisfy { agrees(with: $0.widget) }
    }

    /// For people.
    func summary(on screens: [DemoScreen]) -> String {
        let screens = screens.filter(\.showsWidget)
        if screens.allSatisfy({ $0.widget == nil }) { return "not shown: the daemon has no kind \(Self.kind)" }
        let shown = screens.map { "\($0.name) \(Self.text(of: $0.widget))" }.joined(separator: "; ")
        return agrees(on: screens) ? shown : "\(shown); the data says \(texts.joined(separator: ", "))"
    }

    /// Whether a row draws them, now and from now on.
    private func agrees(with row: JSONObject?) -> Bool {
        let views = (row?["entries"]?.array ?? []).compactMap { $0["view"]?.object }
        return !views.isEmpty
            && views.allSatisfy { view in
                let drawn = view.compactMap(\.value.string)
                return texts.allSatisfy(drawn.contains)
            }
    }

    private static func text(of row: JSONObject?) -> String {
        let view = row?["entries"]?.array?.last?["view"]?.object ?? JSONObject()
        let texts = ["title", "subtitle", "text"].compactMap { view[$0]?.string }
        return texts.isEmpty ? "nothing" : texts.joined(separator: ", ")
    }
}
