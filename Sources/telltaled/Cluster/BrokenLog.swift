#if DEBUG
    import FoundationEssentials
    import Replication
    import TelltaleEventLoop

    /// A replicated log with a planted bug, with which `Tools/fuzz/torture --cluster --broken` shows that it finds
    /// bugs. Release builds leave it out.
    final class BrokenLog: ReplicatedLog {
        /// `TELLTALE_BROKEN_LOG=NAME`.
        enum Bug: String, CaseIterable {
            /// Acknowledges an append before the log store has stored it.
            case acknowledgedBeforeStored
            /// Takes a refused append for one that an earlier attempt has stored.
            case refusalTakenForStored
            /// Takes an append for lost after 200 ms without an answer.
            case silenceTakenForLost
        }

        var onEvent: ((LogEvent) -> Void)? {
            didSet { log.onEvent = onEvent == nil ? nil : { [unowned self] in pass($0) } }
        }
        private let log: any ReplicatedLog
        private let bug: Bug
        private var timer: TimerHandle?
        /// The append without an answer yet.
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

        var status: LogStoreStatus { log.status }

        func append(_ bytes: [UInt8], after position: Int64, token: Int64) {
            current = (token, position)
            log.append(bytes, after: position, token: token)
            guard bug != .refusalTakenForStored else { return }
            timer?.schedule(afterMilliseconds: bug == .silenceTakenForLost ? 200 : 0)
        }

        func read(from position: Int64) { log.read(from: position) }
        func hold(_ isHeld: Bool) { log.hold(isHeld) }
        func heartbeat(_ heartbeat: Heartbeat) { log.heartbeat(heartbeat) }
        func queryServers(_ request: CheckpointRequest) { log.queryServers(request) }

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
