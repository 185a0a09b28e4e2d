public import TelltaleModel
internal import TelltaleWire

/// The requests of a client: of a ``Telltale``, over its own connection, and of ``Changes``, over theirs.
///
/// Each is repeated after a lost connection, until its time limit; event ids make sure that events and taps take effect
/// once. Each throws a ``TelltaleError``. If its task is cancelled, it throws ``TelltaleError/closed`` and may have
/// taken effect.
public class TelltaleRequests: @unchecked Sendable {
    // `Sendable`, because its members are. A class that has subclasses cannot say so by itself.
    let session: LinkSession

    init(_ session: LinkSession) {
        self.session = session
    }

    /// The link that carries the requests.
    func openLink() throws(TelltaleError) -> LinkHandle { throw .closed }

    final func ask(_ command: Command, eid: String? = nil) async throws(TelltaleError) -> Link.Answer {
        let handle = try openLink()
        return try await handle.link.ask(command, eid: eid, timeout: session.timeout)
    }

    // MARK: Events

    /// Posts an event of one activity. When this returns, the event is on disk.
    ///
    /// - Parameters:
    ///   - key: `kind/id`.
    ///   - type: `start`, `update`, `end`, or an event of the kind.
    ///   - attributes: The values that never change, sent with the start.
    ///   - content: The values that change: the member `content-state` of the event.
    ///   - alert: `title`, `body` and `sound`.
    ///   - data: The whole tail of the event, in which the three above replace their members.
    ///   - accounts: The accounts whose devices may show it, sent with the start; empty = all.
    ///   - at: When it happened; `nil` = now.
    ///   - version: The sender's version of this key. An event older than the newest is `stale`.
    ///   - source: The sender; `nil` = the principal, else this client.
    ///   - eid: An event id of your own, which takes effect once, also across runs of the program.
    @discardableResult
    public final func post(
        _ key: String, _ type: String, attributes: JSONObject? = nil, content: JSONObject? = nil,
        alert: JSONObject? = nil,
        data: JSONObject = JSONObject(), accounts: [String] = [], at: Timestamp? = nil, version: Int64? = nil,
        source: String? = nil, eid: String? = nil
    ) async throws(TelltaleError) -> Posted {
        var tail = data
        if let attributes { tail["attributes"] = .object(attributes) }
        if let content { tail["content-state"] = .object(content) }
        if let alert { tail["alert"] = .object(alert) }
        let eid = try Words.optional("the eid", eid) ?? session.makeEventID()
        if let at { _ = try Words.number("the date", at.milliseconds) }
        if let version { _ = try Words.number("the version", version) }
        let event = EventCommand(
            key: try Words.key(key), type: try Words.eventType(type), source: try Words.optional("the source", source),
            eid: eid,
            happenedAt: at, version: version, accounts: try Words.list("the account", accounts),
            tail: try Words.tail(tail))
        return Posted(try await ask(.event(event), eid: eid).line, key: event.key, eid: eid)
    }

    // MARK: Taps

    /// Requests a value of a toggle: a target, never a flip. It returns when the request is on disk; the row shows the
    /// outcome.
    ///
    /// - Parameter ifRev: The ``RowUpdate/rev`` of the row that the person saw. If the control has changed since,
    ///   nothing is done, and the error is a ``Refusal`` with ``Refusal/isStaleTap``.
    @discardableResult
    public final func set(
        _ key: String, _ value: Bool, ifRev: Int64? = nil, eid: String? = nil
    ) async throws(TelltaleError) -> Tapped {
        let key = try Words.key(key)
        if let ifRev { _ = try Words.number("the rev", ifRev) }
        return try await tap(key, .set(value), ifRev: ifRev, eid: eid)
    }

    /// Presses a button.
    @discardableResult
    public final func press(_ key: String, eid: String? = nil) async throws(TelltaleError) -> Tapped {
        try await tap(try Words.key(key), .press, ifRev: nil, eid: eid)
    }

    private final func tap(_ key: Key, _ tap: Tap, ifRev: Int64?, eid: String?) async throws(TelltaleError) -> Tapped {
        let eid = try Words.optional("the eid", eid) ?? session.makeEventID()
        let command = TapCommand(key, tap, seenRev: ifRev, eid: eid)
        return Tapped(try await ask(.tap(command), eid: eid).line, key: key, eid: eid)
    }

    /// Swipes an activity away, on all devices of this account.
    @discardableResult
    public final func dismiss(_ key: String) async throws(TelltaleError) -> Decided {
        Decided(try await ask(.dismiss(try Words.key(key))).line)
    }

    /// Marks the alert of that `rev` as seen, so that it need not alert the account's other devices.
    @discardableResult
    public final func seen(_ key: String, rev: Int64) async throws(TelltaleError) -> Decided {
        Decided(try await ask(.seen(try Words.key(key), rev: try Words.number("the rev", rev))).line)
    }

    /// Reports the situation of this device, such as `["locked": "yes"]`, for the rows of this connection. It is sent
    /// again after a reconnect.
    public final func report(traits: [String: String]) async throws(TelltaleError) {
        var attributes: [Attribute] = []
        for (name, value) in traits.sorted(by: { $0.key < $1.key }) { attributes.append(try Words.trait(name, value)) }
        guard !attributes.isEmpty else { return }
        _ = try await ask(.traits(attributes))
    }

    // MARK: Looking once

    /// One key.
    ///
    /// - Parameters:
    ///   - placement: Where a widget is drawn, as `lockScreen`.
    ///   - widgets: How it is drawn.
    public final func get<Activity>(
        _ key: String, view: Projection<Activity>, placement: String? = nil, widgets: WidgetChoice = WidgetChoice()
    ) async throws(TelltaleError) -> RowUpdate<Activity> {
        let key = try Words.key(key)
        let style = try widgets.style(placement: try Words.optional("the placement", placement))
        let line = try await ask(.get(key, view: view.name, widgets: style)).line
        return RowUpdate(
            key: key, rev: line.integer("rev") ?? 0, body: line.tail ?? JSONObject(), isSnapshot: true, skipped: 0,
            why: nil)
    }

    /// Every key of a pattern. The whole answer is kept in memory.
    public final func list<Activity>(
        _ pattern: String = "*", view: Projection<Activity>
    ) async throws(TelltaleError) -> [RowUpdate<Activity>] {
        let answer = try await ask(.list(try Words.pattern(pattern), view: view.name))
        return answer.items.compactMap { line in
            guard let key = line["key"].flatMap({ Key($0) }), let rev = line.integer("rev") else { return nil }
            return RowUpdate(
                key: key, rev: rev, body: line.tail ?? JSONObject(), isSnapshot: true, skipped: 0, why: nil)
        }
    }

    /// One key, whole.
    public final func get(_ key: String) async throws(TelltaleError) -> RowUpdate<FullRow> {
        try await get(key, view: .full)
    }

    /// Every key of a pattern, whole.
    public final func list(_ pattern: String = "*") async throws(TelltaleError) -> [RowUpdate<FullRow>] {
        try await list(pattern, view: .full)
    }

    /// The events of one key, oldest first. The whole answer is kept in memory.
    public final func history(_ key: String) async throws(TelltaleError) -> [HistoryEntry] {
        try await ask(.history(try Words.key(key))).items.compactMap(HistoryEntry.init)
    }

    /// The kinds that the server has loaded.
    public final func kinds() async throws(TelltaleError) -> [KindSummary] {
        try await ask(.kinds).items.compactMap(KindSummary.init)
    }

    /// The widgets that a person can place.
    ///
    /// - Parameters:
    ///   - surface: The surface to list families and previews for; `nil` = all families, without previews.
    ///   - placement: Only what is shown in this place of the surface, as `lockScreen`.
    public final func gallery(
        on surface: Surface?, placement: String? = nil
    ) async throws(TelltaleError) -> [GalleryWidget] {
        let view = surface.map { ViewName.surface($0) } ?? .full
        let place = try Words.optional("the placement", placement)
        return try await ask(.gallery(view: view, placement: place)).items.compactMap { line in
            GalleryWidget(name: line["name"], families: line["families"], line.tail ?? JSONObject())
        }
    }

    /// The view of a selected activity: its Lock Screen presentation, and its deep link under `url`.
    public final func open(_ key: String) async throws(TelltaleError) -> JSONObject {
        try await ask(.open(try Words.key(key))).line.tail ?? JSONObject()
    }

    /// The server's own figures.
    public final func statistics() async throws(TelltaleError) -> JSONObject {
        try await ask(.stats).line.tail ?? JSONObject()
    }

    /// Returns once all earlier requests of this connection are answered and on disk.
    public final func ping() async throws(TelltaleError) { _ = try await ask(.ping) }
}
