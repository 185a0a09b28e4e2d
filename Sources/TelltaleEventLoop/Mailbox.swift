internal import CTelltaleLibuv
internal import Glibc
internal import Synchronization

/// Sends messages to a loop from other threads. Contains the only lock of this module.
///
/// The loop's side owns the mailbox; other threads hold its ``sender``. Messages arrive in the order in which they were
/// posted, several at a time if the loop was busy.
@safe public final class Mailbox<Message: Sendable> {
    /// The side of the other threads. It may outlive the mailbox.
    public let sender: Sender
    private let wakeup: LoopWakeup

    /// - Parameter onMessages: Called on the loop's thread with at least one message.
    public init(on loop: EventLoop, onMessages: @escaping ([Message]) -> Void) throws(UVError) {
        let waker = try LoopWaker()
        let sender = Sender(waker)
        wakeup = try LoopWakeup(on: loop, waker) {
            let messages = sender.takeAll()
            if !messages.isEmpty { onMessages(messages) }
        }
        self.sender = sender
    }

    deinit {
        sender.close()
    }

    /// Posts from any thread.
    public final class Sender: Sendable {
        private struct State {
            var messages: [Message] = []
            var isOpen = true
        }

        private let state = Mutex(State())
        private let waker: LoopWaker

        fileprivate init(_ waker: LoopWaker) {
            self.waker = waker
        }

        /// Returns `false` and drops the message if the mailbox no longer exists.
        @discardableResult
        public func post(_ message: sending Message) -> Bool {
            let isFirst: Bool? = state.withLock { state in
                guard state.isOpen else { return nil }
                state.messages.append(message)
                return state.messages.count == 1
            }
            // One wakeup is enough until the loop has taken the messages. It happens outside the lock, which the loop
            // takes next.
            if isFirst == true { waker.wake() }
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

/// The loop's side of a ``LoopWaker``. It is not generic, because a C callback cannot capture a generic parameter.
@safe private final class LoopWakeup {
    // Declared first, so closed first: the loop stops using the descriptor before it is closed.
    private let handle: OwnedHandle
    private let waker: LoopWaker
    private let onWake: () -> Void

    init(on loop: EventLoop, _ waker: LoopWaker, onWake: @escaping () -> Void) throws(UVError) {
        handle = try OwnedHandle(on: loop, attempting: "make a mailbox") { loop, raw in
            unsafe uv_poll_init(loop, raw, waker.descriptor)
        }
        self.waker = waker
        self.onWake = onWake
        handle.setOwner(self)
        let status = unsafe uv_poll_start(handle.pointer(as: uv_poll_t.self), CInt(UV_READABLE.rawValue)) { raw, _, _ in
            guard let wakeup = unsafe owner(of: raw, as: LoopWakeup.self) else { return }
            wakeup.waker.clear()
            wakeup.onWake()
        }
        try UVError.check(status, attempting: "listen to a mailbox")
    }
}

/// The descriptor with which other threads wake a loop. It stays open as long as any sender exists.
///
/// It replaces libuv's `uv_async_t`, whose loop spins until the sending thread has left `uv_async_send`. If both
/// threads share a processor, the sender cannot leave, and its other work delays the loop.
private final class LoopWaker: Sendable {
    let descriptor: CInt

    init() throws(UVError) {
        descriptor = eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
        try UVError.check(descriptor < 0 ? -errno : 0, attempting: "make a mailbox")
    }

    deinit {
        Glibc.close(descriptor)
    }

    func wake() {
        // This fails only when the counter of the eventfd is full.
        _ = eventfd_write(descriptor, 1)
    }

    func clear() {
        var count: eventfd_t = 0
        _ = unsafe eventfd_read(descriptor, &count)
    }
}
