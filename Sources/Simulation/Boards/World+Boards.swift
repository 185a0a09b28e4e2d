import Hub
import Surfaces
import TelltaleModel

// People who arrange boards, and devices that show them.
extension World {
    /// There is nothing to place where there are no widgets.
    var hasBoards: Bool { climate.boards > 0 && hasWidgets }

    /// - Parameter first: The number of the first one.
    func makeBoardClients(after first: Int) -> [any SimulatedClient] {
        guard hasBoards else { return [] }
        var made: [any SimulatedClient] = []
        for number in 0..<3 {
            made.append(BoardWriter(world: self, index: first + made.count, number: number, random: random.fork()))
        }
        for number in 0..<climate.boards {
            made.append(BoardScreen(world: self, index: first + made.count, number: number, random: random.fork()))
        }
        return made
    }

    /// Small boards, whose limits people meet, and a hold that ends within a run.
    func setBoards(of configuration: inout HubConfiguration) {
        guard hasBoards else { return }
        configuration.limits.tilesPerBoard = SimulatedBoards.limit + (bug == .boardLimitMisread ? 1 : 0)
        configuration.surfaces.stackHold = Milliseconds(bug == .holdForgotten ? 0 : SimulatedBoards.hold)
    }

    /// The moment as of which the daemon draws.
    var drawnMoment: Int64 { max(daemonTime, records.boards?.time ?? 0) }
}
