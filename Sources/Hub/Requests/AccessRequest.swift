internal import FanOut
internal import TelltaleModel
internal import TelltaleWire

// Access: the step between a request and its decision on a server with tokens, and on a standby.
extension Hub {
    /// The place of this server in its cluster, told by the performer; `nil` for a server by itself.
    public var standing: ClusterStanding? {
        get { access.standing }
        set { access.standing = newValue }
    }

    /// The principals are these from now on; before the first time, no connection needs a token.
    ///
    /// A connection whose token is not among them any more, or whose principal has lost a right, ends with the next turn.
    public mutating func principalsLoaded(_ directory: PrincipalDirectory) { access.loaded(directory) }

    /// Failures of authentication since the last call, for a log. They name tokens by their public ids.
    public mutating func takeAccessNotices() -> [String] { access.takeNotices() }

    /// Whether a connection still owes a good `HELLO`.
    public func isRestricted(_ id: SessionID) -> Bool { sessions[id]?.isRestricted == true }

    /// Signed tokens that are to be checked: the performer says what each came to (``tokenChecked(_:)``).
    public mutating func takeTokenChecks() -> [TokenCheck] { access.takeChecks() }

    /// A signed token was checked: its `HELLO` is decided in the next batch, and what its connection said behind it.
    public mutating func tokenChecked(_ verdict: TokenVerdict) {
        guard access.checked(verdict), let session = sessions[verdict.session] else { return }
        sessions.unpark(session)
    }

    /// Whether a session's next request is a `HELLO` whose token is yet to be checked.
    mutating func awaitsCheck(_ session: Session, at now: HubTime) -> Bool {
        guard access.isEnforced, let hello = session.nextHello else { return false }
        return access.awaitsCheck(hello, from: session.id, at: now)
    }

    /// Whether a request may be decided. Otherwise its refusal is staged.
    mutating func isAllowed(_ request: WaitingRequest, from session: Session, at now: HubTime) -> Bool {
        if let error = access.standing?.refusal(of: request) {
            stageRefusal(error, request.id, of: session)
            return false
        }
        guard access.isEnforced else { return true }
        let need: AccessNeed
        let requestID: String?
        switch request {
        case .event(let event):
            need = AccessNeed(event.command)
            requestID = event.requestID
        case .other(let request):
            // It decides about itself.
            if case .hello = request.command { return true }
            need = AccessNeed(request.command)
            requestID = request.id
        // It was allowed when it began; a connection that loses the right ends.
        case .reload: return true
        }
        guard let error = access.refusal(of: need, from: session.id, at: now.monotonic) else { return true }
        stageRefusal(error, requestID, of: session)
        return false
    }

    /// Stages what a refused request is answered with; where it ends the connection, nothing behind it is decided.
    private mutating func stageRefusal(_ error: WireError, _ requestID: String?, of session: Session) {
        if error.isFatal { session.hasSaidBye = true }
        stage(for: session) { $0.append(read: Request(id: requestID, command: .refused(error))) }
    }

    /// Decides whether a `HELLO` is accepted.
    ///
    /// - Returns: What the connection is from now on; `nil` = it was refused, and its answer is staged.
    mutating func admit(
        _ hello: Hello, _ request: Request, from session: Session, at now: HubTime
    ) -> AccessPolicy.Admission? {
        do throws(WireError) {
            let admission = try access.admit(hello, from: session.id, account: session.account, at: now)
            session.isRestricted = false
            session.decoder.lineLengthLimit = configuration.limits.lineLength
            return admission
        } catch {
            stageRefusal(error, request.id, of: session)
            return nil
        }
    }

    // MARK: Ends

    /// Ends the connections whose tokens were revoked or have expired, and those that have said no good `HELLO` in time.
    mutating func endForbiddenSessions(at now: HubTime) {
        // The answers of a batch under way are due before the last words.
        guard access.isEnforced, commit.isIdle else { return }
        for id in access.review(at: now) { end(id, .revoked, at: now) }
        while let (id, ending) = access.nextEnding(at: now) { end(id, ending, at: now) }
    }

    private mutating func end(_ id: SessionID, _ ending: AccessPolicy.Ending, at now: HubTime) {
        guard let session = sessions[id] else { return }
        access.ending(id, at: now.monotonic)
        guard ending != .cut else { return sessions.cut(session) }
        // It is shown nothing more: neither rows, nor what it asked for and has not been told.
        detach(session)
        session.staged = StagedReplies()
        // Replies are in the order of requests, so the first one that would be rendered now ends them.
        let unread = session.outbox.firstIndex { if case .bytes = $0 { false } else { true } }
        if let unread { session.outbox.removeSubrange(unread...) }
        var writer = LineWriter()
        switch ending {
        case .unauthenticated:
            var error = WireError.authenticationRequired
            error.endsConnection = true
            writer.error(error)
        case .expired: writer.bye(.expired)
        case .revoked: writer.bye(.revoked)
        case .cut: break
        }
        session.send(writer.bytes)
        session.isClosing = true
        sessions.makeReady(session)
    }
}
