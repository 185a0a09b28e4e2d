/// A device that shows boards, as far as it decides what they show.
struct BoardDevice {
    /// It is on the way: `TRAIT place=commute`.
    var isOnWay = false
    /// Without an account, `SUB *` shows suggestions of boards that are everybody's alone.
    var seesSuggestions = true
}

// The suggestions of stacks, by the words of Protocols/Widgets/boards.md.
extension BoardHistory {
    func isAboutSuggestion(_ deed: TileDeed) -> Bool { SuggestionNames.isID(deed.id) }

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
    func suggestedRelevance(of widget: String, isOnWay: Bool, _ widgets: WidgetHistory) -> ReferenceRelevance? {
        guard var relevance = widgets.current[widget]?.relevance else { return nil }
        if isOnWay, widget == SimulatedWidgets.trip { relevance.situation = relevance.entries.first?.date }
        return relevance
    }

    /// Of each stack that suggests: the widgets that it may suggest to a device.
    func candidates(in look: BoardLook, on device: BoardDevice) -> [String: [BoardLook.Candidate]] {
        var candidates: [String: [BoardLook.Candidate]] = [:]
        for (id, stack) in look.board.stacks where look.suggests(id) {
            let tile = ReferenceBoard.Tile(widget: "", family: stack.family, placement: stack.placement)
            guard BoardLook.shows(tile, isStacked: true, look.view) else { continue }
            let widgets = suggestedWidgets.filter { maySuggest($0, in: id, look.board, look.name) }
            candidates[id] = widgets.compactMap { widget in
                guard var relevance = standings[widget]?.last?.relevance else { return nil }
                if !device.isOnWay { relevance.situation = nil }
                return BoardLook.Candidate(widget: widget, relevance: relevance)
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
        of deed: TileDeed, on board: ReferenceBoard, kinds: Set<String>, matters: (String) -> Bool
    ) -> Set<String> {
        // Ids of this form are the server's.
        if isAboutSuggestion(deed), deed.action == .add {
            return board.refusals(of: deed, kinds: kinds).union(["bad_key"])
        }
        guard isAboutSuggestion(deed), !board.isThere(deed.id) else { return board.refusals(of: deed, kinds: kinds) }
        var codes: Set<String> = []
        if let account = board.account, account != deed.account { codes.insert("unknown_key") }
        guard let origin = deed.origin, maySuggest(origin.widget, in: origin.stack, board, deed.board),
            matters(origin.widget)
        else { return codes.union([deed.action == .stack ? "bad_key" : "unknown_key"]) }
        guard deed.action == .keep else { return codes.union(["not_offered"]) }
        let isFull = board.stacks[origin.stack]?.members.count ?? 0 >= SimulatedBoards.stackLimit
        if isFull || board.count >= SimulatedBoards.limit { codes.insert("limit_tiles") }
        return codes
    }

    /// Whether a widget mattered, or did not, at any moment since a commit.
    func mayHaveMattered(_ widget: String, _ wanted: Bool, since sequence: Int64, in moments: ClosedRange<Int64>)
        -> Bool
    {
        let all = standings[widget] ?? []
        let first = all.lastIndex { $0.sequence <= sequence }
        // Before its first content it did not.
        if first == nil, !wanted { return true }
        return all[(first ?? 0)...].contains { standing in
            let relevance = standing.relevance
            let times = [moments.lowerBound, moments.upperBound] + relevance.moments.filter(moments.contains)
            return times.contains { (relevance.standing(at: $0) != nil) == wanted }
        }
    }
}
