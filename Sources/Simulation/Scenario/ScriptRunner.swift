import TelltaleModel
import TelltaleWire

/// Plays a scenario's steps, one after the other: each at its time, and when the one before it is done.
///
/// An event or a tap is done when it was answered; an expectation when it holds, or when its time is up. So the script
/// means the same at any speed, and slips a little where a daemon takes its time.
final class ScriptRunner {
    unowned let world: any Environment
    let courier: EventClient
    private(set) var next = 0
    /// Since when the step under way goes on.
    private var since: Int64?
    /// How much later than written the script is.
    private var slip: Int64 = 0
    private var waitsFor: Int?
    private(set) var unmet: [String] = []
    /// The run in pictures.
    var scenes: [StoryScene] = []
    var isSceneOpen = false
    /// How long after the last step its picture is taken, in milliseconds: rows are still on their way.
    private static let lastPass: Int64 = 1_000
    private var doneAt: Int64?
    /// The newest caption.
    private(set) var caption = ""
    private var hasEventually: Set<Int> = []
    private var brokeNever: Set<Int> = []
    let expectations: Expectations

    init(world: any Environment, courier: EventClient, expectations: Expectations) {
        self.world = world
        self.courier = courier
        self.expectations = expectations
        courier.onAnswer = { [unowned self] place, line in answered(place, line) }
        courier.onLater = { [unowned self] _ in go() }
    }

    private var steps: [ScriptStep] { world.setting.steps }
    var isDone: Bool { next >= steps.count }

    /// On named screens, by the scenario's names.
    var screens: [String: Screen] = [:]

    func begin() { pass(after: steps.first?.at ?? 0) }

    /// A screen shows something else.
    func changed(_ screen: Screen) {
        for (index, expected) in expectations.eventually.enumerated() where holds(expected) {
            hasEventually.insert(index)
        }
        for (index, expected) in expectations.never.enumerated() where holds(expected) { brokeNever.insert(index) }
        if !isDone, case .expect = steps[next].action, since != nil { go() }
    }

    /// The `eventually` and `never` expectations that did not hold, at the end.
    func conclude() -> [String] {
        closeScene()
        var unmet = unmet
        for (index, expected) in expectations.eventually.enumerated()
        where !hasEventually.contains(index) && !holds(expected) {
            unmet.append("$.expect.eventually[\(index)]: it was expected that \(expected.text), and it never did")
        }
        for (index, expected) in expectations.never.enumerated() where brokeNever.contains(index) {
            unmet.append("$.expect.never[\(index)]: \(expected.text), and it never should")
        }
        if !isDone { unmet.append("\(steps[next].path): the script did not get there") }
        return unmet
    }

    // MARK: Steps

    private func pass(after delay: Int64) { world.scheduleLater(0, for: courier, after: max(0, delay)) }

    private func go() {
        while !isDone, waitsFor == nil {
            let step = steps[next]
            let due = step.at + slip
            guard due <= world.now else { return pass(after: due - world.now) }
            if since == nil {
                since = world.now
                caption = step.text ?? caption
                narrate(step)
                begin(step)
                if waitsFor != nil { return }
            }
            if case .expect(let expected, let within) = step.action {
                let isMet = holds(expected)
                let patience = world.patience(within)
                guard isMet || world.now - (since ?? 0) >= patience else {
                    return pass(after: min(patience, max(1, patience / 40)))
                }
                let fault = isMet ? nil : "within \(within) ms, and it is \(shown(expected))"
                if let fault { unmet.append("\(step.path): it was expected that \(expected.text) \(fault)") }
                let isTitle = scenes.last?.caption == step.text
                narrate(StoryScene.Check(text: expected.text, caption: isTitle ? "" : step.text ?? "", fault: fault))
            }
            finish()
        }
        guard isDone, isSceneOpen else { return }
        let done = doneAt ?? world.now
        doneAt = done
        if world.now - done < Self.lastPass { pass(after: done + Self.lastPass - world.now) } else { closeScene() }
    }

    /// A request of the script that was refused.
    private func refused(_ request: String, _ reason: String, step: Int) {
        unmet.append("\(steps[step].path): \(request) is refused: \(reason)")
        narrate(StoryScene.Check(text: request, fault: "is refused: \(reason)"))
    }

    private func finish() {
        slip += world.now - (since ?? world.now)
        since = nil
        waitsFor = nil
        next += 1
    }

    private func begin(_ step: ScriptStep) {
        switch step.action {
        case .post(let key, let event, let accounts, let tail):
            let eid = "step-\(next)"
            var line = "EVT \(tagged(key)) type=\(event) eid=\(eid)"
            if !accounts.isEmpty {
                line += " for=" + accounts.map { world.setting.tagged($0) }.joined(separator: ",")
            }
            if !tail.isEmpty { line += " \(ScriptStep.dated(.object(tail), now: world.daemonTime))" }
            world.countInput()
            waitsFor = courier.post(line, eid: eid, due: world.instant)
        case .set(let key, let isOn, let screen):
            world.countInput()
            ask("SET \(tagged(key)) value=\(isOn ? "on" : "off") eid=step-\(next)", on: screen)
        case .press(let key, let screen):
            world.countInput()
            ask("PRESS \(tagged(key)) eid=step-\(next)", on: screen)
        case .open(let key, let screen): ask("OPEN \(tagged(key))", on: screen)
        case .dismiss(let key, let screen): ask("DISMISS \(tagged(key))", on: screen)
        case .tile(let tile, let screen):
            world.countInput()
            ask(tile.line(eid: "step-\(next)"), on: screen)
        case .connection(let isLost, let screen): screens[screen]?.stay(away: isLost)
        case .traits(let traits, let screen): ask("TRAIT " + traits.joined(separator: " "), on: screen)
        case .expect, .say: break
        }
    }

    private func ask(_ line: String, on name: String) {
        guard let screen = screens[name] else { return }
        let step = next
        waitsFor = step
        screen.perform(line) { [unowned self] answer in
            if answer.verb == "ERR" {
                refused(line, answer["code"] ?? "", step: step)
            }
            done(step)
        }
    }

    private func answered(_ place: Int, _ line: ServerLine) {
        guard waitsFor == place else { return }
        if line.verb == "ERR" {
            refused("the event", "\(line["code"] ?? ""), \(line.message ?? "")", step: next)
        }
        done(next)
    }

    private func done(_ step: Int) {
        guard step == next, waitsFor != nil else { return }
        finish()
        pass(after: 0)
    }

    // MARK: Rows on screens

    private func tagged(_ key: String) -> String { world.setting.tagged(key) }

    private func body(_ expected: ExpectedView) -> JSONObject? {
        let key = tagged(expected.key)
        return screens[expected.screen]?.table[key]?.body?.drawn(as: key, at: world.daemonTime)
    }

    private func holds(_ expected: ExpectedView) -> Bool {
        guard let screen = screens[expected.screen], screen.isLive || screen.isToStayAway else { return false }
        var expected = expected
        if !world.setting.tag.isEmpty, let shows = expected.shows {
            let id = String(expected.key.drop { $0 != "/" }.dropFirst())
            let tagged = world.setting.tagged(id)
            expected.shows = JSON.object(shows).mappingTexts { .string($0 == id ? tagged : $0) }.object
        }
        return expected.holds(body(expected))
    }

    private func shown(_ expected: ExpectedView) -> String {
        guard let body = body(expected) else { return "not shown" }
        guard let view = body["view"] else { return "\(JSON.object(body))" }
        return "{\"presentation\":\(body["presentation"] ?? .null),\"view\":\(view)}"
    }
}

extension ScriptRunner {
    /// Adds the clients that a scenario has beside its crowd: the script's screens and event client, and the trace's.
    static func set(
        in world: any Environment, expectations: Expectations, clients: inout [any SimulatedClient]
    ) -> (ScriptRunner?, TracePlayer?) {
        var stage: ScriptRunner?
        var player: TracePlayer?
        let setting = world.setting
        if !setting.screens.isEmpty || !setting.steps.isEmpty {
            let courier = EventClient(world: world, index: clients.count, source: setting.tagged("script"))
            clients.append(courier)
            let new = ScriptRunner(world: world, courier: courier, expectations: expectations)
            for named in setting.screens {
                let screen = Screen(world: world, index: clients.count, stage: named)
                screen.onChange = { [unowned new] screen in new.changed(screen) }
                new.screens[named.name] = screen
                clients.append(screen)
            }
            stage = new
        }
        if let plan = setting.plan {
            let courier = EventClient(world: world, index: clients.count, source: setting.tagged("trace"))
            clients.append(courier)
            player = TracePlayer(world: world, courier: courier, plan: plan)
        }
        return (stage, player)
    }
}
