internal import CTelltaleLibuv
internal import Glibc
internal import Synchronization

/// The way onto a loop from other threads, and the only lock.
///
/// The loop's side owns it; other threads are given its ``sender``. Messages arrive in the order in which they were
/// posted, several at a time when the loop was busy.
@safe public final class Mailbox<Message: Sendable> {
    /// What other threads hold. Outlives the mailbox harmlessly.
    public let sender: Sender
    private let wakeup: Wakeup

    /// - Parameter onMessages: Is called on the loop's thread with at least one message.
    public init(on loop: EventLoop, onMessages: @escaping ([Message]) -> Void) throws(UVError) {
        let knocker = try Knocker()
        let sender = Sender(knocker)
        wakeup = try Wakeup(on: loop, knocker) {
            let messages = sender.takeAll()
            if !messages.isEmpty { onMessages(messages) }
        }
        self.sender = sender
    }

    deinit {
        sender.close()
    }

    /// Whether the loop stays alive for this mailbox alone. It does at first.
    public var keepsLoopRunning: Bool {
        get { wakeup.keepsLoopRunning }
        set { wakeup.keepsLoopRunning = newValue }
    }

    /// Posts from any thread.
    public final class Sender: Sendable {
        private struct State {
            var messages: [Message] = []
            var isOpen = true
        }

        private let state = Mutex(State())
        private let knocker: Knocker

        fileprivate init(_ knocker: Knocker) {
            self.knocker = knocker
        }

        /// Returns `false`, and drops the message, when nobody will ever read it.
        @discardableResult
        public func post(_ message: sending Message) -> Bool {
            let isFirst: Bool? = state.withLock { state in
                guard state.isOpen else { return nil }
                state.messages.append(message)
                return state.messages.count == 1
            }
            // One knock is enough until the loop has looked. The lock is free by now: the loop, awake at once, wants it.
            if isFirst == true { knocker.knock() }
            return isFirst != nil
        }

        fileprivate func close() {
            state.withLock { state in
                state.isOpen = false
                state.messages = []
            }
        }

        fileprivate func takeAll() -> [Message] {
            state.withLock { state in
                let messages = state.messages
                state.messages = []
                return messages
            }
        }
    }
}

/// The loop's side of a ``Knocker``. A C callback cannot close over a generic parameter, so this part is not generic.
@safe private final class Wakeup {
    // Closed first, so that the loop lets go of the descriptor before it is closed.
    private let handle: OwnedHandle
    private let knocker: Knocker
    private let onKnock: () -> Void

    init(on loop: EventLoop, _ knocker: Knocker, onKnock: @escaping () -> Void) throws(UVError) {
        handle = try OwnedHandle(on: loop, attempting: "make a mailbox") { loop, raw in
            unsafe uv_poll_init(loop, raw, knocker.descriptor)
        }
        self.knocker = knocker
        self.onKnock = onKnock
        handle.setOwner(self)
        let status = unsafe uv_poll_start(handle.pointer(as: uv_poll_t.self), CInt(UV_READABLE.rawValue)) { raw, _, _ in
            guard let wakeup = unsafe owner(of: raw, as: Wakeup.self) else { return }
            wakeup.knocker.clear()
            wakeup.onKnock()
        }
        try UVError.check(status, attempting: "listen to a mailbox")
    }

    var keepsLoopRunning: Bool {
        get { unsafe uv_has_ref(handle.raw) != 0 }
        set { if newValue { unsafe uv_ref(handle.raw) } else { unsafe uv_unref(handle.raw) } }
    }
}

/// What other threads touch of a loop: one descriptor, open as long as anybody can knock.
///
/// Not libuv's `uv_async_t`: on its loop's side libuv spins until the knocking thread is out of `uv_async_send`, and
/// where both share a processor that thread cannot get out, and does its other work before the loop comes to run
/// again. It cost a tap on a control 0.4 ms.
private final class Knocker: Sendable {
    let descriptor: CInt

    init() throws(UVError) {
        descriptor = eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
        try UVError.check(descriptor < 0 ? -errno : 0, attempting: "make a mailbox")
    }

    deinit {
        Glibc.close(descriptor)
    }

    func knock() {
        // It fails only when 2⁶⁴ - 2 knocks wait.
        _ = eventfd_write(descriptor, 1)
    }

    func clear() {
        var count: eventfd_t = 0
        _ = unsafe eventfd_read(descriptor, &count)
    }
}
