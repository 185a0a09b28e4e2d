import Recordings
import TelltaleModel

// The reports of a crowd, while it runs and at its end.
extension Crowd {
    /// The state of the run at this moment, for a display.
    public var glimpse: Glimpse {
        Glimpse(
            clients: clients, stage: stage, time: now, daemonTime: daemonTime, progress: progress, isCalm: isCalm,
            inputs: inputCount)
    }

    /// How much of the scenario is done, from 0 to 1.
    public var progress: Double {
        var parts: [Double] = []
        if climate.producers + climate.fingers > 0 { parts.append(Double(inputCount) / Double(max(1, climate.inputs))) }
        if let stage { parts.append(Double(stage.next) / Double(max(1, setting.steps.count))) }
        if let player {
            parts.append(player.isDone ? 1 : Double(inputCount) / Double(max(1, setting.plan?.posts.count ?? 1)))
        }
        return min(1, parts.min() ?? 0)
    }

    public var outcome: ScenarioOutcome {
        var outcome = ScenarioOutcome()
        outcome.collect(from: ledger, clients: clients)
        outcome.inputs = inputCount
        outcome.milliseconds = now
        outcome.unmetSights = stage?.conclude() ?? []
        outcome.story = stage?.scenes ?? moments
        outcome.states = finale?.states ?? [:]
        return outcome
    }

    /// The parts of the scenario that a run against a daemon in another process cannot perform as written.
    public var notes: [String] {
        var notes: [String] = []
        var left: [String] = []
        if climate.crashes > 0 { left.append("crashes") }
        if climate.fullDisks > 0 { left.append("fullDisks") }
        if climate.startsFull { left.append("startsFull") }
        if climate.clockJumps > 0 { left.append("clockJumps") }
        if climate.widgets > 0 { left.append("widgets") }
        if !left.isEmpty {
            notes.append("\(left.joined(separator: ", ")): only a world in process can do that; left out here")
        }
        if setting.clockSpeed != 1, Double(setting.clockSpeed) != daemonSpeed {
            notes.append(
                "the scenario's clock runs at \(setting.clockSpeed), the daemon's at \(daemonSpeed): start it with --clock-speed \(setting.clockSpeed)"
            )
        }
        if climate.slowestWire > 1 {
            notes.append(
                "event to view holds the scenario's own delay of up to \(climate.slowestWire) ms between a sender and the daemon"
            )
        }
        return notes
    }
}
