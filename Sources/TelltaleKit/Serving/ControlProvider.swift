internal import Synchronization
internal import TelltaleClientProtocol
public import TelltaleModel
internal import TelltaleWire

/// Serves the controls of one kind while ``run()`` runs. Made by ``Telltale/provide(_:values:perform:)``.
///
/// - After a lost connection it reconnects and reports its values again.
/// - An action may run until its deadline; then its task is cancelled. Actions of one control run one after the other,
///   those of different controls concurrently.
/// - An operation that is requested again is answered again, but not performed again.
public final class ControlProvider: Sendable {
    /// The existing controls and their values; `nil` for a button. Leave out a toggle whose value is unknown.
    public typealias Values = @Sendable () async -> [String: Bool?]
    /// Performs an action. Returns the device's new value, or `nil` if it is not known; throws an ``ActionFailure``
    /// otherwise.
    public typealias Perform = @Sendable (ControlAction) async throws -> Bool?

    private let session: LinkSession
    private let kind: String
    private let values: Values
    private let perform: Perform
    private let book = AnswerBook()
    private let state = Mutex<LinkHandle?>(nil)

    init(_ session: LinkSession, kind: String, values: @escaping Values, perform: @escaping Perform) {
        self.session = session
        self.kind = kind
        self.values = values
        self.perform = perform
    }

    /// Serves until its task is cancelled. Call it once at a time.
    ///
    /// - Throws: ``TelltaleError`` when the server refuses it, such as for a kind that is not loaded.
    public func run() async throws(TelltaleError) {
        let kind = try Words.kind(kind)
        let handle = session.open()
        state.withLock { $0 = handle }
        defer { state.withLock { $0 = nil } }
        let error = await withDiscardingTaskGroup(returning: TelltaleError?.self) { group in
            defer { group.cancelAll() }
            do throws(TelltaleError) {
                _ = try await handle.link.ask(.serve(kind: kind), timeout: nil)
                try await reportAll(handle)
                try await serve(handle, in: &group)
                return nil
            } catch {
                return error
            }
        }
        let wasCancelled = Task.isCancelled
        await handle.close()
        if let error, !(wasCancelled && error == .closed) { throw error }
    }

    /// Reports that the device changed by itself, or that it exists.
    ///
    /// - Parameter at: When it was seen; `nil` = now.
    /// - Throws: ``TelltaleError/connectionLost(_:)`` if the server may not have received it; ``TelltaleError/closed``
    ///   while the provider does not run.
    @discardableResult
    public func report(_ key: String, _ value: Bool? = nil, at: Timestamp? = nil) async throws(TelltaleError) -> Decided
    {
        guard let handle = state.withLock({ $0 }) else { throw .closed }
        if let at { _ = try Words.number("the date", at.milliseconds) }
        let command = Command.report(try Words.key(key), value: value, at: at)
        return Decided(try await handle.link.ask(command, timeout: session.timeout).line)
    }

    private func serve(_ handle: LinkHandle, in group: inout DiscardingTaskGroup) async throws(TelltaleError) {
        var clock: RealClock?
        var connections = 0
        while let event = try await handle.link.nextServiceEvent() {
            switch event {
            case .ready(let greeting):
                clock = RealClock(greeting)
                await book.greeted(epoch: greeting.epoch)
                connections += 1
                // A report that is lost is sent again after the next connection.
                if connections > 1 { group.addTask { try? await self.reportAll(handle) } }
            case .refused(let refusal): throw .refused(refusal)
            case .action(let action) where action.timelineReason != nil:
                let answer = Command.fail(
                    op: action.operation, code: "unsupported", message: "this provider acts for controls")
                group.addTask { _ = try? await handle.link.ask(answer, timeout: nil) }
            case .action(let action):
                let action = ControlAction(
                    operation: action.operation, key: action.key, value: action.isPress ? nil : action.value ?? false,
                    deadline: action.deadline)
                let end = clock?.moment(of: action.deadline) ?? .now
                switch await book.asked(action) {
                case .nothing: break
                case .answerAgain(let answer): group.addTask { _ = try? await handle.link.ask(answer, timeout: nil) }
                case .perform(let job, let before):
                    group.addTask { await self.perform(action, job, after: before, until: end, handle) }
                }
            }
        }
    }

    private func reportAll(_ handle: LinkHandle) async throws(TelltaleError) {
        for (key, value) in await values().sorted(by: { $0.key < $1.key }) {
            do throws(TelltaleError) {
                _ = try await handle.link.ask(.report(try Words.key(key), value: value, at: nil), timeout: nil)
            } catch .connectionLost {
                // The next connection reports all values.
                return
            }
        }
    }

    private func perform(
        _ action: ControlAction, _ job: AnswerBook.Job, after before: AnswerBook.Job?,
        until end: ContinuousClock.Instant,
        _ handle: LinkHandle
    ) async {
        await before?.ended.wait()
        let answer = await withTaskGroup(of: Command?.self) { group in
            group.addTask { end > .now ? await self.answer(to: action) : nil }
            group.addTask {
                await job.abort.wait(until: end)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if let answer {
            await book.answered(action.operation, with: answer)
            // If the answer is lost, the server requests the operation again.
            _ = try? await handle.link.ask(answer, timeout: nil)
        }
        await book.ended(job, of: action.key)
    }

    private func answer(to action: ControlAction) async -> Command? {
        do {
            return .done(op: action.operation, value: try await perform(action))
        } catch let failure as ActionFailure {
            return .fail(op: action.operation, code: failure.code, message: failure.message)
        } catch is CancellationError {
            return nil
        } catch {
            // The text is the app's and not meant for others.
            return .fail(op: action.operation, code: "error", message: "\(type(of: error))")
        }
    }
}

extension Telltale {
    /// A provider of the controls of a kind:
    ///
    ///     try await telltale.provide("porch-light", values: { ["porch-light/front": lamp.isOn] }) { action in … }.run()
    public func provide(
        _ kind: String, values: @escaping ControlProvider.Values = { [:] }, perform: @escaping ControlProvider.Perform
    ) -> ControlProvider {
        ControlProvider(session, kind: kind, values: values, perform: perform)
    }
}
