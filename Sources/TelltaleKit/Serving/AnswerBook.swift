internal import TelltaleModel
internal import TelltaleWire

/// The operations of a provider: those answered, and those in progress.
actor AnswerBook {
    /// One operation in progress.
    final class Job: Sendable {
        /// Ends the work.
        let abort = Wakeup()
        let ended = Wakeup()
    }

    /// What to do with a requested operation.
    enum Order {
        case perform(Job, after: Job?)
        case answerAgain(Command)
        /// It is in progress.
        case nothing
    }

    /// The number of answers kept, so that a repeated operation is not performed again.
    private static let capacity = 256

    private var epoch = ""
    private var answers: [String: Command?] = [:]
    private var order: [String] = []
    private var jobs: [Key: Job] = [:]

    /// Handles a greeting. Another epoch may reuse the names of operations, so the book is emptied.
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
        // The server requests the next operation of a control only after it has ended the one before.
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
