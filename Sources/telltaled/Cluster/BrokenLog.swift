#if DEBUG
    import FoundationEssentials
    import Replication
    import TelltaleEventLoop

    /// A replicated log that says something wrong, so that `Tools/fuzz/torture --cluster --broken` can show that it finds it. Builds for
    /// release do not have it.
    final class BrokenLog: ReplicatedLog {
        /// `TELLTALE_BROKEN_LOG=NAME`.
        enum Bug: String, CaseIterable {
            /// An append is acknowledged before the engine has it.
            case acknowledgedBeforeStored
            /// A refused append is taken for stored by an attempt before.
            case refusalTakenForStored
            /// An append without an answer for 200 ms is taken for lost.
            case silenceTakenForLost
        }

        var onEvent: ((LogEvent) -> Void)? {
            didSet { log.onEvent = onEvent == nil ? nil : { [unowned self] in pass($0) } }
        }
        private let log: any ReplicatedLog
        private let bug: Bug
        private var timer: TimerHandle?
        /// The append that has no answer yet.
        private var current: (token: Int64, after: Int64)?

        init(_ log: any ReplicatedLog, with bug: Bug, on loop: EventLoop) throws(UVError) {
            self.log = log
            self.bug = bug
            timer = try TimerHandle(on: loop) { [unowned self] _ in answer() }
        }

        /// The bug that the environment asks for.
        static var wanted: Bug? {
            ProcessInfo.processInfo.environment["TELLTALE_BROKEN_LOG"].flatMap { Bug(rawValue: $0) }
        }

        var status: EngineStatus { log.status }

        func append(_ bytes: [UInt8], after position: Int64, token: Int64) {
            current = (token, position)
            log.append(bytes, after: position, token: token)
            guard bug != .refusalTakenForStored else { return }
            timer?.schedule(afterMilliseconds: bug == .silenceTakenForLost ? 200 : 0)
        }

        func read(from position: Int64) { log.read(from: position) }
        func hold(_ isHeld: Bool) { log.hold(isHeld) }
        func beat(_ beat: Beat) { log.beat(beat) }
        func ask(_ request: BaseRequest) { log.ask(request) }

        func close() {
            timer = nil
            log.close()
        }

        private func answer() {
            guard let (token, after) = current.take() else { return }
            onEvent?(bug == .silenceTakenForLost ? .full(token: token) : .stored(token: token, position: after + 1))
        }

        private func pass(_ event: LogEvent) {
            switch event {
            case .stored(let token, _) where token == current?.token: current = nil
            case .refused(let token) where token == current?.token && bug == .refusalTakenForStored: return answer()
            case _: break
            }
            onEvent?(event)
        }
    }
#endif
