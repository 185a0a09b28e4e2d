import Recordings

/// A world in which a scenario is played.
protocol StagedWorld: Environment {
    var clients: [any SimulatedClient] { get }
    var inputCount: Int { get }
    var stage: ScriptRunner? { get }
    var player: TracePlayer? { get }
    /// A check of the screens when all inputs were posted, where no script is played.
    var moments: [StoryScene] { get }
}

extension StagedWorld {
    /// The state of the run at a moment, for a display.
    func glimpse(at time: Int64) -> Glimpse {
        Glimpse(
            clients: clients, stage: stage, time: time, daemonTime: daemonTime, progress: progress, isCalm: isCalm,
            inputs: inputCount)
    }

    /// How much of the scenario is done, from 0 to 1.
    var progress: Double {
        var parts: [Double] = []
        if climate.producers + climate.fingers > 0 { parts.append(Double(inputCount) / Double(max(1, climate.inputs))) }
        if let stage { parts.append(Double(stage.next) / Double(max(1, setting.steps.count))) }
        if let player {
            parts.append(player.isDone ? 1 : Double(inputCount) / Double(max(1, setting.plan?.posts.count ?? 1)))
        }
        return min(1, parts.min() ?? 0)
    }

    /// The outcome of the run so far, without the final states and the faults of the daemon's own.
    var commonOutcome: ScenarioOutcome {
        var outcome = ScenarioOutcome()
        outcome.violations = ledger.violations
        (outcome.rows, outcome.folded, outcome.resumes) = (ledger.rows, ledger.folded, ledger.resumes)
        (outcome.resets, outcome.regressions) = (ledger.resets, ledger.regressions)
        (outcome.verdicts, outcome.errors) = (ledger.verdicts, ledger.errors)
        for result in ledger.operations.values { outcome.operations[result, default: 0] += 1 }
        outcome.latencies = ledger.latency?.samples ?? [:]
        outcome.timeline = ledger.latency?.timeline ?? Timeline()
        for case let screen as Screen in clients { outcome.screens[screen.view, default: 0] += 1 }
        outcome.inputs = inputCount
        outcome.milliseconds = now
        outcome.unmetViews = stage?.conclude() ?? []
        outcome.story = stage?.scenes ?? moments
        return outcome
    }
}
