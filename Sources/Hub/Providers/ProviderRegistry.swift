internal import Machines
internal import TelltaleModel

/// The connections that serve kinds of controls: the first one acts, the others wait in line.
///
/// In a cluster the leader's registry has the providers of all nodes. One whose node is not linked is *absent*: it keeps its place
/// until its node has either named it again, or named its providers without it, or had time enough to notice that it is cut off.
///
/// Invariants:
/// - A kind whose acting connection changed is unaligned until all of its controls have recorded the change.
/// - A connection is found by its number while it serves a kind and is not absent.
struct ProviderRegistry: ~Copyable {
    /// The connections in line for each kind, by its name.
    private var rosters: [String: ProviderRoster] = [:]
    private var sessions: [ConnectionNumber: SessionID] = [:]
    private var unaligned: [Scan] = []
    /// Since when a connection has been absent; `nil` = since the last ``expire(at:after:)``.
    private var absences: [ConnectionNumber: MonotonicTime?] = [:]
    /// What this server's clients are to be asked, until it is known to be current.
    private var calls: [(key: Key, ProviderCall)] = []

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

    /// Whether it is not known yet which connection acts for `kind` from now on.
    func isUndecided(_ kind: String) -> Bool { acting(for: kind).map { absences[$0] != nil } ?? false }

    func session(of connection: ConnectionNumber) -> SessionID? { sessions[connection] }

    /// Adds a connection to the line for `kind`.
    ///
    /// - Returns: Whether it acts for the kind now and did not before, so the kind's controls must be notified.
    mutating func serve(_ kind: String, _ session: SessionID) -> Bool {
        sessions[session.number] = session
        let wasAbsent = absences.removeValue(forKey: session.number) != nil
        let isNew = rosters[kind, default: ProviderRoster()].serve(session.number)
        guard isNew || wasAbsent && acting(for: kind) == session.number else { return false }
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

    // MARK: Absent providers

    /// A connection that acted for a kind under the leader before keeps doing so, if its node names it in time.
    mutating func keep(_ kind: String, _ connection: ConnectionNumber) {
        _ = rosters[kind, default: ProviderRoster()].serve(connection)
        if sessions[connection] == nil, absences[connection] == nil { absences[connection] = .some(nil) }
    }

    /// The node of a connection is not linked any more.
    mutating func lost(_ session: SessionID) {
        guard sessions[session.number] == session else { return }
        sessions[session.number] = nil
        absences[session.number] = .some(nil)
    }

    /// A node has named its providers: those of its process that are absent have left.
    mutating func named(allOf process: UInt32) {
        for connection in absences.keys.sorted() where SessionID.process(of: connection) == process { left(connection) }
    }

    /// Called each second. Those that have been absent for `span` have left.
    mutating func expire(at now: MonotonicTime, after span: Milliseconds) {
        for connection in absences.keys.sorted() {
            switch absences[connection] {
            case .some(.some(let start)): if now.milliseconds(since: start) > span { left(connection) }
            case _: absences[connection] = .some(now)
            }
        }
    }

    private mutating func left(_ connection: ConnectionNumber) {
        absences[connection] = nil
        for kind in rosters.keys.sorted() where rosters[kind]?.leave(connection) == true { unalign(kind) }
    }

    // MARK: What providers are asked

    mutating func append(_ call: (key: Key, ProviderCall)) { calls.append(call) }

    mutating func takeCalls() -> [(key: Key, ProviderCall)] {
        defer { calls = [] }
        return calls
    }

    // MARK: Controls that have yet to record a change

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
