internal import TelltaleModel

/// The stages of a stop: received requests are answered, pending output leaves, the last snapshot is written, the
/// journal is closed.
struct Shutdown: Sendable {
    enum Phase: Hashable, Sendable {
        case running
        /// A stop was requested at this moment: what was received is still answered.
        case answering(since: MonotonicTime)
        /// `BYE` is on its way, since this moment.
        case draining(since: MonotonicTime)
        case writingSnapshot
        case closingJournal
        /// Nothing is decided any more; the process ends.
        case ended
    }

    private let limits: ShutdownLimits
    private(set) var phase = Phase.running
    /// No connection is read from any more.
    private(set) var isDeaf = false
    /// Connections that did not take their last bytes were closed.
    private var hasClosedConnections = false

    init(limits: ShutdownLimits) {
        self.limits = limits
    }

    var isRunning: Bool { phase == .running }

    /// Whether requests and deadlines may still be decided. A decision after the last snapshot began would not be in
    /// it.
    func mayDecide(at now: MonotonicTime) -> Bool {
        switch phase {
        case .running: true
        case .answering(let start): now < start + limits.answering
        // Without a limit, timers that are always due would prevent the stop.
        case .draining(let start): now < start + limits.draining
        case .writingSnapshot, .closingJournal, .ended: false
        }
    }

    /// When ``goOn(at:hasWork:hasConnections:isCommitting:)`` has something to do by itself.
    var nextMoment: MonotonicTime? {
        switch phase {
        case .answering(let start): isDeaf ? start + limits.answering : start + limits.listening
        case .draining(let start): hasClosedConnections ? nil : start + limits.draining
        case .running, .writingSnapshot, .closingJournal, .ended: nil
        }
    }

    /// A step of the stop.
    enum Step {
        case pauseReading, sayBye, closeConnections, writeSnapshot
    }

    mutating func request(at now: MonotonicTime) {
        if isRunning { phase = .answering(since: now) }
    }

    /// Takes the next step, if it is time.
    ///
    /// - Parameters:
    ///   - hasWork: Something waits to be decided.
    ///   - isCommitting: A batch waits for the journal.
    mutating func goOn(
        at now: MonotonicTime, hasWork: Bool, hasConnections: Bool, isCommitting: Bool
    ) -> Step? {
        switch phase {
        case .answering(let start):
            if !isDeaf, now >= start + limits.listening {
                isDeaf = true
                return .pauseReading
            }
            guard !isCommitting, !hasWork || !mayDecide(at: now) else { return nil }
            phase = .draining(since: now)
            return .sayBye
        case .draining(let start):
            if hasConnections {
                guard !hasClosedConnections, now >= start + limits.draining else { return nil }
                hasClosedConnections = true
                return .closeConnections
            }
            guard !isCommitting else { return nil }
            phase = .writingSnapshot
            return .writeSnapshot
        case .running, .writingSnapshot, .closingJournal, .ended: return nil
        }
    }

    /// The last snapshot is written, or given up.
    mutating func closeJournal() { phase = .closingJournal }

    mutating func end() { phase = .ended }
}
