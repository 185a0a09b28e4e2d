import TelltaleModel
import TestSupport
import Testing

@testable import Kinds

/// A picture of a machine: nothing lies on anything else, and its words are only words.
struct DiagramTests {
    /// The faults of its places.
    private static func faults(_ diagram: Diagram) -> [String] {
        var faults: [String] = []
        let boxes = diagram.boxes
        func contains(_ outer: Diagram.Frame, _ inner: Diagram.Frame) -> Bool {
            inner.x >= outer.x - 0.1 && inner.y >= outer.y - 0.1 && inner.maxX <= outer.maxX + 0.1
                && inner.maxY <= outer.maxY + 0.1
        }
        func overlap(_ one: Diagram.Frame, _ other: Diagram.Frame) -> Bool {
            one.x < other.maxX - 0.1 && other.x < one.maxX - 0.1 && one.y < other.maxY - 0.1 && other.y < one.maxY - 0.1
        }
        let leaves = boxes.indices.filter { !boxes[$0].isContainer }
        for (index, box) in boxes.enumerated() {
            if let parent = box.parent, !contains(boxes[parent].frame, box.frame) {
                faults.append("\(index) leaves \(parent)")
            }
            for (place, one) in box.children.enumerated() {
                for other in box.children[..<place] where overlap(boxes[one].frame, boxes[other].frame) {
                    faults.append("\(one) overlaps \(other)")
                }
            }
        }
        for (index, link) in diagram.links.enumerated() {
            for (point, box) in [(link.points.first, link.source), (link.points.last, link.target)] {
                let frame = boxes[box].frame
                guard let point, point.x >= frame.x - 0.1, point.x <= frame.maxX + 0.1, point.y >= frame.y - 0.1,
                    point.y <= frame.maxY + 0.1
                else {
                    faults.append("the line \(index) does not touch \(box)")
                    continue
                }
            }
            guard let label = link.labelFrame else { continue }
            for (other, link) in diagram.links[..<index].enumerated() {
                if let frame = link.labelFrame, overlap(label, frame) {
                    faults.append("labels \(other) and \(index) overlap")
                }
            }
            for leaf in leaves where overlap(label, boxes[leaf].frame) {
                faults.append("the label of line \(index) lies on \(leaf)")
            }
        }
        return faults
    }

    @Test func `Each shipped machine has its places`() throws {
        var count = 0
        for file in try Shipped.files() {
            guard let drawing = KindSet.read(file.bytes, file: file.name).0.flatMap({ MachineDrawing($0) }) else {
                continue
            }
            let diagram = try #require(Diagram(drawing))
            #expect(Self.faults(diagram) == [], "\(file.name)")
            count += 1
        }
        #expect(count >= 4)
    }

    @Test("Random machines have their places", arguments: 0..<10)
    func random(group: UInt64) throws {
        var drawn = 0
        for seed in 0..<30 {
            var random = SeededGenerator(seed: group * 30 + UInt64(seed))
            var source = goodKind.object ?? JSONObject()
            source["machine"] = Self.machine(&random)
            guard let drawing = Kind.read(.object(source), file: "a.json").kind.flatMap({ MachineDrawing($0) }) else {
                continue
            }
            let diagram = try #require(Diagram(drawing))
            #expect(Self.faults(diagram) == [], "seed \(group * 30 + UInt64(seed)): \(JSON.object(source))")
            let picture = diagram.svg(isStandalone: false)
            #expect(picture == Diagram(drawing)?.svg(isStandalone: false))
            drawn += 1
        }
        // Most are kinds without a fault.
        #expect(drawn >= 15)
    }

    /// A machine of nested and parallel states, with transitions between any of them.
    private static func machine(_ random: inout SeededGenerator) -> JSON {
        var paths: [String] = []
        /// The members of a compound state: `initial` and `states`.
        func body(_ prefix: String, _ depth: Int) -> JSONObject {
            let names = (0..<Int.random(in: 1...5, using: &random)).map {
                "s\($0)" + String(repeating: "w", count: .random(in: 0...14, using: &random))
            }
            paths += names.map { prefix + $0 }
            var states = JSONObject()
            for name in names {
                var state = JSONObject()
                if depth < 3, Int.random(in: 0..<4, using: &random) == 0 {
                    if Bool.random(using: &random) {
                        state = body("\(prefix)\(name).", depth + 1)
                    } else {
                        state["regions"] = .array(
                            ["left", "right"].map { region in
                                var part = body("\(prefix)\(name).\(region).", depth + 2)
                                part["id"] = .string(region)
                                return .object(part)
                            })
                    }
                }
                states[name] = .object(state)
            }
            var result = JSONObject()
            result["initial"] = .string(names[0])
            result["states"] = .object(states)
            return result
        }
        var machine = body("", 0)
        func connect(_ object: inout JSONObject) {
            var events = JSONObject()
            for number in 0..<Int.random(in: 0...3, using: &random) {
                events["event\(number)"] = .string(paths[Int.random(in: 0..<paths.count, using: &random)])
            }
            object["on"] = .object(events)
            if let regions = object["regions"]?.array {
                object["regions"] = .array(
                    regions.map { region in
                        var inner = region.object ?? JSONObject()
                        connect(&inner)
                        inner["on"] = nil
                        return .object(inner)
                    })
            }
            guard var states = object["states"]?.object else { return }
            for member in Array(states) {
                var inner = member.value.object ?? JSONObject()
                connect(&inner)
                states[member.name] = .object(inner)
            }
            object["states"] = .object(states)
        }
        connect(&machine)
        return .object(machine)
    }

    @Test func `Texts of a kind are no markup`() throws {
        var source = goodKind.object ?? JSONObject()
        source["title"] = "<script>alert(1)</script> \"&\u{202E}"
        let drawing = try #require(Kind.read(.object(source), file: "a.json").kind.flatMap { MachineDrawing($0) })
        let picture = try #require(Diagram(drawing)).svg(isStandalone: false)
        #expect(!picture.contains("<script") && !picture.contains("\u{202E}") && !picture.contains("<style"))
        #expect(picture.contains("&lt;script&gt;alert(1)"))
        #expect(picture.contains(#"data-state="placed" data-active="false""#))
        #expect(picture.contains(#"data-event="confirm" data-from="placed" data-to="brewing""#))
    }

    @Test func `A machine that is too large is refused`() throws {
        var states = JSONObject()
        for number in 0...Diagram.Limits.standard.states { states["s\(number)"] = .object(JSONObject()) }
        var machine = JSONObject()
        machine["initial"] = "s0"
        machine["states"] = .object(states)
        var source = goodKind.object ?? JSONObject()
        source["machine"] = .object(machine)
        let drawing = try #require(Kind.read(.object(source), file: "a.json").kind.flatMap { MachineDrawing($0) })
        #expect(Diagram(drawing) == nil)
    }

    /// Of a machine: a hundred states, and from each a transition to the ones `steps` further on.
    private static func ring(states count: Int, steps: [Int]) throws -> MachineDrawing {
        var states = JSONObject()
        for number in 0..<count {
            var events = JSONObject()
            for step in steps { events["e\(step)"] = .string("s\((number + step) % count)") }
            states["s\(number)"] = ["on": .object(events)]
        }
        var source = goodKind.object ?? JSONObject()
        source["machine"] = ["initial": "s0", "states": .object(states)]
        return try #require(Kind.read(.object(source), file: "a.json").kind.flatMap { MachineDrawing($0) })
    }

    @Test func `An answer at once has narrower limits: states, transitions, and how far these reach`() throws {
        let limits = Diagram.Limits.interactive
        for (states, steps, isDrawn) in [
            (100, [1], true), (limits.states, [1], false), (100, [1, 2, 3], true), (100, [1, 2, 3, 4, 5], false),
            (100, [1, 40], false),
        ] as [(Int, [Int], Bool)] {
            let drawing = try Self.ring(states: states, steps: steps)
            #expect((Diagram(drawing, limits: limits) != nil) == isDrawn, "\(states) \(steps)")
            #expect(Diagram(drawing) != nil)
        }
    }
}
