internal import Machines

/// The connections that serve kinds of controls: the first one acts, the others wait in line.
///
/// Invariants:
/// - A kind whose acting connection changed is unaligned until all of its controls have recorded the change.
/// - A connection is found by its number while it serves a kind.
struct ProviderRegistry: ~Copyable {
    /// The connections in line for each kind, by its name.
    private var rosters: [String: ProviderRoster] = [:]
    private var sessions: [ConnectionNumber: SessionID] = [:]
    private var unaligned: [Scan] = []

    /// A kind whose keys are being notified which connection acts for them, and the progress.
    struct Scan: Sendable {
        let kind: String
        var keys = RepeatedScan()
    }

    /// The number of connections that serve a kind.
    var connectionCount: Int { sessions.count }
    var hasUnaligned: Bool { !unaligned.isEmpty }

    /// The connection that acts for `kind`.
    func acting(for kind: String) -> ConnectionNumber? { rosters[kind]?.acting }

    func session(of connection: ConnectionNumber) -> SessionID? { sessions[connection] }

    /// Adds a connection to the line for `kind`.
    ///
    /// - Returns: Whether it acts for the kind now and did not before, so the kind's controls must be notified.
    mutating func serve(_ kind: String, _ session: SessionID) -> Bool {
        sessions[session.number] = session
        guard rosters[kind, default: ProviderRoster()].serve(session.number) else { return false }
        unalign(kind)
        return true
    }

    /// Removes a connection from the line for `kind`; the next in line takes over with the next batch.
    mutating func leave(_ kind: String, _ session: SessionID) {
        sessions[session.number] = nil
        if rosters[kind]?.leave(session.number) == true { unalign(kind) }
    }

    /// Undoes ``serve(_:_:)``.
    ///
    /// - Parameter servesOthers: The connection still serves other kinds.
    mutating func takeBack(_ kind: String, _ session: SessionID, servesOthers: Bool) {
        if !servesOthers { sessions[session.number] = nil }
        _ = rosters[kind]?.leave(session.number)
    }

    /// Makes every kind unaligned: its controls may have recorded something that was undone, or may use another kind now.
    mutating func unalignAll() { for kind in rosters.keys.sorted() { unalign(kind) } }

    private mutating func unalign(_ kind: String) {
        if let place = unaligned.firstIndex(where: { $0.kind == kind }) {
            unaligned[place].keys.demand()
        } else {
            unaligned.append(Scan(kind: kind))
        }
    }

    /// Takes the scan that has waited longest. If it is not complete, return it with ``putBack(_:)``; it then continues after the
    /// others.
    mutating func takeUnaligned() -> Scan? { unaligned.isEmpty ? nil : unaligned.removeFirst() }

    mutating func putBack(_ scan: Scan) { unaligned.append(scan) }
}
