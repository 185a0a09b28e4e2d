import Cards
import Recordings
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

/// The porch light of the demo: a person who taps, a lamp that is slow and sometimes fails, and the row on the screen.
final class DemoLight {
    private enum Behaviour {
        case works(afterMilliseconds: Int64)
        case fails(afterMilliseconds: Int64)

        /// Quick, slow, broken, quick: over and over.
        static func ofAction(_ number: Int) -> Behaviour {
            switch number % 4 {
            case 1: .works(afterMilliseconds: 1800)
            case 2: .fails(afterMilliseconds: 1200)
            case _: .works(afterMilliseconds: 500)
            }
        }
    }

    private static let pauseMilliseconds: Int64 = 2500

    private let loop: EventLoop
    private let key: Key
    private var lamp: Client?
    private var person: Client?
    private var subscription: SubscriptionID?
    private var tap: TimerHandle?
    private var work: TimerHandle?
    private var working: (action: ProviderAction, fails: Bool)?
    private var actionCount = 0
    /// Each operation, as it ended at the lamp and on the screen.
    private var operations: OperationCheck
    private(set) var tapCount = 0
    private(set) var refusal: String?
    private var isEnding = false
    /// Connections end with the leader, and go on at the next one. On a busy machine another node may lead also before one is
    /// killed.
    private let isCluster: Bool

    init?(on loop: EventLoop, isCluster: Bool) {
        guard let key = Key("porch-light/front") else { return nil }
        self.loop = loop
        self.key = key
        self.isCluster = isCluster
        operations = OperationCheck(hasLeaders: isCluster)
    }

    func connect(to link: ToolClient) throws {
        func configuration(_ name: String) -> ClientConfiguration {
            var configuration = ClientConfiguration(name: name, eventIDPrefix: name)
            configuration.reconnects = isCluster
            configuration.backoff.longest = DemoScreen.longestPause
            return configuration
        }
        let lamp = try Client(to: link.endpoint, configuration: configuration("demo-lamp").through(link), on: loop) {
            [weak self] _, event in
            switch event {
            case .action(let action): self?.asked(action)
            case .ready, .disconnected: self?.operations.interrupt()
            // An answer to an operation that ended with its leader.
            case .reply(_, let reply) where !reply.isOK && self?.operations.hasInterruptions == true: break
            case .reply(_, let reply) where !reply.isOK: self?.refusal = reply.line.message ?? "refused"
            case _: break
            }
        }
        lamp.request(.serve(kind: String(key.kind)))
        lamp.request(.report(key, value: false, at: nil))
        lamp.start()
        self.lamp = lamp
        var carConfiguration = configuration("demo-car")
        carConfiguration.surface = .carplay
        let person = try Client(to: link.endpoint, configuration: carConfiguration.through(link), on: loop) {
            [weak self] _, event in
            self?.heard(event)
        }
        subscription = person.subscribe(SubscribeCommand(pattern: .key(key)))
        person.start()
        self.person = person
        tap = try TimerHandle(on: loop) { [weak self] _ in self?.tapNow() }
        work = try TimerHandle(on: loop) { [weak self] _ in self?.answer() }
        tap?.schedule(afterMilliseconds: 1000)
    }

    func close() {
        tap?.cancel()
        work?.cancel()
        lamp?.close()
        person?.close()
    }

    // MARK: The lamp

    private func asked(_ action: ProviderAction) {
        let behaviour = Behaviour.ofAction(actionCount)
        actionCount += 1
        switch behaviour {
        case .works(let delay):
            working = (action, false)
            operations.expect(.confirmed, of: action.operation)
            work?.schedule(afterMilliseconds: delay)
        case .fails(let delay):
            working = (action, true)
            operations.expect(.failed, of: action.operation)
            work?.schedule(afterMilliseconds: delay)
        }
    }

    private func answer() {
        guard let (action, fails) = working else { return }
        working = nil
        lamp?.request(
            fails
                ? .fail(op: action.operation, code: "no-answer", message: "the lamp is off the net")
                : .done(op: action.operation, value: action.value))
    }

    // MARK: The person

    private var row: JSONObject? {
        guard let person, let subscription else { return nil }
        return person.row(of: key, in: subscription)?.body
    }

    private func tapNow() {
        guard !isEnding, let person else { return }
        guard let row, row["available"]?.bool == true, row["phase"]?.string == "settled" else {
            tap?.schedule(afterMilliseconds: 200)
            return
        }
        tapCount += 1
        person.request(.tap(TapCommand(key, .set(row["value"]?.bool != true))))
    }

    private func heard(_ event: ClientEvent) {
        switch event {
        // The tap that was under way is sent to the next leader, where the lamp is not back yet.
        case .reply(_, let reply) where !reply.isOK && isCluster:
            tapCount -= 1
            tap?.schedule(afterMilliseconds: Self.pauseMilliseconds)
        case .reply(_, let reply) where !reply.isOK: refusal = reply.line.message ?? "refused"
        case .subscription(_, .update(let row)):
            guard row.body["phase"]?.string == "settled", let last = row.body["last"], let op = last["op"]?.string,
                let result = last["result"]?.string,
                operations.show(OperationCheck.End(result, reason: last["reason"]?.string), of: op)
            else { return }
            tap?.schedule(afterMilliseconds: Self.pauseMilliseconds)
        case _: break
        }
    }

    // MARK: The card

    /// No more taps. Pending operations still end.
    func stopTapping() {
        isEnding = true
        tap?.cancel()
    }

    var isSettled: Bool { refusal != nil || tapCount == operations.endedCount }

    var card: Card? { row.map { Card(key: key.text, body: $0) } }

    private var failureCount: Int { operations.count(of: .failed) }

    var note: String { "\(tapCount) \(tapCount == 1 ? "tap" : "taps"), \(failureCount) failed" }

    /// Whether each tap ended on the screen as it did at the lamp.
    var isRight: Bool { refusal == nil && tapCount == operations.endedCount && operations.isClean }

    var summary: String {
        if let refusal { return "refused: \(refusal)" }
        var text =
            "\(tapCount) taps, \(operations.count(of: .confirmed)) confirmed, \(failureCount) reverted when the lamp failed"
        let lost = operations.count(of: .unavailable)
        if isCluster, lost > 0 { text += ", \(lost) reverted because the leader ended" }
        return isRight ? text : text + "; the lamp says otherwise: \(operations.askedCount) operations"
    }
}
