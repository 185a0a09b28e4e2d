import TelltaleModel
import TelltaleWire

/// The provider of the lamps and bells. It acts on most requests soon and correctly, on some late, wrongly or never.
final class LampProvider: ConnectedClient {
    unowned let world: any Environment
    let index: Int
    private let name: String
    private var random: SimulationRandom
    var connection = ClientConnection()
    private var unanswered = 0
    /// The lines that it sends later, by number.
    private var plans: [String] = []
    /// Whether `SERVE` is scheduled to be sent again.
    private var isServing = false
    private var oldOperations: [String] = []
    /// The last value that the daemon asked of each toggle.
    private var values: [String: Bool] = [:]

    init(world: any Environment, index: Int, number: Int, random: SimulationRandom) {
        self.world = world
        self.index = index
        self.random = random
        name = world.setting.tagged("house-\(number)")
    }

    var isWaiting: Bool { link == nil || unanswered > 0 }
    var untilNextMove: Int64 { random.pick(1_000...10_000) }

    func move() {
        guard link != nil else { return connect() }
        if world.isCalm { return }
        if random.chance(world.climate.resets) { return vanish() }
        let toggles = world.setting.cast.toggles
        if random.chance(300), !toggles.isEmpty {
            let key = toggles[random.below(toggles.count)]
            world.ledger.reportedKeys.insert(key)
            say("REPORT \(key) value=\(random.chance(500) ? "on" : "off")")
        }
        // A second answer to an operation that has ended must change nothing.
        if random.chance(world.climate.lies), let old = oldOperations.last, world.ledger.doneOperations.contains(old) {
            say("DONE op=\(old)")
        }
    }

    func doLater(_ what: Int) {
        guard plans.indices.contains(what) else { return }
        let line = plans[what]
        if line == "SERVE" {
            // The daemon refused it for want of disk space. Serving a kind twice does no harm.
            isServing = false
            return serve()
        }
        guard link != nil else { return }
        if line.hasPrefix("DONE ") { world.ledger.doneOperations.insert(line.operation) }
        oldOperations.append(line.operation)
        say(line)
    }

    func connect() {
        unanswered = 0
        _ = connection.open(world.connect(self))
        say("HELLO client=\(name)")
        serve()
        guard world.setting.cast.reportsControls else { return }
        for key in world.setting.cast.toggles {
            world.ledger.reportedKeys.insert(key)
            say("REPORT \(key) value=\(values[key] == true ? "on" : "off")")
        }
        for key in world.setting.cast.buttons { say("REPORT \(key)") }
    }

    private func serve() { for kind in world.setting.cast.controlKinds { say("SERVE \(kind)") } }

    private func say(_ line: String) {
        guard let link else { return }
        unanswered += 1
        world.send(line + "\n", on: link)
    }

    func received(_ bytes: [UInt8], on link: Link) {
        guard let lines = connection.read(bytes, on: link)?.lines else { return }
        for line in lines {
            switch line.verb {
            case "OK": unanswered -= 1
            case "ERR":
                unanswered -= 1
                // A provider that was refused SERVE by the disk may not report either.
                let isUnserved = line["retry"] == "later" || line["code"] == "forbidden"
                if isUnserved || (world.climate.startsFull && line["code"] == "unknown_kind") {
                    if !isServing {
                        isServing = true
                        plans.append("SERVE")
                        world.scheduleLater(plans.count - 1, for: self, after: RequestQueue.retryDelay)
                    }
                    continue
                }
                world.violated("protocol", "\(name) is refused: \(line)")
            case "DO": act(line)
            case _: break
            }
        }
    }

    private func act(_ line: ServerLine) {
        guard let operation = line["op"], let key = line["key"], !world.isCalm || link != nil else { return }
        if line["action"] == "press", !world.ledger.askedForPress(operation) {
            world.violated("P6", "\(name) is asked for the press \(operation) of \(key) again")
        }
        let isLying = !world.isCalm && random.chance(world.climate.lies)
        var answer = "DONE op=\(operation)"
        var delay = random.pick(10...1_500)
        if isLying {
            switch random.below(4) {
            case 0: return
            case 1: answer = "FAIL op=\(operation) code=jammed {\"message\":\"it is stuck\"}"
            case 2: delay = random.pick(5_000...20_000)
            case _:
                if line["action"] == "set" { answer += " value=\(line["value"] == "on" ? "off" : "on")" }
            }
        }
        if world.climate.providerFailures > 0, !world.isCalm, random.chance(world.climate.providerFailures) {
            answer = "FAIL op=\(operation) code=jammed {\"message\":\"it is stuck\"}"
        }
        if world.climate.slowestProvider > 0, !world.isCalm {
            delay = max(delay, random.pick(0...Int64(world.climate.slowestProvider)))
        }
        if answer.hasPrefix("DONE"), line["action"] == "set" { values[key] = line["value"] == "on" }
        plans.append(answer)
        world.scheduleLater(plans.count - 1, for: self, after: delay)
    }
}

extension String {
    /// The `op=` of a provider's answer.
    fileprivate var operation: String {
        split(separator: " ").first { $0.hasPrefix("op=") }.map { String($0.dropFirst(3)) } ?? ""
    }
}
