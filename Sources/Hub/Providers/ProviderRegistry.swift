internal import Machines

/// The connections that serve kinds of controls: the first that came acts, the others stand in line.
///
/// Invariants:
/// - A kind whose acting connection changed is unaligned until all of its controls were told so.
/// - A connection is found by its number as long as it serves a kind.
struct ProviderRegistry: ~Copyable {
    /// The connections in line for each kind, by its name.
    private var rosters: [String: ProviderRoster] = [:]
    private var sessions: [ConnectionNumber: SessionID] = [:]
    private var unaligned: [Walk] = []

    /// A kind whose keys are being told which connection acts for them, and how far that is.
    struct Walk: Sendable {
        let kind: String
        var keys = RepeatedWalk()
    }

    /// How many connections serve a kind.
    var connectionCount: Int { sessions.count }
    var hasUnaligned: Bool { !unaligned.isEmpty }

    /// The connection that acts for the controls of `kind`.
    func acting(for kind: String) -> ConnectionNumber? { rosters[kind]?.acting }

    func session(of connection: ConnectionNumber) -> SessionID? { sessions[connection] }

    /// A connection serves `kind` from now on.
    ///
    /// - Returns: Whether it acts for the kind's controls now, and did not before: they are to be told so.
    mutating func serve(_ kind: String, _ session: SessionID) -> Bool {
        sessions[session.number] = session
        guard rosters[kind, default: ProviderRoster()].serve(session.number) else { return false }
        unalign(kind)
        return true
    }

    /// The connection does not serve `kind` any more; the next in line takes over with the next batch.
    mutating func leave(_ kind: String, _ session: SessionID) {
        sessions[session.number] = nil
        if rosters[kind]?.leave(session.number) == true { unalign(kind) }
    }

    /// Takes ``serve(_:_:)`` back.
    ///
    /// - Parameter servesOthers: The connection still serves other kinds.
    mutating func takeBack(_ kind: String, _ session: SessionID, servesOthers: Bool) {
        if !servesOthers { sessions[session.number] = nil }
        _ = rosters[kind]?.leave(session.number)
    }

    /// Every control may have been told something that was taken back, or lives by another kind now.
    mutating func unalignAll() { for kind in rosters.keys.sorted() { unalign(kind) } }

    private mutating func unalign(_ kind: String) {
        if let place = unaligned.firstIndex(where: { $0.kind == kind }) {
            unaligned[place].keys.demand()
        } else {
            unaligned.append(Walk(kind: kind))
        }
    }

    /// Takes the walk that has waited longest. Where it is not over, ``putBack(_:)`` lets it go on behind the others.
    mutating func takeUnaligned() -> Walk? { unaligned.isEmpty ? nil : unaligned.removeFirst() }

    mutating func putBack(_ walk: Walk) { unaligned.append(walk) }
}
