internal import FanOut
internal import Kinds
internal import Machines
internal import TelltaleModel
internal import TelltaleWire

/// A `RELOAD` of many keys, in progress. Each batch processes some keys of the table, and the next one continues.
struct ReloadScan: Sendable {
    let request: Request
    let pattern: Pattern
    /// The next position, and the end of the table when it began: a widget created later loads from its provider anyway.
    var next: Int
    let end: Int
    /// How many of the widgets so far are refreshed at once, later, and never.
    var applied = 0
    var deferred = 0
    var noop = 0

    init(_ request: Request, of pattern: Pattern, end: Int) {
        (self.request, self.pattern, next, self.end) = (request, pattern, 0, end)
    }

    mutating func count(_ verdict: Verdict) {
        switch verdict {
        case .applied: applied += 1
        case .deferred: deferred += 1
        case _: noop += 1
        }
    }
}

// RELOAD: from the parsed line to the records.
extension Hub {
    /// Makes widgets refresh: at once if the sender serves the kind, else when the minimum time between two refreshes has passed.
    mutating func decideReload(of pattern: Pattern, _ request: Request, from session: Session) {
        do throws(WireError) {
            switch pattern {
            case .key(let key): return reload(key, request, from: session)
            case .kind(let name):
                guard let kind = store.kind(named: name) else { throw .unknownKind(name) }
                guard case .widget = kind.body else { throw .noWidget("\(name)/*") }
            case .all: break
            }
            goOn(ReloadScan(request, of: pattern, end: store.indexCount), from: session)
        } catch {
            stageCommitted(request.id, for: session) { hub, writer in hub.refuse(request.id, error, to: &writer) }
        }
    }

    private mutating func reload(_ key: Key, _ request: Request, from session: Session) {
        stageCommitted(request.id, for: session) { hub, writer in
            do throws(WireError) {
                guard let entity = hub.store.index(of: key), hub.mayReload(entity, from: session) else {
                    throw hub.store.version(named: key.kind) == nil
                        ? .unknownKind(String(key.kind)) : .unknownKey(key)
                }
                guard let widget = hub.store.widget(at: entity) else { throw .noWidget(key.text) }
                let result = try hub.reload(widget, at: entity, key, from: session)
                writer.ok(
                    id: request.id, verdict: result.verdict, rev: result.rev, state: nil, ignored: request.ignored)
            } catch {
                hub.refuse(request.id, error, to: &writer)
            }
        }
    }

    /// Continues a `RELOAD` of many keys while the batch has room. The session's later requests wait for its end.
    mutating func goOn(_ scan: ReloadScan, from session: Session) {
        var scan = scan
        while scan.next < scan.end {
            guard commit.mayReloadMore else {
                session.putBack(scan)
                commit.hold(session.id)
                commit.recordUndo(.reloads(session.id))
                return stage(for: session) { _ in }
            }
            commit.changeReloadShare { $0.spend() }
            let entity = EntityIndex(Int32(scan.next))
            scan.next += 1
            guard let key = store[entity].key, scan.pattern.matches(key), let widget = store.widget(at: entity),
                mayReload(entity, from: session)
            else { continue }
            commit.changeReloadShare { $0.takeKey() }
            // The widget's due timer comes first.
            if !commit.hasRoomForDeadlines { fireDeadlines(of: key) }
            if let result = try? reload(widget, at: entity, key, from: session) { scan.count(result.verdict) }
        }
        let reached = scan
        stageCommitted(scan.request.id, for: session) { _, writer in
            writer.beginOK(id: reached.request.id)
            writer.attribute("count", reached.applied + reached.deferred + reached.noop)
            writer.attribute("applied", reached.applied)
            writer.attribute("deferred", reached.deferred)
            writer.attribute("noop", reached.noop)
            writer.ignored(reached.request.ignored)
            writer.end()
        }
    }

    private func mayReload(_ entity: EntityIndex, from session: Session) -> Bool {
        store.isListed(entity) && store.isVisible(entity, to: session.account)
    }

    private mutating func reload(
        _ widget: Widget, at entity: EntityIndex, _ key: Key, from session: Session
    ) throws(WireError) -> (verdict: Verdict, rev: Int64) {
        // A posted or computed widget has no provider, so there is nothing to record.
        guard widget.isRefreshed else {
            statistics.count(.noop)
            return (.noop, store[entity].rev)
        }
        align(key)
        let result = try record(.reloaded(key, isFree: session.served.contains(String(key.kind))))
        return (result.verdict, result.rev)
    }
}

extension WireError {
    fileprivate static func unknownKind(_ name: String) -> WireError {
        WireError(.unknownKind, "there is no kind \(name); KINDS lists them")
    }

    fileprivate static func noWidget(_ subject: String) -> WireError {
        WireError(.badAction, "\(subject) is no widget; RELOAD is for widgets")
    }
}
