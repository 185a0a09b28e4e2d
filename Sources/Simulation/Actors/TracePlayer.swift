import Recordings
import TelltaleModel
import TelltaleWire

/// Posts recorded cases at their offsets, without waiting for the replies to earlier events.
final class TracePlayer {
    unowned let world: any Environment
    let courier: EventClient
    private let plan: ReplayPlan
    private var next = 0

    init(world: any Environment, courier: EventClient, plan: ReplayPlan) {
        self.world = world
        self.courier = courier
        self.plan = plan
        courier.onLater = { [unowned self] _ in go() }
    }

    var isDone: Bool { next == plan.posts.count && courier.isIdle }

    func begin() { go() }

    private func go() {
        while next < plan.posts.count {
            let post = plan.posts[next]
            guard post.due.count <= world.now else {
                return world.scheduleLater(0, for: courier, after: post.due.count - world.now)
            }
            next += 1
            let command = post.command
            let eid = "row-\(next)"
            var line = "EVT \(world.setting.tagged(command.key.text)) type=\(command.type) eid=\(eid)"
            if let version = command.version { line += " ver=\(version)" }
            if !command.tail.isEmpty { line += " \(JSON.object(command.tail))" }
            world.countInput()
            courier.post(line, eid: eid, due: world.instant - (world.now - post.due.count) * 1_000)
        }
    }

    /// The final state of each case, as the data gives it.
    var expectedStates: [(key: String, state: String)] {
        plan.cases.map { (world.setting.tagged($0.key.text), $0.expectedState) }
    }
}
