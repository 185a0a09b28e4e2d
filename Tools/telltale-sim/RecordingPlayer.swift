import Demo
import Foundation
import Recordings
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

/// Sends the inputs of a recording to another daemon in the same order, and reads their outcomes.
///
/// One connection posts the events and taps, whose order matters. A provider has a connection that comes and goes as in
/// the recording, and each account that dismissed an activity has one. A connection waits for the replies of the others
/// before it goes on.
final class RecordingPlayer {
    enum Outcome {
        case played(Recording)
        case noDaemon(String)
        case failed(String)
    }

    private let recording: Recording
    /// `nil`: as fast as the daemon takes it.
    private var speed: Double?
    private let link: ToolClient
    private let loop: EventLoop
    private var client: Client?
    private var people: [String: Client] = [:]
    private var reader: RecordingReader?
    private var timer: TimerHandle?
    private var outcome: Outcome?

    private var commands: [EventCommand?] = []
    private var next = 0
    /// Unix milliseconds of the daemon's clock.
    private var beginning: Int64 = 0
    private var waiting: Set<RequestID> = []
    private var clock: ServerClock?
    private var startedAt: Int64 = 0
    /// Actions that this provider was asked for and has not answered, by key.
    private var asked: [String: [String]] = [:]
    private var answered: [String: String] = [:]
    private var waitsSince: Int64?
    private var provider: Client?
    private var providerWaiting: Set<RequestID> = []
    /// The controls that the provider is known to act for.
    private var servedKeys: Set<Key> = []
    /// Was replaced by another one, and goes when that serves.
    private var retiring: Client?
    private var pauseUntil: Int64 = 0
    private(set) var refusals: [String] = []

    private static let windowCount = 1_000
    private static let farewellMilliseconds: Int64 = 30
    /// How long a `DO` may take to come.
    private static let patience: Int64 = 5_000
    /// How long at most the last entries may take to reach their outcomes.
    private static let longestEnd: Int64 = 120_000

    /// - Parameter speed: `nil`: as fast as the daemon takes it, unless time had a part in it: then at the pace of the
    ///   daemon's own clock.
    init(_ recording: Recording, speed: ReplaySpeed?, at link: ToolClient) throws {
        self.recording = recording
        self.link = link
        loop = try EventLoop()
        switch speed {
        case .times(let factor): self.speed = factor
        case .maximum: self.speed = nil
        case nil: self.speed = recording.isTimed ? 0 : nil
        }
    }

    func run() throws -> Outcome {
        defer { loop.shutDown() }
        let prefix = "replay-\(UInt64.random(in: 0..<(1 << 32)))"
        let client = try connect("telltale-sim-replay", eventIDPrefix: prefix) { [unowned self] _, event in heard(event)
        }
        self.client = client
        timer = try TimerHandle(on: loop) { [unowned self] _ in play() }
        client.start()
        loop.run()
        timer?.cancel()
        for person in people.values { person.close() }
        provider?.close()
        client.close()
        return outcome ?? .failed("interrupted")
    }

    /// A connection that ends with the first failure.
    private func connect(
        _ name: String, eventIDPrefix: String, onEvent: @escaping Client.OnEvent
    ) throws -> Client {
        var configuration = ClientConfiguration(name: name, eventIDPrefix: eventIDPrefix)
        configuration.keepsRows = false
        configuration.reconnects = false
        return try Client(to: link.endpoint, configuration: configuration.through(link), on: loop, onEvent: onEvent)
    }

    /// Notes a reply that is a refusal.
    private func note(_ reply: Reply) {
        if !reply.isOK { refusals.append("\(reply.line["code"] ?? "refused"): \(reply.line.message ?? "")") }
    }

    private func end(_ outcome: Outcome) {
        if self.outcome == nil { self.outcome = outcome }
        loop.stop()
    }

    private func heard(_ event: ClientEvent) {
        reader?.heard(event)
        switch event {
        case .ready(let greeting, _): begin(greeting)
        case .reply(let id, let reply): replied(id, reply)
        case .lost(let id): if waiting.remove(id) != nil { end(.failed("the connection went before the answer")) }
        case .refused(let reason, _): end(.failed(reason))
        case .disconnected where clock == nil && client?.hasAskedAll == false: break
        case .disconnected(let reason, _):
            end(clock == nil ? .noDaemon(reason) : .failed("the daemon went away: \(reason)"))
        case .violation(let text): refusals.append("the daemon broke the protocol: \(text)")
        case .item, .restarted, .subscription, .traitsRefused, .serviceRefused, .action, .farewell: break
        }
        if clock != nil, reader == nil { play() }
    }

    private func begin(_ greeting: ServerGreeting) {
        guard clock == nil else { return }
        clock = ServerClock(greeting)
        startedAt = loop.monotonicMilliseconds
        if speed == 0 { speed = greeting.speed }
        // A whole second, as the recording's own beginning.
        let now = greeting.now?.milliseconds ?? 0
        beginning = now - now % 1_000
        commands = recording.commands(beginning: beginning)
    }

    private func replied(_ id: RequestID, _ reply: Reply) {
        if waiting.remove(id) != nil { note(reply) }
    }

    // MARK: Playing

    private func play() {
        guard let client, reader == nil, clock != nil, !isPersonBusy else { return }
        while next < recording.entries.count, waiting.count < Self.windowCount {
            let entry = recording.entries[next]
            let pause = pauseUntil - loop.monotonicMilliseconds
            guard pause <= 0 else {
                timer?.schedule(afterMilliseconds: pause)
                return
            }
            if let wait = wait(until: entry.offset) {
                timer?.schedule(afterMilliseconds: wait)
                return
            }
            guard play(entry, client) else { return }
            next += 1
            waitsSince = nil
        }
        guard next == recording.entries.count, waiting.isEmpty, providerWaiting.isEmpty else { return }
        if let wait = wait(until: recording.end),
            loop.monotonicMilliseconds - startedAt < duration(recording.entries.last?.offset ?? 0) + Self.longestEnd
        {
            timer?.schedule(afterMilliseconds: wait)
            return
        }
        read(client)
    }

    private func duration(_ offset: Int64) -> Int64 { speed.map { Int64(Double(offset) / $0) } ?? 0 }

    private func wait(until offset: Int64) -> Int64? {
        let wait = startedAt + duration(offset) - loop.monotonicMilliseconds
        return wait > 0 ? wait : nil
    }

    /// - Returns: Whether the entry was sent; otherwise it waits for something.
    private func play(_ entry: Recording.Entry, _ client: Client) -> Bool {
        switch entry.action {
        case .event, .set, .press, .dismissed: guard providerWaiting.isEmpty else { return false }
        case .report, .done, .failed, .served: guard waiting.isEmpty else { return false }
        }
        switch entry.action {
        case .event:
            if let command = commands[next] { waiting.insert(client.post(command)) }
        case .set(let isOn, let sender, let eid):
            return ask(.tap(TapCommand(entry.key, .set(isOn), eid: eid)), as: sender)
        case .press(let sender, let eid): return ask(.tap(TapCommand(entry.key, .press, eid: eid)), as: sender)
        case .report(let isOn): sendAsProvider(.report(entry.key, value: isOn, at: nil))
        case .done(let isOn):
            guard let operation = operation(entry) else { return hasGivenUp(entry) }
            sendAsProvider(.done(op: operation, value: isOn))
        case .failed(let message):
            guard let operation = operation(entry) else { return hasGivenUp(entry) }
            sendAsProvider(.fail(op: operation, code: nil, message: message))
        case .dismissed(let account): return ask(.dismiss(entry.key), as: "account:\(account)")
        case .served(let isServed): return serve(isServed, entry.key)
        }
        return true
    }

    // MARK: The provider

    private func sendAsProvider(_ command: Command) {
        if provider == nil { openProvider() }
        if let provider { providerWaiting.insert(provider.request(command)) }
    }

    /// - Returns: Whether it is done.
    private func serve(_ isServed: Bool, _ key: Key) -> Bool {
        guard providerWaiting.isEmpty else { return false }
        let old = provider
        if isServed {
            // A control that is served already: another connection acts from now on.
            guard old == nil || servedKeys.contains(key) else {
                servedKeys.insert(key)
                return true
            }
            openProvider()
            servedKeys = [key]
            retiring = old
        } else if let old {
            provider = nil
            asked = [:]
            old.close()
            leave()
        }
        return true
    }

    private func openProvider() {
        provider = try? connect("telltale-sim-replay-house", eventIDPrefix: "replay-house") {
            [unowned self] client, event in
            guard client === provider else { return }
            switch event {
            case .action(let action): asked[action.key.text, default: []].append(action.operation)
            case .reply(let id, let reply):
                guard providerWaiting.remove(id) != nil else { return }
                note(reply)
                if providerWaiting.isEmpty, let old = retiring {
                    retiring = nil
                    asked = [:]
                    old.close()
                    leave()
                }
            case .lost(let id):
                if providerWaiting.remove(id) != nil { refusals.append("the provider's connection went") }
            case .ready, .refused, .disconnected, .item, .restarted, .subscription, .traitsRefused, .serviceRefused,
                .violation, .farewell:
                return
            }
            play()
        }
        servedKeys = []
        for kind in recording.servedKinds {
            if let provider { providerWaiting.insert(provider.request(.serve(kind: kind))) }
        }
        provider?.start()
    }

    /// A connection is closed, and the daemon needs a moment to notice it.
    private func leave() {
        pauseUntil = loop.monotonicMilliseconds + Self.farewellMilliseconds
    }

    /// Which operation an answer is of: the oldest that waits, or for one that came too late the last one.
    private func operation(_ entry: Recording.Entry) -> String? {
        let key = entry.key.text
        if entry.verdict == "ignored", let last = answered[key] { return last }
        guard let operation = asked[key]?.first else { return nil }
        asked[key]?.removeFirst()
        answered[key] = operation
        return operation
    }

    private func hasGivenUp(_ entry: Recording.Entry) -> Bool {
        let now = loop.monotonicMilliseconds
        let since = waitsSince ?? now
        waitsSince = since
        if now - since > Self.patience {
            refusals.append("\(entry.key) was not asked of its provider in time")
            return true
        }
        timer?.schedule(afterMilliseconds: 20)
        return false
    }

    /// A person acts, and everything else waits for the reply.
    private func ask(_ command: Command, as sender: String) -> Bool {
        // The daemon must have decided the earlier inputs first.
        guard waiting.isEmpty else { return false }
        do {
            let person = try people[sender] ?? makePerson(sender)
            people[sender] = person
            personRequest = person.request(command)
            isPersonBusy = true
        } catch {
            end(.failed("\(error)"))
        }
        next += 1
        return false
    }

    private var personRequest: RequestID?
    private var isPersonBusy = false

    /// - Parameter sender: `account:NAME`, or another name of a sender without an account.
    private func makePerson(_ sender: String) throws -> Client {
        var configuration = ClientConfiguration(name: "telltale-sim-replay-person", eventIDPrefix: "replay-person")
        if sender.hasPrefix("account:") { configuration.account = String(sender.dropFirst("account:".count)) }
        configuration.keepsRows = false
        let person = try Client(to: link.endpoint, configuration: configuration.through(link), on: loop) {
            [unowned self] _, event in
            switch event {
            case .reply(let id, let reply) where id == personRequest:
                note(reply)
                isPersonBusy = false
                play()
            case .refused(let reason, _): end(.failed("\(sender): \(reason)"))
            case .lost(let id) where id == personRequest: end(.failed("\(sender): the connection was lost"))
            case _: break
            }
        }
        person.start()
        return person
    }

    // MARK: The end

    private func read(_ client: Client) {
        let keys = Set(recording.entries.map(\.key.text)).union(recording.views.keys)
        reader = RecordingReader(client, keys: keys, beginning: beginning, clock: clock) { [unowned self] result in
            switch result {
            case .success(var played):
                played.entries.removeAll { !keys.contains($0.key.text) }
                played.views = played.views.filter { keys.contains($0.key) }
                end(.played(played))
            case .failure(let failure): end(.failed("\(failure)"))
            }
        }
    }
}
