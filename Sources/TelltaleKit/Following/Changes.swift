internal import Synchronization
internal import TelltaleClientProtocol
internal import TelltaleModel
internal import TelltaleWire

/// The changes of one subscription, in order, for one reader:
///
///     for try await change in telltale.follow("coffee-order/*", view: .carplay) { … }
///
/// It connects when the loop begins, and reconnects and resumes by itself: it delivers the changes made in the
/// meantime, each once. ``Change/disconnected(reason:retryAfter:)`` and ``Change/live`` report its status. When the
/// loop ends or its task is cancelled, the connection closes and its memory is released. It throws a ``TelltaleError``
/// when the server refuses it, for example after a token was revoked.
///
/// While the reader is busy, rows that it has not taken are replaced by newer ones, key by key; ``RowUpdate/skipped``
/// counts the commits in between. At most a few hundred changes wait; then the client stops reading, and the server
/// folds.
///
/// Its requests use its own connection: its rows show a tap as wanted immediately, and the traits that it reports apply
/// to them.
public final class Changes<Activity: ActivityRow>: TelltaleRequests, AsyncSequence, @unchecked Sendable {
    public typealias Element = Change<Activity>
    public typealias Failure = TelltaleError

    private struct State {
        var handle: LinkHandle?
        var isClosed = false
        var cursor: String?
    }

    private let command: Result<SubscribeCommand, TelltaleError>
    private let state: Mutex<State>

    init(_ session: LinkSession, _ command: Result<SubscribeCommand, TelltaleError>, cursor: String?) {
        self.command = command
        state = Mutex(State(cursor: cursor))
        super.init(session)
    }

    deinit {
        state.withLock { $0.handle?.cancel() }
    }

    /// The cursor after the last change taken, from which this or another process can resume. `nil` until the first
    /// ``Change/live``, and from ``Change/reset(why:)`` to the next one.
    public var cursor: String? { state.withLock { $0.cursor } }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(changes: self) }

    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let changes: Changes

        /// The next change; `nil` when the task is cancelled, and after ``Changes/close()``.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(TelltaleError) -> Change<
            Activity
        >? {
            try await changes.next()
        }

        public mutating func next() async throws(TelltaleError) -> Change<Activity>? { try await changes.next() }
    }

    /// Ends the loop after the changes that were already received.
    public func close() async {
        let handle = state.withLock { state in
            state.isClosed = true
            return state.handle
        }
        await handle?.close()
    }

    private func next() async throws(TelltaleError) -> Change<Activity>? {
        let isClosed = state.withLock { $0.isClosed && $0.handle == nil }
        if isClosed { return nil }
        let handle = try openLink()
        let command = try command.get()
        await handle.link.follow(command)
        while let entry = try await handle.link.nextChange() {
            state.withLock { $0.cursor = entry.cursor }
            if let change = entry.change { return Change(change) }
        }
        if Task.isCancelled { handle.cancel() }
        return nil
    }

    override func openLink() throws(TelltaleError) -> LinkHandle {
        _ = try command.get()
        let handle: LinkHandle? = state.withLock { state in
            if let handle = state.handle { return handle }
            if state.isClosed { return nil }
            let handle = session.open(isFollower: true)
            state.handle = handle
            return handle
        }
        guard let handle else { throw .closed }
        return handle
    }
}

extension Change {
    init(_ change: PendingChange) {
        self =
            switch change {
            case .update(let row, let isSnapshot):
                .update(
                    RowUpdate(
                        key: row.key, rev: row.rev, body: row.body, isSnapshot: isSnapshot, skipped: row.skip,
                        why: row.why))
            case .removal(let removal): .removal(removal)
            case .milestone(let milestone): .milestone(milestone)
            case .alert(let alert): .alert(alert)
            case .changed(let rev, let count): .changed(rev: rev, count: count)
            case .live: .live
            case .reset(let why): .reset(why: why)
            case .connected: .connected
            case .disconnected(let reason, let retry):
                .disconnected(reason: reason, retryAfter: .milliseconds(retry.count))
            }
    }
}
