internal import TelltaleModel
internal import TelltaleWire

/// The operations of a provider: what was answered, and what is under way.
actor AnswerBook {
    /// One operation at its work.
    final class Job: Sendable {
        /// Ends the work.
        let abort = Wakeup()
        let ended = Wakeup()
    }

    /// The way to treat an operation that was asked for.
    enum Order {
        case perform(Job, after: Job?)
        case answerAgain(Command)
        /// It is under way.
        case nothing
    }

    /// Operations whose answer is remembered, so that one that comes again is not performed again.
    private static let capacity = 256

    private var epoch = ""
    private var answers: [String: Command?] = [:]
    private var order: [String] = []
    private var jobs: [Key: Job] = [:]

    /// A server greeted. Operations of another history may have the same names, and are others.
    func greeted(epoch: String) {
        guard epoch != self.epoch else { return }
        self.epoch = epoch
        answers = [:]
        order = []
        for job in jobs.values { job.abort.signal() }
    }

    func asked(_ action: ControlAction) -> Order {
        if let answer = answers[action.operation] { return answer.map { .answerAgain($0) } ?? .nothing }
        answers[action.operation] = .some(nil)
        order.append(action.operation)
        if order.count > Self.capacity { answers[order.removeFirst()] = nil }
        let before = jobs[action.key]
        // The server asks for the next operation of a control once the one before has ended there.
        before?.abort.signal()
        let job = Job()
        jobs[action.key] = job
        return .perform(job, after: before)
    }

    func answered(_ operation: String, with answer: Command) {
        if answers[operation] != nil { answers[operation] = .some(answer) }
    }

    func ended(_ job: Job, of key: Key) {
        job.ended.signal()
        if jobs[key] === job { jobs[key] = nil }
    }
}
