internal import TelltaleModel
internal import TelltaleWire

// Access: the step between a request and its decision, on a server with tokens and on a standby.
extension Hub {
    /// This server's role in its cluster, as of the last ``stands(_:at:)``; `nil` for a single server.
    public var status: ClusterStatus? { access.status }

    /// Replaces the principals. Before the first call, no connection needs a token.
    ///
    /// A connection whose token is gone, or whose principal lost a right, is closed in the next turn.
    public mutating func principalsLoaded(_ directory: PrincipalDirectory) { access.loaded(directory) }

    /// Returns the authentication failures since the last call, for a log. They name tokens by their public ids.
    public mutating func takeAccessNotices() -> [String] { access.takeNotices() }

    /// Whether a connection has yet to send a valid `HELLO`.
    public func isRestricted(_ id: SessionID) -> Bool { sessions[id]?.isRestricted == true }

    /// Returns the signed tokens to check. The performer reports each result with ``tokenChecked(_:)``.
    public mutating func takeTokenChecks() -> [TokenCheck] { access.takeChecks() }

    /// Records a checked token: its `HELLO` and the requests after it are decided in the next batch.
    public mutating func tokenChecked(_ verdict: TokenVerdict) {
        guard access.checked(verdict), let session = sessions[verdict.session] else { return }
        sessions.unpark(session)
    }

    /// Whether a session's next request is a `HELLO` whose token has yet to be checked.
    mutating func awaitsCheck(_ session: Session, at now: HubTime) -> Bool {
        guard access.isEnforced, let hello = session.nextHello else { return false }
        return access.awaitsCheck(hello, from: session.id, at: now)
    }

    /// Whether a request may be decided. If not, its refusal is staged.
    mutating func isAllowed(_ request: WaitingRequest, from session: Session, at now: HubTime) -> Bool {
        if let error = access.status?.refusal(of: request) {
            stageRefusal(error, request.id, of: session)
            return false
        }
        guard access.isEnforced else { return true }
        let need: AccessNeed
        let requestID: String?
        var request = request
        if case .forwarded(let forwarded) = request { request = forwarded.request }
        switch request {
        case .event(let event):
            need = AccessNeed(event.command)
            requestID = event.requestID
        case .other(let request):
            // `HELLO` is decided by its own rules.
            if case .hello = request.command { return true }
            need = AccessNeed(request.command)
            requestID = request.id
        // It was allowed when it began; a connection that loses the right is closed.
        case .reload, .forwarded, .farewell: return true
        }
        guard let error = access.refusal(of: need, from: session.id, at: now.monotonic) else { return true }
        stageRefusal(error, requestID, of: session)
        return false
    }

    /// Stages the reply to a refused request. If the refusal ends the connection, no later request is decided.
    private mutating func stageRefusal(_ error: WireError, _ requestID: String?, of session: Session) {
        if error.isFatal { session.hasSaidBye = true }
        stage(for: session) { $0.append(read: Request(id: requestID, command: .refused(error))) }
    }

    /// Decides whether a `HELLO` is accepted.
    ///
    /// - Returns: The connection's new rights; `nil` = it was refused, and its reply is staged.
    mutating func admit(
        _ hello: Hello, _ request: Request, from session: Session, at now: HubTime
    ) -> AccessPolicy.Admission? {
        do throws(WireError) {
            let admission = try access.admit(hello, from: session.id, account: session.account, at: now)
            session.isRestricted = false
            session.decoder.lineLengthLimit = configuration.limits.lineLength
            return admission
        } catch {
            access.refused(session.id, at: now)
            stageRefusal(error, request.id, of: session)
            return nil
        }
    }

    // MARK: Ends

    /// Closes the connections whose tokens were revoked or expired, and those that sent no valid `HELLO` in time.
    mutating func endForbiddenSessions(at now: HubTime) {
        // The replies of the current batch precede the farewell.
        guard access.isEnforced, commit.isIdle else { return }
        for id in access.review(at: now) { end(id, .revoked, at: now) }
        while let (id, ending) = access.nextEnding(at: now) { end(id, ending, at: now) }
    }

    private mutating func end(_ id: SessionID, _ ending: AccessPolicy.Ending, at now: HubTime) {
        guard let session = sessions[id] else { return }
        access.ending(id, at: now.monotonic)
        guard ending != .cut else { return sessions.cut(session) }
        // It is shown nothing more: neither rows nor pending replies.
        detach(session)
        session.staged = StagedReplies()
        // Replies are in the order of requests, so the first one that is not rendered yet ends them.
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
