internal import CLibuv
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
        let sender = Sender()
        wakeup = try Wakeup(on: loop) {
            let messages = sender.takeAll()
            if !messages.isEmpty { onMessages(messages) }
        }
        self.sender = sender
        sender.open(wakeup.knocker)
    }

    deinit {
        // After this no thread touches the handle any more: the wakeup, a stored property, is closed after this body.
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
            /// `nil` before the mailbox is ready and after it is gone.
            var knocker: Knocker?
        }

        private let state = Mutex(State())

        fileprivate init() {}

        /// Returns `false`, and drops the message, when nobody will ever read it.
        @discardableResult
        public func post(_ message: sending Message) -> Bool {
            state.withLock { state in
                guard let knocker = state.knocker else { return false }
                state.messages.append(message)
                // One knock is enough until the loop has looked; libuv would fold them, but each costs a call.
                if state.messages.count == 1 { knocker.knock() }
                return true
            }
        }

        fileprivate func open(_ knocker: Knocker) {
            state.withLock { $0.knocker = knocker }
        }

        fileprivate func close() {
            state.withLock { state in
                state.knocker = nil
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

/// libuv's `uv_async_t`. A C callback cannot close over a generic parameter, so this part is not generic.
@safe private final class Wakeup {
    private let handle: OwnedHandle
    private let onKnock: () -> Void

    init(on loop: EventLoop, onKnock: @escaping () -> Void) throws(UVError) {
        handle = try OwnedHandle(on: loop, attempting: "make a mailbox") { loop, raw in
            unsafe uv_async_init(loop, raw) { raw in unsafe owner(of: raw, as: Wakeup.self)?.onKnock() }
        }
        self.onKnock = onKnock
        handle.setOwner(self)
    }

    var knocker: Knocker { unsafe Knocker(raw: handle.pointer(as: uv_async_t.self)) }

    var keepsLoopRunning: Bool {
        get { unsafe uv_has_ref(handle.raw) != 0 }
        set { if newValue { unsafe uv_ref(handle.raw) } else { unsafe uv_unref(handle.raw) } }
    }
}

/// What other threads may touch of a loop: `uv_async_send` is the one call that is safe from anywhere, and only until
/// `uv_close`. The mailbox's lock holds that apart.
@safe private struct Knocker: @unchecked Sendable {
    let raw: UnsafeMutablePointer<uv_async_t>

    func knock() {
        unsafe uv_async_send(raw)
    }
}
