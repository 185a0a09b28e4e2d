internal import Machines
internal import TelltaleModel
internal import TelltaleWire

// RELOAD: from the parsed line to the record.
extension Hub {
    /// Lets a widget ask its provider anew: at once for whoever serves the kind, else when the floor between two asks has
    /// passed.
    mutating func reload(
        _ key: Key, _ request: Request, from session: Session, to writer: inout LineWriter
    ) throws(WireError) {
        guard let entity = store.index(of: key), store.isListed(entity), store.isVisible(entity, to: session.account)
        else {
            if store.kinds.current[String(key.kind)] == nil {
                throw WireError(.unknownKind, "there is no kind \(key.kind); KINDS lists them")
            }
            throw .unknownKey(key)
        }
        guard let widget = store.widget(at: entity) else {
            throw WireError(.badAction, "\(key) is no widget; RELOAD is for widgets")
        }
        // Nothing is asked for what is posted or computed, and nothing is to be remembered of it.
        guard widget.isAsked else {
            statistics.count(.noop)
            return writer.ok(
                id: request.id, verdict: .noop, rev: store[entity].rev, state: nil, ignored: request.ignored)
        }
        let isFree = session.served.contains(String(key.kind))
        let result = try record(.reloaded(key, isFree: isFree))
        writer.ok(id: request.id, verdict: result.verdict, rev: result.rev, state: nil, ignored: request.ignored)
    }
}
