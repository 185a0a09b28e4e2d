internal import FanOut
internal import Machines
internal import Surfaces
internal import TelltaleModel
internal import TelltaleWire

/// Encodes rows. One encoding of a key's state in a form serves every subscriber with that form.
///
/// Invariants:
/// - A cached row shows the newest state of its key: a change invalidates the rows of the key, and those of activities whose
///   views contain the changed control.
/// - It changes no replayable state.
struct RowRenderer: ~Copyable {
    private let addressOnly = AddressOnly()
    let settings: SurfaceSettings
    private var rows = RowCache()
    private var references = ControlReferences()
    private var lineups = Lineups()
    /// For rows of widgets without room for all their entries: how many entries they contain.
    private var cutRows: [Int32: [(form: Int32, count: Int)]] = [:]
    let widgetForms = WidgetForms()
    /// Of controls that are not always offered: whether their newest rows say that they are (E6).
    private var offered: [EntityIndex: Bool] = [:]
    /// The kinds' clock at the start of the turn: a widget's row begins with the entry that is shown then.
    private(set) var time = Timestamp.distantPast
    /// A reusable buffer for rows; `nil` while a row is written.
    private var spareRow: JSONWriter?
    /// A reusable buffer for lines; `nil` while lines are written.
    private var spareLines: LineWriter?

    init(settings: SurfaceSettings) {
        self.settings = settings
    }

    // MARK: What changed

    /// Invalidates a changed key: its rows are encoded again, and record their controls again.
    mutating func invalidate(_ entity: EntityIndex) {
        rows.forget(entity)
        if !cutRows.isEmpty { cutRows[entity.rawValue] = nil }
        references.forget(entity)
        if !offered.isEmpty { offered[entity] = nil }
    }

    mutating func setTime(_ time: Timestamp) {
        self.time = time
        if widgetForms.count > Self.widgetFormLimit {
            widgetForms.removeAll()
            cutRows = [:]
            rows.removeBodies()
        }
    }

    /// A larger cache is not worthwhile: the next turn encodes what it needs.
    private static let widgetFormLimit = 4_096

    /// The form of a widget's row; `nil` for any other row.
    func widgetForm(_ form: RowForm?) -> WidgetForm? {
        if case .widget(let number)? = form { widgetForms[number] } else { nil }
    }

    /// The number of moments in the row of a widget.
    func sentCount(of entity: EntityIndex, _ number: Int32) -> Int {
        let count = widgetForms[number].moments.count
        guard !cutRows.isEmpty else { return count }
        return cutRows[entity.rawValue]?.first { $0.form == number }?.count ?? count
    }

    /// Invalidates its rows although the key did not change.
    mutating func invalidateRows(of entity: EntityIndex) { rows.forget(entity) }

    /// Periodically drops cached rows; otherwise rows that were requested once would stay forever.
    mutating func refresh(after interval: Milliseconds, at now: MonotonicTime) {
        rows.refresh(after: interval, at: now)
    }

    var rowCount: Int { rows.count }

    // MARK: Controls in rows of activities

    var hasControlReferences: Bool { !references.isEmpty }
    func shows(controlsIn activity: EntityIndex) -> Bool { references.shows(controlsIn: activity) }
    func controls(in activity: EntityIndex) -> [Key] { references.controls(in: activity) }
    func activities(with control: Key) -> [EntityIndex] { references.activities(with: control) }

    mutating func noteControls(in activity: EntityIndex, _ store: borrowing EntityStore) {
        references.note(store.controlKeys(in: activity).compactMap { Key($0) }, in: activity)
    }

    /// Invalidates the rows of a control if they do not say whether it is offered now.
    ///
    /// - Returns: Whether its followers need another row.
    mutating func updateOffer(of control: EntityIndex, _ store: borrowing EntityStore) -> Bool {
        guard let isOffered = store.isOffered(control), offered.updateValue(isOffered, forKey: control) != isOffered
        else { return false }
        rows.forget(control)
        return true
    }

    // MARK: Bodies

    /// The encoded row of an entity in a form; encoded once until the entity changes.
    mutating func body(of entity: EntityIndex, _ form: RowForm, _ store: borrowing EntityStore) -> [UInt8]? {
        // A row without controls does not depend on the viewer.
        let shared = references.shows(controlsIn: entity) ? form : form.withoutViewer
        if let body = rows.body(of: entity, shared) { return body }
        var contents = RowContents()
        guard let body = encode(entity, form, store, &contents) else { return nil }
        if case .widget(let number) = form, let count = contents.momentCount, count < widgetForms[number].moments.count
        {
            cutRows[entity.rawValue, default: []].append((number, count))
        }
        if let isOffered = contents.isOffered { offered[entity] = isOffered }
        // A row with controls changes when they do.
        references.note(contents.controls, in: entity)
        rows.keep(body, of: entity, contents.controls.isEmpty ? form.withoutViewer : form)
        return body
    }

    private mutating func encode(
        _ entity: EntityIndex, _ form: RowForm, _ store: borrowing EntityStore, _ contents: inout RowContents
    ) -> [UInt8]? {
        var writer = spareRow.take() ?? JSONWriter()
        let isWritten = Self.write(entity, form, widgetForms, store, &contents, to: &writer)
        let body = writer.take()
        spareRow = consume writer
        return isWritten ? body : nil
    }

    // MARK: Competition

    /// How many placements of a lineup are cached.
    var placedCount: Int { lineups.placedCount }

    /// The activities that compete in a view of an account.
    ///
    /// - Parameter revision: Identifies the set of views that changes are published to.
    mutating func lineup(
        for terms: SubscriptionTerms, kind: Int32?, revision: Int, _ store: borrowing EntityStore
    ) -> Lineups.Found {
        lineups.expect(version: store.competitionVersion, revision: revision)
        return lineups.lineup(for: terms, kind: kind, store)
    }

    mutating func placements(
        of found: Lineups.Found, in scene: Lineups.Scene, limit: Int, _ project: ([EntityIndex]) -> [Placement]
    ) -> Lineups.Placed {
        lineups.placements(of: found, in: scene, limit: limit, project)
    }

    // MARK: Memory for lines

    mutating func takeWriter() -> LineWriter { spareLines.take() ?? LineWriter() }
    mutating func giveBack(_ writer: consuming LineWriter) { spareLines = consume writer }

    // MARK: Rows that several subscriptions are sent

    /// Rows of ``RowCache/Run`` and of ``SessionOutput/sharedRange``.
    var sharedRows: [UInt8] { rows.shared }

    @inline(__always)
    func row(of update: PendingUpdate, at commit: Int64) -> RowCache.ChangeRow? { rows.row(of: update, at: commit) }

    mutating func keep(_ bytes: [UInt8], _ placement: Placement?, for update: PendingUpdate, at commit: Int64) {
        rows.keep(bytes, placement, for: update, at: commit)
    }

    func write(_ run: RowCache.Run, to writer: inout LineWriter) { rows.write(run, to: &writer) }

    mutating func write(for subscription: Subscription, at commit: Int64) -> SharedWrite? {
        rows.write(for: subscription, at: commit)
    }

    mutating func keep(_ write: SharedWrite) { rows.keep(write) }
}
