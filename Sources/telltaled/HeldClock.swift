#if DEBUG
    import FoundationEssentials
    import TelltaleEventLoop
    import TelltaleModel

    /// The clock of a daemon whose time a test holds: it stands still until the test asks for a step. What a kind's
    /// span or a heartbeat causes then does not depend on the machine's speed.
    ///
    /// `TELLTALE_CLOCK=PATH`: a Unix socket that the daemon listens on. Each byte received asks for a ``step`` and is
    /// answered with one byte. The step is taken when nothing is left to do but wait, and the answer is sent when
    /// everything that it caused is done. Not for clusters. Release builds ignore it.
    final class HeldClock {
        static let path = ProcessInfo.processInfo.environment["TELLTALE_CLOCK"]
        static let step = Milliseconds(10)

        private enum Phase { case asked, passed }

        private var listener: Listener?
        private var holder: Connection?
        private var phase: Phase?
        /// Whether the daemon has work to finish before a step.
        private var isBusy = false

        /// - Returns: `nil` if no test holds the time.
        init?(on loop: EventLoop) throws(UVError) {
            guard let path = Self.path else { return nil }
            listener = try Listener(at: .unix(path: path), on: loop) { [weak self] connection in
                self?.holder = connection
                connection.start(
                    ConnectionHandlers(
                        onData: { _, _ in self?.phase = .asked }, onEnd: { $0.close() }, onWritable: { _ in },
                        onClosed: { _, _ in self?.holder = nil }))
            }
        }

        /// The server asks for a turn at `moment`; `nil` = only when something happens.
        func schedule(_ moment: MonotonicTime?, at now: MonotonicTime, on timer: TimerHandle?) {
            isBusy = moment.map { $0 <= now } ?? false
            if isBusy { timer?.schedule(afterMilliseconds: 0) } else { timer?.cancel() }
        }

        /// The loop comes to rest.
        func rest(isCommitting: Bool, _ clock: Clock, on timer: TimerHandle?) {
            guard !isCommitting, !isBusy, let phase else { return }
            switch phase {
            case .asked:
                clock.pass(Self.step)
                self.phase = .passed
                timer?.schedule(afterMilliseconds: 0)
            case .passed:
                self.phase = nil
                _ = holder?.write([0])
            }
        }
    }
#endif
