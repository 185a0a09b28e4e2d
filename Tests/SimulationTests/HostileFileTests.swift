import Foundation
import Recordings
import Simulation
import TelltaleModel
import TestSupport
import Testing

/// No content of a scenario file or a recording may trap, and every accepted one must run.
struct HostileFileTests {
    @Test("Scenario files with bytes changed, cut and doubled are read or refused", arguments: 0..<4)
    func scenarioBytes(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed) + 1)
        let files = try Self.scenarios.map { Array("\($0)".utf8) }
        for _ in 0..<250 {
            guard var bytes = files.randomElement(using: &random) else { continue }
            for _ in 0..<Int.random(in: 1...3, using: &random) { Mutation.change(&bytes, &random) }
            Self.exercise(bytes)
        }
    }

    @Test("Scenario files with values in each other's place are read or refused", arguments: 0..<4)
    func scenarioValues(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed) + 100)
        let sources = try Self.scenarios
        let pool = sources.flatMap { Mutation.values(in: $0) } + Self.odd
        for _ in 0..<250 {
            guard var source = sources.randomElement(using: &random) else { continue }
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                source = Mutation.replacing(source, with: pool.randomElement(using: &random) ?? .null, &random)
            }
            Self.exercise(Array("\(source)".utf8))
        }
    }

    @Test("Recordings with bytes changed and values exchanged are read or refused", arguments: 0..<4)
    func recordings(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed) + 200)
        let lines = try Self.recording.map { try JSONParser.parse($0) }
        let pool = lines.flatMap { Mutation.values(in: $0) } + Self.odd
        for round in 0..<500 {
            var changed = lines
            let place = Int.random(in: 0..<lines.count, using: &random)
            changed[place] = Mutation.replacing(
                changed[place], with: pool.randomElement(using: &random) ?? .null, &random)
            if round % 5 == 0 { changed.shuffle(using: &random) }
            var bytes = Array(changed.map { "\($0)" }.joined(separator: "\n").utf8)
            if round % 2 == 0 { Mutation.change(&bytes, &random) }
            do throws(RecordingFault) {
                let recording = try Recording(file: bytes)
                // A recording that was taken can be written, replayed and compared.
                let again = try Recording(file: Array(recording.lines.joined(separator: "\n").utf8))
                #expect(again.entries == recording.entries)
                _ = recording.commands(beginning: 1_763_719_200_000)
                _ = recording.differences(from: again)
                _ = (recording.isTimed, recording.servedKinds, recording.kinds)
            } catch {
                #expect(error.description.hasPrefix("line "))
            }
        }
    }

    // MARK: -

    private static var scenarios: [JSON] {
        get throws {
            try ShippedScenarios.names.map {
                try ShippedScenarios.json(ShippedScenarios.folder.appending(path: "\($0).json"))
            }
        }
    }

    private static let odd: [JSON] = [
        .null, true, 0, -1, 1, 1.5, .init(9.007199254740991e15), .init(-9.007199254740991e15), .init(1e300), "", "*",
        "a/b",
        "order/1", "365d", "9999999999999999d", "0ms", "@+365d", "@-365d", "@+99999999999d", "@", [], [[]], [:],
        ["": ""],
        ["least": 5, "most": 1], ["at": "0ms", "events": 1_000_000, "every": "1ms"], ["screen": "car", "hidden": true],
        ["@": .init(9.007199254740991e15)], ["@ms": .init(-9.007199254740991e15)], "<b>", "\u{0}", "\u{202e}",
    ]

    private static let recording = [
        #"{"recording":1,"end":7063,"deadlines":0,"kinds":["order"]}"#,
        #"{"at":400,"key":"order/1","event":"start","src":"pos","eid":"1","ver":3,"happened":-5,"tail":{"content-state":{"eta":{"@":360000}}},"verdict":"applied","state":"active placed"}"#,
        #"{"at":900,"key":"lamp/1","set":true,"sender":"account:alice","eid":"t1","verdict":"applied","state":"pending off"}"#,
        #"{"at":950,"key":"bell/1","press":true,"sender":"account:alice","verdict":"applied","state":"performing"}"#,
        #"{"at":960,"key":"lamp/1","done":true,"verdict":"applied","state":"settled on"}"#,
        #"{"at":970,"key":"lamp/1","report":false,"verdict":"applied","state":"settled off"}"#,
        #"{"at":980,"key":"bell/1","failed":"stuck","verdict":"applied","state":"ready"}"#,
        #"{"at":990,"key":"lamp/1","served":false,"verdict":"applied","state":"settled off"}"#,
        #"{"at":999,"key":"order/1","dismissed":"bob","verdict":"applied","state":"dismissed placed"}"#,
        #"{"view":"order/1","body":{"state":"placed","removeAt":{"@ms":70000}}}"#,
    ]

    /// Reads it, and plays the beginning of one that is taken.
    private static func exercise(_ bytes: [UInt8]) {
        do throws(Scenario.Fault) {
            var scenario = try Scenario(file: bytes, name: "hostile")
            // A big crowd is no fault, but takes its time.
            guard scenario.climate.screens <= 60, scenario.climate.producers <= 10, scenario.climate.fingers <= 10,
                scenario.climate.providers <= 5, scenario.climate.wanderers <= 5, scenario.setting.trace == nil
            else { return }
            scenario.setting.kinds = []
            scenario.climate.inputs = min(scenario.climate.inputs, 20)
            var events = 0
            let outcome = ScenarioRun.inProcess(
                scenario,
                watch: { _ in
                    events += 1
                    return events < 100
                })
            _ = scenario.expectations.unmet(by: outcome)
        } catch {
            #expect(error.description.split(separator: "\n").allSatisfy { $0.hasPrefix("hostile: ") }, "\(error)")
        }
    }
}
