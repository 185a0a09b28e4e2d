import TelltaleWire

/// The provider of the lamps and bells. It acts on most requests soon and correctly, on some late, wrongly or never.
final class LampProvider: ProvidingClient {
    var seat: Seat
    let name: String
    var unanswered: [String] = []
    var plans: [String] = []
    var isServing = false
    private var oldOperations: [String] = []
    /// The last value that the daemon asked of each toggle.
    private var values: [String: Bool] = [:]

    init(_ seat: Seat) {
        self.seat = seat
        name = seat.world.setting.tagged("house-\(seat.number)")
    }

    func act(on link: SimulatedLink) {
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

    func willSay(_ line: String) {
        if line.hasPrefix("DONE ") { world.ledger.doneOperations.insert(line.operation) }
        oldOperations.append(line.operation)
    }

    func connect() {
        unanswered = []
        _ = open()
        say("HELLO client=\(name)")
        serve()
        guard world.setting.cast.reportsControls else { return }
        for key in world.setting.cast.toggles {
            world.ledger.reportedKeys.insert(key)
            say("REPORT \(key) value=\(values[key] == true ? "on" : "off")")
        }
        for key in world.setting.cast.buttons { say("REPORT \(key)") }
    }

    func serve() { for kind in world.setting.cast.controlKinds { say("SERVE \(kind)") } }

    func answered(_ line: ServerLine, to request: String?) {
        guard line.verb == "ERR" else { return }
        // A provider that was refused SERVE by the disk may not report either.
        let isUnserved = line["retry"] == "later" || line["code"] == "forbidden"
        if isUnserved || (world.climate.startsFull && line["code"] == "unknown_kind") { return serveLater() }
        world.violated("protocol", "\(name) is refused: \(line)")
    }

    func asked(_ line: ServerLine) {
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
        plan(answer, after: delay)
    }
}

extension String {
    /// The `op=` of a provider's answer.
    fileprivate var operation: String {
        split(separator: " ").first { $0.hasPrefix("op=") }.map { String($0.dropFirst(3)) } ?? ""
    }
}
