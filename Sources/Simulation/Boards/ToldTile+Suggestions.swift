import TelltaleModel

// Rows of tiles that stacks suggest.
extension ToldTile {
    /// How many later entries a row has at most.
    private static let ahead = 4

    /// The fault of the row of a suggestion, if it has one: that it is one, where it stands, and when it is drawn.
    func fault(ofSuggested key: String, in look: BoardLook, at now: Int64, isTelling: Bool) -> String? {
        guard let stack, look.candidates[stack]?.contains(where: { $0.widget == widget }) == true else {
            return "is suggested, and \(stack ?? "nothing") suggests no \(widget)"
        }
        let tile = BoardLook.tile(suggesting: widget)
        if !look.isKey(key, of: tile, in: stack) {
            return "is \(widget) in \(stack), whose id is \(look.names.id(of: widget, in: stack) ?? "that of another")"
        }
        if isTelling, !look.hasRow(suggesting: widget, in: stack, at: now) {
            return "is told, and is not suggested in the time that is known"
        }
        if pinned != nil { return "is pinned, and nobody placed it" }
        let due = (look.board.stacks[stack]?.members.count ?? 0) + 1
        if position != due { return "is number \(Self.text(position)) of \(stack), and it is \(due)" }
        let end = isTelling ? min(look.horizon(of: stack, from: now) ?? .max, told) : now
        let moments = (look.moments + content.entries.map(\.date)).filter { now < $0 && $0 <= end }
        for time in [now] + moments.sorted() {
            let isDue = look.suggestion(of: stack, at: time)?.tile == tile
            if isDue == (content.entry(at: time).drawn == .nothing) {
                return "is \(isDue ? "not " : "")drawn at \(time), where \(widget) is \(isDue ? "" : "not ")suggested"
            }
        }
        return fault(ofTurns: key, tile, of: stack, in: look, at: now, isTelling: isTelling)
    }

    /// Until when its entries tell what is drawn, in milliseconds.
    private var told: Int64 {
        let isWhole = content.entries.count <= Self.ahead && content.body["more"] == nil
        return isWhole ? .max : content.entries[content.entries.count - 1].date
    }

    /// The fault of what a suggestion draws, if it has one: while it is suggested, what its widget shows.
    func fault(ofContent widget: ReferenceWidget, at now: Int64) -> String? {
        if content.entries.count > Self.ahead + 1 { return "has \(content.entries.count) entries" }
        for (entry, next) in zip(content.entries, content.entries.dropFirst()) where entry.date >= next.date {
            return "has an entry of \(next.date) behind one of \(entry.date)"
        }
        let moments = (widget.moments + content.entries.map(\.date)).filter { now < $0 && $0 <= told }
        for time in [now] + moments {
            let (drawn, due) = (content.entry(at: time).drawn, widget.drawn(at: time))
            if drawn != .nothing, drawn != due {
                return "draws \(drawn) at \(time), where \(self.widget) is \(due)"
            }
        }
        return nil
    }
}
