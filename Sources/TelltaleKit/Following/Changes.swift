internal import Synchronization
internal import TelltaleClientProtocol
internal import TelltaleModel
internal import TelltaleWire

/// The changes of one subscription, in order, for one reader:
///
///     for try await change in telltale.follow("coffee-order/*", view: .carplay) { … }
///
/// It connects when the loop begins, reconnects and resumes by itself: the changes of the time away come, and none comes twice.
/// ``Change/disconnected(reason:retryAfter:)`` and ``Change/live`` tell where it is. When the loop ends, is left, or its task is
/// cancelled, the connection and everything that it holds go. It throws a ``TelltaleError`` when the server refuses it, as after
/// a revoked token.
///
/// While the reader is busy, rows that it has not taken are replaced by newer ones, key by key; ``RowUpdate/skipped`` counts the
/// commits in between. At most some hundred changes wait; beyond, the client reads no further, and the server folds.
///
/// Requests that are made with it go over its connection: a tap is then shown as wanted in its own rows at once, and the traits
/// that it reports apply to them.
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

    init(_ session: Session, _ command: Result<SubscribeCommand, TelltaleError>, cursor: String?) {
        self.command = command
        state = Mutex(State(cursor: cursor))
        super.init(session)
    }

    deinit {
        state.withLock { $0.handle?.cancel() }
    }

    /// The place to resume from behind the change that was taken last, also in another process. `nil` while there is none: until
    /// the first ``Change/live``, and from ``Change/reset(why:)`` to the next one.
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

    /// Ends the loop behind the changes that came before.
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
