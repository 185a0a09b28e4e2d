// The tile that a stack suggests (W42).
extension BoardLook {
    struct Candidate: Hashable {
        var widget: String
        var relevance: ReferenceRelevance
    }

    /// The name of a suggested tile among those of its stack. No tile has such an id.
    static func tile(suggesting widget: String) -> String { "?" + widget }

    /// Whether a stack suggests anything, if it matters.
    func suggests(_ id: String) -> Bool {
        guard let stack = board.stacks[id] else { return false }
        return stack.suggests && stack.members.count < SimulatedBoards.stackLimit
    }

    /// The tile that a stack suggests at a moment: the most relevant, and of equal ones the first by its key.
    func suggestion(of stack: String, at time: Int64) -> (tile: String, weight: Double)? {
        var best: (tile: String, weight: Double)?
        for candidate in candidates[stack] ?? [] {
            guard let weight = candidate.relevance.standing(at: time)?.weight, weight > best?.weight ?? 0 else {
                continue
            }
            best = (Self.tile(suggesting: candidate.widget), weight)
        }
        return best
    }

    /// Whether a new subscriber at a moment is sent a row of a suggestion: it is shown then, or in the time that is told ahead.
    func hasRow(suggesting widget: String, in stack: String, at time: Int64) -> Bool {
        guard candidates[stack]?.contains(where: { $0.widget == widget }) == true, order(of: stack, at: time) > 0 else {
            return false
        }
        let (tile, end) = (Self.tile(suggesting: widget), horizon(of: stack, from: time) ?? .max)
        let times = ([time] + moments.filter { time < $0 && $0 <= end })
        guard times.contains(where: { suggestion(of: stack, at: $0)?.tile == tile }) else { return false }
        // StandBy shows tops alone.
        return view != "standby" || times.contains { top(of: stack, at: $0) == tile }
    }

    /// Whether a suggestion is drawn at a moment.
    func draws(suggesting widget: String, in stack: String, at time: Int64) -> Bool {
        order(of: stack, at: time) > 0 && top(of: stack, at: time) == Self.tile(suggesting: widget)
    }

    /// Whether a key is that of a tile of a stack, or of the suggestion that stands for it.
    func isKey(_ key: String, of tile: String, in stack: String) -> Bool {
        guard tile.hasPrefix("?") else { return key == "\(name)/\(tile)" }
        let parts = SimulatedBoards.parts(of: key)
        return parts.board == name && names.mayName(parts.id, String(tile.dropFirst()), in: stack)
    }
}
