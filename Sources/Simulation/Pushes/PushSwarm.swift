import TelltaleModel

/// The result of one seed of a world with a sender of pushes.
public struct PushSwarmResult: Sendable, Equatable {
    public var seed: UInt64
    public var violation: Violation?
    /// Of every byte that any client was given, with its time: the same for the same seed, always.
    public var hash: UInt64 = 0
    public var inputs = 0
    /// Of the sender.
    public var kills = 0
    /// Of the daemon.
    public var recoveries = 0
    /// Pushes that reached a device.
    public var arrivals = 0
    public var cards = 0
    /// Virtual milliseconds.
    public var span: Int64 = 0
}

/// Runs of a simulated world in which `telltale-push` sends the states of activities to devices.
public enum PushSwarm {
    /// - Parameter trace: Called with every piece that a client reads and sends, its time and the client's number.
    public static func run(
        seed: UInt64, bug: PushBug? = nil,
        trace: ((_ time: Int64, _ client: Int, _ text: String) -> Void)? = nil
    ) -> PushSwarmResult {
        var climate = FaultProfile(seed: seed)
        (climate.inputs, climate.screens, climate.wanderers, climate.guests, climate.widgets) = (300, 1, 0, 0, 0)
        // A device drops a push whose time lies before the newest one's, and a clock that is set back makes such.
        climate.clockJumps = 0
        var result = PushSwarmResult(seed: seed)
        do throws(SimulatedKinds.KindFault) {
            let world = try World(climate, bug: nil, trace: trace)
            let sender = PushSender(
                world: world, index: world.clients.count, bug: bug, random: SimulationRandom(seed: seed &+ 99))
            world.add(sender)
            world.run()
            let ledger = world.ledger
            (result.violation, result.hash) = (ledger.violations.first, ledger.hash.finalize())
            (result.inputs, result.recoveries, result.span) = (world.inputCount, world.daemon.recoveries, world.now)
            (result.kills, result.arrivals, result.cards) = (
                sender.kills, sender.service.arrivals, sender.service.cards.count
            )
        } catch {
            result.violation = Violation(promise: "kinds", what: error.text, time: 0)
        }
        return result
    }
}
