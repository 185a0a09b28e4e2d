import ArgumentParser
import Demo
import Foundation
import Simulation
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

struct ProviderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provider",
        abstract: "Is the provider of controls that are not there: slow, and failing at times.",
        discussion: """
            Names each control, a toggle with what it is at first. Serves their kinds, and does what it is asked with the \
            delays and failures of the options.

              telltale-sim provider porch-light/front=off log-coffee/espresso
              telltale-sim provider porch-light/front=off --slow 0-50 --fail 0 --whims 5
            """)

    @Argument(help: ArgumentHelp("A toggle, as porch-light/front=off, or a button.", valueName: "KEY[=on|off]"))
    var controls: [String]
    @OptionGroup var options: ProviderOptions
    @Option(
        help: ArgumentHelp(
            "How often somebody uses the switch on the wall, as 5s; a plain number is seconds.", valueName: "SPAN"))
    var whims: String?
    @OptionGroup var daemon: DaemonLinkOptions

    func validate() throws {
        guard !controls.isEmpty else { throw ValidationError("name a control, as porch-light/front=off") }
        if let whims, Self.span(whims) == nil {
            throw ValidationError("--whims \(whims): write a span such as 5s or 1m, from a second to a day")
        }
        _ = try parsed()
    }

    func run() throws {
        let link = try daemon.link
        let thing = SimulatedProvider(
            temper: options.temper,
            values: Dictionary(
                try parsed().compactMap { control in control.value.map { (control.key, $0) } },
                uniquingKeysWith: { _, last in last }), seed: options.seedOrRandom)
        try SimulatedProviderClient(thing, controls: try parsed().map(\.key), whims: whims.flatMap(Self.span)).run(
            at: link)
    }

    private static func span(_ text: String) -> Milliseconds? {
        let span = Int64(text).map { Milliseconds.seconds($0) } ?? Milliseconds(span: text)
        return span.flatMap { (Milliseconds.seconds(1) ... .days(1)).contains($0) ? $0 : nil }
    }

    private func parsed() throws -> [(key: Key, value: Bool?)] {
        try controls.map { text in
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value: Bool?
            switch parts.count > 1 ? parts[1] : "-" {
            case "on": value = true
            case "off": value = false
            case "-": value = nil
            case _: throw ValidationError("\(text): a toggle is on or off")
            }
            guard let key = Key(String(parts[0])) else {
                throw ValidationError("\(text): write KIND/ID=on, KIND/ID=off or, for a button, KIND/ID")
            }
            return (key, value)
        }
    }
}

/// Speaks for a ``SimulatedProvider``.
private final class SimulatedProviderClient {
    private var thing: SimulatedProvider
    private let controls: [Key]
    private let whims: Milliseconds?
    private var timers: [String: TimerHandle] = [:]
    private var serving: Set<RequestID> = []
    private var hasServed = false
    /// The controls that were reported, by the requests.
    private var reported: [RequestID: Key] = [:]
    private var failure: ExitCode?

    init(_ thing: SimulatedProvider, controls: [Key], whims: Milliseconds?) {
        self.thing = thing
        self.controls = controls
        self.whims = whims
    }

    func run(at link: ToolClient) throws {
        let loop = try EventLoop()
        defer { loop.shutDown() }
        let configuration = ClientConfiguration(name: "telltale-sim-provider", eventIDPrefix: "provider")
        let client = try Client(to: link.endpoint, configuration: configuration.through(link), on: loop) {
            [unowned self] client, event in
            handle(event, client)
        }
        var kinds: [String] = []
        for key in controls where !kinds.contains(String(key.kind)) { kinds.append(String(key.kind)) }
        for kind in kinds { serving.insert(client.request(.serve(kind: kind))) }
        let whim = try TimerHandle(on: loop) { [unowned self, unowned client] _ in
            guard client.isReady, let (key, value) = thing.useSwitch() else { return }
            Output.text("\(key) was switched \(value ? "on" : "off") by hand")
            client.request(.report(key, value: value, at: nil))
        }
        if let whims { whim.scheduleRepeating(everyMilliseconds: whims.count) }
        client.start()
        loop.run()
        whim.cancel()
        client.close()
        if let failure { throw failure }
    }

    private func handle(_ event: ClientEvent, _ client: Client) {
        switch event {
        case .ready:
            // After a restart of the daemon too: its values may be older.
            if hasServed { report(client) }
        case .reply(let id, let reply) where serving.contains(id):
            guard reply.isOK else { return fail(reply.line.message ?? "SERVE was refused", client) }
            serving.remove(id)
            guard serving.isEmpty else { return }
            hasServed = true
            report(client)
            complain("telltale-sim: serving \(controls.map(\.text).joined(separator: ", "))")
        case .reply(let id, let reply)
        where reply.line["code"] == ErrorCode.badAttribute.rawValue && reported[id] != nil:
            guard let key = reported[id] else { break }
            let advice = thing.values[key] == nil ? "\(key) is a toggle: write \(key)=on or \(key)=off" : nil
            fail(advice ?? "\(key): \(reply.line.message ?? "the report was refused")", client)
        case .reply(_, let reply) where !reply.isOK: complain("telltale-sim: \(reply.line.message ?? "refused")")
        case .refused(let reason, _): fail(reason, client)
        case .disconnected where !hasServed && !client.hasAskedAll: break
        case .disconnected(let reason, _):
            timers = [:]
            if hasServed { return complain("telltale-sim: \(reason); trying again") }
            failure = .noDaemon
            fail("no daemon: \(reason)", client)
        case .action(let action): perform(action, client)
        case .violation(let text): complain("telltale-sim: the daemon broke a promise: \(text)")
        case .serviceRefused(_, let line): fail(line.message ?? "refused", client)
        case .item, .reply, .restarted, .lost, .subscription, .traitsRefused, .farewell: break
        }
    }

    private func fail(_ reason: String, _ client: Client) {
        complain("telltale-sim: \(reason)")
        failure = failure ?? .failure
        client.loop.stop()
    }

    private func report(_ client: Client) {
        for key in controls { reported[client.request(.report(key, value: thing.values[key], at: nil))] = key }
    }

    private func perform(_ action: ProviderAction, _ client: Client) {
        let wish = action.value.map { $0 ? "on" : "off" } ?? "press"
        let (delay, answer) = thing.answer(to: action.key, value: action.value)
        timers[action.operation] = try? TimerHandle(on: client.loop) { [unowned self, unowned client] _ in
            timers[action.operation] = nil
            thing.finish(answer, on: action.key)
            switch answer {
            case .done(let value):
                Output.text("\(action.key) \(wish): done after \(delay.count) ms")
                client.request(.done(op: action.operation, value: value))
            case .failed(let code, let message):
                Output.text("\(action.key) \(wish): \(message), after \(delay.count) ms")
                client.request(.fail(op: action.operation, code: code, message: message))
            case .silence: Output.text("\(action.key) \(wish): says nothing")
            }
        }
        timers[action.operation]?.schedule(afterMilliseconds: delay.count)
    }
}
