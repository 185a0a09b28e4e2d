public import TelltaleModel
import TelltaleWire

/// A scenario in process, on virtual time.
public enum ScenarioRun {
    /// - Parameters:
    ///   - trace: Called with every piece that a client reads and sends, its time and the client's number.
    ///   - watch: Called before each event with its time; returns whether the run goes on.
    public static func inProcess(
        _ scenario: Scenario, trace: TraceSink? = nil,
        watch: ((Glimpse) -> Bool)? = nil
    ) -> ScenarioOutcome {
        do throws(SimulatedKinds.KindFault) {
            let world = try World(scenario.climate, setting: scenario.setting, bug: nil, trace: trace)
            world.stageScenario(scenario.expectations)
            if let watch { world.mayGoOn = { [unowned world] in watch(world.glimpse(at: $0)) } }
            world.run()
            var outcome = world.commonOutcome
            outcome.crashes = world.daemon.recoveries
            for (key, state) in world.finalStates(scenario) { outcome.states[key] = state }
            outcome.judgeTrace(world.player) { world.finalState(of: $0) }
            return outcome
        } catch {
            var outcome = ScenarioOutcome()
            outcome.violations = [Violation(promise: "kinds", what: error.description, time: 0)]
            return outcome
        }
    }
}

extension World {
    func finalState(of key: String) -> String? {
        var reader = ClientLines()
        let answers = reader.read(daemon.answers(to: ["GET \(key)"])).lines
        return answers.first { $0.verb == "OK" }?.tail?["state"]?.string
    }

    fileprivate func finalStates(_ scenario: Scenario) -> [(String, String)] {
        scenario.expectations.states.compactMap { key, _ in finalState(of: setting.tagged(key)).map { (key, $0) } }
    }
}

extension ScenarioOutcome {
    /// Whether the trace's cases ended as the data says.
    mutating func judgeTrace(_ player: TracePlayer?, state: (String) -> String?) {
        guard let player else { return }
        for (key, expected) in player.expectedStates {
            let found = state(key)
            if found != expected {
                violations.append(
                    Violation(
                        promise: "reference",
                        what: "the data says \(expected) of \(key), the daemon \(found ?? "nothing")",
                        time: 0))
            }
        }
    }
}

/// A moment of a run for a display: the screens, and the progress.
public struct Glimpse {
    public struct Display: Sendable {
        public var name: String
        public var view: ViewName
        /// The keys and bodies of its rows.
        public var rows: [(key: String, body: JSONObject)]
        public var isAway: Bool

        public init(name: String, view: ViewName, rows: [(key: String, body: JSONObject)], isAway: Bool) {
            (self.name, self.view, self.rows, self.isAway) = (name, view, rows, isAway)
        }
    }

    let clients: [any SimulatedClient]
    let stage: ScriptRunner?
    /// Milliseconds from the beginning.
    public let time: Int64
    /// Unix milliseconds of the daemon's clock.
    public let daemonTime: Int64
    public let progress: Double
    public let isCalm: Bool
    public let inputs: Int

    public var caption: String { stage?.caption ?? "" }

    /// The named screens, or else one of each view of the crowd.
    ///
    /// - Parameters:
    ///   - limit: The most screens.
    ///   - rowLimit: The most rows of a screen in a view. A screen of the script shows its first rows, in their order.
    /// A screen of a crowd has many more and shows the newest ones.
    public func displays(limit: Int, rowLimit: (ViewName) -> Int) -> [Display] {
        var screens = clients.compactMap { $0 as? Screen }
        let isStaged = screens.contains(where: \.isOnStage)
        if isStaged {
            screens = screens.filter(\.isOnStage)
        } else {
            var seen: Set<String> = []
            let order = ["phone", "carplay", "watch", "desktop", "pad", "standby", "full"]
            func rank(_ screen: Screen) -> (Int, Int, Int) {
                (order.firstIndex(of: screen.view) ?? order.count, screen.pattern == "*" ? 0 : 1, screen.index)
            }
            screens = screens.sorted { rank($0) < rank($1) }
                .filter { seen.insert($0.view).inserted }
            if screens.count > 1 { screens.removeAll { $0.view == "full" } }
        }
        return screens.prefix(limit).map { screen in
            let view = ViewName(screen.view) ?? .full
            if isStaged { return screen.display(limit: rowLimit(view)) }
            let newest = screen.table.sorted { ($1.value.rev, $0.key) < ($0.value.rev, $1.key) }
            var rows = newest.prefix(rowLimit(view)).compactMap { key, shown in shown.body.map { (key: key, body: $0) }
            }
            for index in rows.indices { rows[index].body["order"] = .integer(Int64(index)) }
            return Display(name: screen.name, view: view, rows: rows, isAway: screen.link == nil)
        }
    }
}

extension Screen {
    /// Its first rows, in their order.
    func display(limit: Int) -> Glimpse.Display {
        var rows = table.compactMap { key, shown in
            shown.body.map { (key: key, body: $0.drawn(as: key, at: world.daemonTime)) }
        }
        // Of a stack it draws one tile.
        if isBoard { rows.removeAll { $0.body["top"] == false || $0.body["order"] == 0 } }
        rows.sort { ($0.body["order"]?.integer ?? .max, $0.key) < ($1.body["order"]?.integer ?? .max, $1.key) }
        return Glimpse.Display(
            name: name, view: ViewName(view) ?? .full, rows: Array(rows.prefix(limit)), isAway: link == nil)
    }
}
