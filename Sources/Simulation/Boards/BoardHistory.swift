import Hub
import Journal
import TelltaleModel

/// The boards of a run, by the records that became durable.
final class BoardHistory {
    /// A board after a commit.
    private struct Version {
        var sequence: Int64
        var board: ReferenceBoard
    }

    /// Every request that was ever sent, by its event id.
    private var actions: [String: TileAction] = [:]
    /// The verdicts and the revs of the requests that were taken.
    private(set) var effects: [String: Effect] = [:]
    private var versions: [String: [Version]] = [:]
    /// Of each widget, the newest commit that changed it.
    private var widgetRevs: [String: Int64] = [:]
    /// The kinds of widgets in force.
    private(set) var kinds: Set<String> = []
    /// The newest commit that changed kinds, or forgot a widget: rows of tiles may take its rev.
    private var upheaval: Int64 = 0
    /// The newest commit.
    private(set) var sequence: Int64 = 0
    /// The newest time of a record, in milliseconds. A daemon draws nothing as of a moment before it.
    private(set) var time: Int64 = 0
    private var kindsChangedAt: Int64 = 0
    let suggestions = SuggestionNames()
    /// The widgets that the kinds in force suggest, in the order of their keys.
    private var suggestedWidgets: [String] = []
    /// Kept tiles that were removed, and are not forgotten yet.
    private(set) var removedKept: Set<String> = []
    /// The keys of all stacks that there were.
    private var formerStacks: Set<String> = []
    /// Tiles that were forgotten: a suggestion of such a key knows nothing of the tile's rev.
    private(set) var forgotten: Set<String> = []
    /// How much each of those widgets mattered, by the commit that changed it.
    private var relevanceSpans: [String: [RelevanceSpan]] = [:]

    private struct RelevanceSpan {
        var sequence: Int64
        var relevance: ReferenceRelevance
    }

    func willSend(_ action: TileAction) { actions[action.eid] = action }

    func board(_ name: String) -> ReferenceBoard { versions[name]?.last?.board ?? ReferenceBoard() }
    var names: [String] { versions.keys.sorted() }
    func isThere(_ kind: Substring) -> Bool { kinds.contains(String(kind)) }

    // MARK: Records

    /// Takes the clock of a record, and what a record of kinds says.
    func begin(_ record: JournalRecord) {
        (sequence, time) = (record.sequence, max(time, record.time.milliseconds))
        guard record.entity.isEmpty, let readable = ReadableRecord(record), readable.type == "kinds" else { return }
        (upheaval, kindsChangedAt) = (record.sequence, record.sequence)
        let names = readable.tail["kinds"]?.array?.compactMap(\.string) ?? []
        kinds = Set(names.map { String($0.prefix { $0 != " " }) })
        suggestedWidgets = names.flatMap(SimulatedWidgets.suggested).sorted()
    }

    /// - Parameter tail: What the record reports.
    /// - Returns: The fault of the record, if it has one.
    func recordRow(
        _ record: HistoryRecord, of key: String, tail: JSONObject, widgets: WidgetHistory
    ) -> (promise: String, what: String)? {
        guard SimulatedBoards.isTile(key) else {
            if record.type == "pruned" { upheaval = record.sequence }
            if record.rev == record.sequence { widgetRevs[key] = record.rev }
            note(key, widgets)
            return nil
        }
        // A tile that is forgotten had been removed before.
        if record.type == "pruned" {
            removedKept.remove(key)
            forgotten.insert(key)
            return nil
        }
        guard record.type == "placed", let eid = tail["eid"]?.string, let action = actions[eid], action.key == key
        else {
            return ("P1", "\(key) has a record that nobody caused: \(record.type)")
        }
        if effects[eid] != nil { return ("P6", "\(action.line) is recorded twice") }
        effects[eid] = Effect(verdict: record.verdict, rev: record.rev)
        // A tile that was kept before stays as it is.
        let isKept = action.action == .keep && record.verdict == "noop"
        if let fault = isKept ? nil : Self.fault(of: tail, by: action) { return ("boards", "\(action.line) \(fault)") }
        let (name, id) = (action.board, action.id)
        var board = board(name)
        let refusals = refusals(of: action, on: board, kinds: kinds) { [relevanceSpans] widget in
            relevanceSpans[widget]?.last?.relevance.currentScore(at: record.heard) != nil
        }
        if let code = refusals.sorted().first {
            return ("boards", "\(action.line) is taken, and is to be refused: \(code)")
        }
        let kept = board.tiles.keys.filter(SuggestionNames.isID)
        formerStacks.formUnion(board.stacks.keys.map { "\(name)/\($0)" })
        let changed = board.apply(action, at: record.heard, sequence: record.sequence)
        for id in kept where !board.isThere(id) { removedKept.insert("\(name)/\(id)") }
        versions[name, default: []].append(Version(sequence: record.sequence, board: board))
        let verdict = changed.isEmpty ? "noop" : "applied"
        if record.verdict != verdict { return ("boards", "\(action.line) is \(record.verdict), and not \(verdict)") }
        if record.state != board.state(of: id) {
            return ("boards", "\(key) is \(record.state) after \(action.line), and not \(board.state(of: id))")
        }
        return nil
    }

    /// A record reports the words of its request.
    private static func fault(of tail: JSONObject, by action: TileAction) -> String? {
        func differs(_ name: String, _ wanted: String?) -> Bool { tail[name]?.string != wanted }
        if differs("do", action.action.rawValue) { return "is recorded as \(tail["do"]?.string ?? "nothing")" }
        switch action.action {
        case .add, .configure:
            let isNone = action.stack == "none" || action.stack == nil
            // A widget without parameters stays what it is.
            let isNamed = action.action == .add || action.parameter != nil
            if isNamed, differs("widget", action.widget) { return "is recorded with another widget" }
            if differs("stack", isNone ? nil : action.stack) { return "is recorded with another stack" }
        case .move: if differs("stack", action.stack) { return "is recorded with another stack" }
        case .stack:
            if tail["smart"]?.bool != action.isSmart { return "is recorded with another smart=" }
            return tail["suggest"]?.bool == action.suggests ? nil : "is recorded with another suggest="
        case .keep:
            if let widget = tail["widget"]?.string, widget != action.origin?.widget {
                return "is recorded with another widget"
            }
        case .pin, .unpin, .show, .remove: break
        }
        return tail["pos"]?.integer == action.position.map { Int64($0) } ? nil : "is recorded with another pos="
    }

    /// Whether a key was that of a stack, and is or was that of a tile later: a device that was away is not notified that what
    /// the stack suggested is gone.
    func isReused(_ stack: String, on name: String) -> Bool {
        formerStacks.contains("\(name)/\(stack)") && (versions[name] ?? []).contains { $0.board.tiles[stack] != nil }
    }

    // MARK: Answers

    /// The fault of an `OK`, if it has one.
    func fault(ofAnswer action: TileAction, verdict: String, rev: Int64) -> (promise: String, what: String)? {
        guard let effect = effects[action.eid] else {
            return ("P1", "\(action.line) is acknowledged, and is not on the disk")
        }
        if effect.rev != rev { return ("P6", "\(action.line) is acknowledged with rev \(rev), and was \(effect.rev)") }
        guard verdict != "duplicate", verdict != effect.verdict else { return nil }
        return ("P1", "\(action.line) is acknowledged as \(verdict), and was written as \(effect.verdict)")
    }

    /// The fault of a refusal, if it has one: it is to be right by some state of the board since the request was sent.
    ///
    /// - Parameters:
    ///   - moments: From when it was sent to when it was refused, in milliseconds.
    ///   - isRepeated: It was sent again behind that: then the other one may have been taken.
    func fault(
        ofRefusal action: TileAction, code: String, sentAt: Int64, moments: ClosedRange<Int64>, isRepeated: Bool
    ) -> (promise: String, what: String)? {
        if effects[action.eid] != nil, !isRepeated {
            return ("P6", "\(action.line) was taken, and is refused later: \(code)")
        }
        // A row that kinds gave a rev may be seen as newer than the tile.
        if code == "stale_rev", let seen = action.seen, seen < upheaval { return nil }
        if code == "unknown_kind", kindsChangedAt > sentAt || kindsChangedAt == 0 { return nil }
        let all = versions[action.board] ?? []
        let first = (all.lastIndex { $0.sequence <= sentAt }).map { all[$0].board } ?? ReferenceBoard()
        let candidates = [first] + all.filter { $0.sequence > sentAt }.map(\.board)
        if isAboutSuggestion(action), kindsChangedAt > sentAt { return nil }
        // The kinds may have been others when it was decided, and the widgets too.
        let isRight = [kinds, kinds.union(["hours", "trip"])].contains { kinds in
            candidates.contains { board in
                [true, false].contains { wanted in
                    refusals(of: action, on: board, kinds: kinds) { widget in
                        mayHaveMattered(widget, wanted, since: sentAt, in: moments) ? wanted : !wanted
                    }.contains(code)
                }
            }
        }
        return isRight ? nil : ("boards", "\(action.line) is refused, and may be taken: \(code)")
    }

    // MARK: Rows

    /// The view state of a board in a view from now on.
    func boardView(_ name: String, view: String, device: BoardDevice, widgets: WidgetHistory) -> ReferenceBoardView {
        let board = board(name)
        let relevance = board.tiles.compactMapValues { tile in
            self.relevance(ofPlaced: tile.widget, on: device, widgets)
        }
        var boardView = ReferenceBoardView(name, board, view: view, relevance: relevance, names: suggestions)
        if device.seesSuggestions, view != "watch" { boardView.candidates = candidates(in: boardView, on: device) }
        return boardView
    }

    /// The fault of the rev of a tile's row, if it has one: it is the newer one of the tile's and its widget's.
    ///
    /// - Parameter suggested: The widget, where the id is that of a stack that suggests it: then the stack's counts.
    func fault(ofRev rev: Int64, tile id: String, on name: String, suggested: String? = nil) -> String? {
        let board = board(name)
        guard let own = board.revs[id], let widget = suggested ?? board.tiles[id]?.widget else {
            return "has a row, and is not there"
        }
        let due = max(own, widgetRevs[widget] ?? 0)
        // A widget that counts orders, or shows one, has no records of its own.
        let isCounted = widget == SimulatedWidgets.queue || SimulatedWidgets.order(ofStatus: widget) != nil
        let isExact = !isCounted && due > upheaval
        if rev == due || !isExact && rev > due && rev <= sequence { return nil }
        if isCounted, rev >= own { return nil }
        return "has rev \(rev), and that of its tile is \(own), of its widget \(widgetRevs[widget] ?? 0)"
    }

    /// Whether a tile is to be drawn as one whose widget is not there.
    func isUnavailable(_ widget: String, widgets: WidgetHistory) -> Bool {
        if !isThere(widget.prefix { $0 != "/" }) { return true }
        guard SimulatedWidgets.isPosted(widget), let reference = widgets.current[widget] else { return false }
        return reference.hasEnded
    }

    /// Notes how much a widget matters that stacks may suggest.
    private func note(_ widget: String, _ widgets: WidgetHistory) {
        guard SimulatedWidgets.isPosted(widget), let relevance = suggestedRelevance(of: widget, isOnWay: true, widgets)
        else { return }
        var known = relevanceSpans[widget] ?? []
        if known.count > 40 { known.removeFirst(20) }
        known.append(RelevanceSpan(sequence: sequence, relevance: relevance))
        relevanceSpans[widget] = known
    }

    /// Whether a person may see a board; `nil` = a device that sees every account's.
    func isVisible(_ name: String, to account: String?) -> Bool {
        guard let owner = board(name).account, let account else { return true }
        return owner == account
    }

    // MARK: Suggestions of stacks

    private func isAboutSuggestion(_ action: TileAction) -> Bool { SuggestionNames.isID(action.id) }

    /// How much a placed widget matters on a device.
    func relevance(
        ofPlaced widget: String, on device: BoardDevice, _ widgets: WidgetHistory
    ) -> ReferenceRelevance? {
        guard var relevance = widgets.current[widget]?.relevance, !isUnavailable(widget, widgets: widgets) else {
            return nil
        }
        if device.isOnWay, widget == SimulatedWidgets.trip { relevance.situation = .min }
        return relevance
    }

    /// How much a widget matters that nobody placed; `nil` = never. One that shows nothing yet does not matter.
    private func suggestedRelevance(of widget: String, isOnWay: Bool, _ widgets: WidgetHistory) -> ReferenceRelevance? {
        guard var relevance = widgets.current[widget]?.relevance else { return nil }
        if isOnWay, widget == SimulatedWidgets.trip { relevance.situation = relevance.entries.first?.date }
        return relevance
    }

    /// Of each stack that suggests: the widgets that it may suggest to a device.
    func candidates(in boardView: ReferenceBoardView, on device: BoardDevice) -> [String: [ReferenceBoardView
        .Candidate]]
    {
        var candidates: [String: [ReferenceBoardView.Candidate]] = [:]
        for (id, stack) in boardView.board.stacks where boardView.suggests(id) {
            let tile = ReferenceBoard.Tile(widget: "", family: stack.family, placement: stack.placement)
            guard ReferenceBoardView.shows(tile, isStacked: true, boardView.view) else { continue }
            let widgets = suggestedWidgets.filter { maySuggest($0, in: id, boardView.board, boardView.name) }
            candidates[id] = widgets.compactMap { widget in
                guard var relevance = relevanceSpans[widget]?.last?.relevance else { return nil }
                if !device.isOnWay { relevance.situation = nil }
                return ReferenceBoardView.Candidate(widget: widget, relevance: relevance)
            }
        }
        return candidates
    }

    /// Whether a stack may suggest a widget as soon as that matters, where it has room.
    private func maySuggest(_ widget: String, in stack: String, _ board: ReferenceBoard, _ name: String) -> Bool {
        guard board.stacks[stack]?.suggests == true, suggestedWidgets.contains(widget),
            !board.tiles.values.contains(where: { $0.widget == widget })
        else { return false }
        // A tile that was kept keeps its id, whatever it shows.
        guard let id = suggestions.id(of: widget, in: stack) else { return true }
        return !board.isThere(id) && !removedKept.contains("\(name)/\(id)")
    }

    /// The codes with which a request may be refused; empty = it is to be taken.
    ///
    /// - Parameter matters: Whether a widget matters, on some device.
    func refusals(
        of action: TileAction, on board: ReferenceBoard, kinds: Set<String>, matters: (String) -> Bool
    ) -> Set<String> {
        // Ids of this form are the server's.
        if isAboutSuggestion(action), action.action == .add {
            return board.refusals(of: action, kinds: kinds).union(["bad_key"])
        }
        guard isAboutSuggestion(action), !board.isThere(action.id) else {
            return board.refusals(of: action, kinds: kinds)
        }
        var codes: Set<String> = []
        if let account = board.account, account != action.account { codes.insert("unknown_key") }
        guard let origin = action.origin, maySuggest(origin.widget, in: origin.stack, board, action.board),
            matters(origin.widget)
        else { return codes.union([action.action == .stack ? "bad_key" : "unknown_key"]) }
        guard action.action == .keep else { return codes.union(["not_offered"]) }
        let isFull = board.stacks[origin.stack]?.members.count ?? 0 >= SimulatedBoards.stackLimit
        if isFull || board.count >= SimulatedBoards.limit { codes.insert("limit_tiles") }
        return codes
    }

    /// Whether a widget mattered, or did not, at any moment since a commit.
    private func mayHaveMattered(
        _ widget: String, _ wanted: Bool, since sequence: Int64, in moments: ClosedRange<Int64>
    )
        -> Bool
    {
        let all = relevanceSpans[widget] ?? []
        let first = all.lastIndex { $0.sequence <= sequence }
        // Before its first content it did not.
        if first == nil, !wanted { return true }
        return all[(first ?? 0)...].contains { score in
            let relevance = score.relevance
            let times = [moments.lowerBound, moments.upperBound] + relevance.moments.filter(moments.contains)
            return times.contains { (relevance.currentScore(at: $0) != nil) == wanted }
        }
    }
}

/// A device that shows boards, as far as it decides what they show.
struct BoardDevice {
    /// It is on the way: `TRAIT place=commute`.
    var isOnWay = false
    /// Without an account, `SUB *` shows suggestions of boards that are everybody's alone.
    var seesSuggestions = true
}
