import Foundation
import Simulation
import TelltaleModel
import TestSupport
import Testing

/// Scenario files: the shipped ones, and the messages about wrong ones.
struct ScenarioTests {
    static let named = [
        "coffee-in-the-car", "lunch-rush", "lossy-train", "flight-with-a-delay", "light-that-will-not-switch",
        "reconnect-storm", "poisoned-producer", "a-family",
    ]

    @Test func `the scenarios that ship have titles and stories, and the promised ones are there`() throws {
        let all = try ShippedScenarios.names.map { try ShippedScenarios.scenario($0) }
        #expect(Set(Self.named).isSubset(of: all.map(\.name)))
        #expect(all.allSatisfy { !$0.title.isEmpty && $0.about.count > 20 })
    }

    @Test func `a script without a population has no other clients`() throws {
        let scenario = try Self.scenario(
            """
            {"title":"t","screens":[{"name":"car","surface":"carplay"}],
             "steps":[{"post":"start","key":"order/1"}],"expect":{"applied":{"least":1,"most":1}}}
            """)
        let outcome = ScenarioRun.inProcess(scenario)
        #expect(outcome.violations == [])
        #expect(scenario.expectations.unmet(by: outcome) == [])
        #expect(outcome.inputs == 1)
        #expect(outcome.screens.values.reduce(0, +) == 1)
    }

    @Test func `a script with a light and its provider has no crowd either`() throws {
        let scenario = try Self.scenario(
            """
            {"title":"t","population":{"providers":1,"toggles":["lamp/1"]},"screens":[{"name":"car","surface":"carplay"}],
             "steps":[{"expect":{"screen":"car","key":"lamp/1","shows":{"available":true}}},
                      {"set":"lamp/1","to":"on","on":"car"}]}
            """)
        #expect((scenario.climate.producers, scenario.climate.screens, scenario.climate.fingers) == (0, 0, 0))
        let outcome = ScenarioRun.inProcess(scenario)
        #expect(outcome.violations == [])
        #expect(scenario.expectations.unmet(by: outcome) == [])
        #expect(outcome.inputs == 1)
        #expect(outcome.screens == ["carplay": 1])
    }

    @Test func `several faults of one part are reported at once, each with what to write`() throws {
        let error = try #require(throws: Scenario.Fault.self) {
            try Self.scenario(
                """
                {"title":"t","population":{"screens":-1,"cats":1,"dogs":2,"toggles":["lamp","bell"]},
                 "faults":{"resets":1001,"drops":"x"},"clients":{"surfaces":{"tv":1,"radio":2}},
                 "arrivals":{"rate":0,"bursts":[{"at":"1s","events":0,"every":"x"}]},
                 "screens":[{"name":"a","surface":"tv","colour":"red"}],
                 "steps":[{"post":7,"for":"alice","content-state":{"eta":"@soon","x":"@later"}},
                          {"set":"lamp","to":"up","on":"b"},{"expect":{"screen":"b","within":"long"}},{"open":"lamp/1","on":"a"}],
                 "expect":{"rows":-1,"happiness":1,"latency":{"car":{"p50":"1s"},"watch":{"p51":"1s","p50":1}},
                           "states":{"order":"x","order/1":7},"applied":{"least":3,"most":2}}}
                """)
        }
        let reported = error.description.split(separator: "\n").map(String.init)
        let places = [
            "population.screens takes a whole number from 0", "population.cats is unknown; there are producers, ",
            "population.dogs is unknown; ", "population.toggles holds lamp, which is no key such as porch-light/front",
            "population.toggles holds bell, ", "faults.resets takes a whole number from 0 to 1000",
            "faults.drops takes a whole number", "clients.surfaces.tv is none of phone, ",
            "clients.surfaces.radio is none of ", "arrivals.rate takes a number of events a second, above 0",
            "arrivals.bursts[0].events takes a whole number from 1",
            "arrivals.bursts[0].every takes a duration such as",
            "arrivals.bursts[0] takes { ", "screens[0].surface is none of phone, ", "screens[0].colour is unknown; ",
            "steps[0].key is missing: it takes a key such as ", "steps[0].post takes a text",
            "steps[0].for takes an array of texts", "steps[0].content-state.eta has @soon, which is no offset such as",
            "steps[0].content-state.x has @later, ", "steps[1].set takes a key such as",
            "steps[1].to takes \"on\" or \"off\"",
            "steps[1].on is b, and screens has no such name",
            "steps[2].expect.screen is b, and screens has no such name",
            "steps[2].expect.key is missing", "steps[2].expect.shows takes what the row holds; or write",
            "steps[2].expect.within takes a duration such as", "expect.rows takes a whole number",
            "expect.happiness is unknown; ", "expect.latency.car is no surface (phone, ",
            "expect.latency.watch.p51 is unknown; ", "expect.latency.watch.p50 takes a duration such as",
            "expect.states.order takes a key and the state it ends in",
            "expect.states.order/1 takes a key and the state",
            "expect.applied.least is above most",
        ]
        for place in places { #expect(reported.contains { $0.hasPrefix("x: $.\(place)") }, "\(place)") }
        #expect(reported.count == places.count, "\(error)")
    }

    @Test func `a file that is no JSON is reported with the line, the column and what to do`() throws {
        let error = try #require(throws: Scenario.Fault.self) {
            try Scenario(file: Array("{\n  \"title\": \"t\",\n  \"steps\": [ { 'say': 1 } ]\n}".utf8), name: "mine")
        }
        #expect(
            error.description
                == "mine: line 3, column 16, in steps[0]: ' stands where a member's name should (names are texts in double quotes)"
        )
    }

    @Test func `the story of a script has a scene an action, with its checks and the screens after it`() throws {
        let scenario = try Self.scenario(
            """
            {"title":"t","screens":[{"name":"car","surface":"carplay"},{"name":"all"}],
             "steps":[{"at":"1s","say":"An order","post":"start","key":"order/1"},
                      {"say":"It is there","expect":{"screen":"car","key":"order/1","shows":{"presentation":"small"}}},
                      {"expect":{"screen":"all","key":"order/1","hidden":true,"within":"1s"}},
                      {"at":"9s","say":"It waits","expect":{"screen":"all","key":"order/1","shows":{"state":"placed"}}},
                      {"at":"10s","post":"cancel","key":"order/1"}]}
            """)
        let story = ScenarioRun.inProcess(scenario).story
        #expect(story.map(\.caption) == ["An order", "It waits", ""])
        #expect(story.map(\.action) == ["post start order/1", "", "post cancel order/1"])
        #expect(story[0].checks.map(\.caption) == ["It is there", ""])
        #expect(story[0].checks[0].fault == nil)
        #expect(story[0].checks[1].fault?.hasPrefix("within 1000 ms, and it is {") == true)
        #expect(story[0].displays.map(\.name) == ["car", "all"])
        // Of each scene, the state before the next one began; the last one a second later, with the rows that came.
        #expect(story.map { $0.displays[1].rows.first?.body["state"] } == ["placed", "placed", "cancelled"])
    }

    @Test func `a crowd's story is a view of one screen of each view, and its time line counts everything`() throws {
        let scenario = try Self.scenario(
            #"{"title":"t","seed":5,"population":{"producers":2,"screens":6,"fingers":1,"inputs":150}}"#)
        let outcome = ScenarioRun.inProcess(scenario)
        #expect(outcome.story.count == 3)
        #expect(outcome.story.allSatisfy { !$0.displays.isEmpty && $0.caption.hasPrefix("After ") })
        let line = outcome.timeline
        #expect(line.intervals.count <= 120 && line.width % 100 == 0)
        #expect(line.intervals.reduce(0) { $0 + $1.rows } == outcome.rows)
        #expect(line.intervals.reduce(0) { $0 + $1.acknowledged } >= outcome.verdicts["applied"] ?? 0)
        let measured = outcome.latencies.filter { $0.key != "slow readers" }.values.reduce(0) { $0 + $1.count }
        #expect(line.intervals.reduce(0) { $0 + $1.latencies.count } == measured)
        #expect(line.width * Int64(line.intervals.count) <= outcome.milliseconds + line.width)
    }

    @Test func `the faults of every part of a file are reported at once`() throws {
        let error = try #require(throws: Scenario.Fault.self) {
            try Self.scenario(
                """
                {"seed":"x","clock":{"speed":0},"faults":{"rain":1},"colour":"red",
                 "screens":[{"name":"a","surface":"tv"}],
                 "steps":[{"post":"start"},{"say":"so"},{"dance":1}],"expect":{"happiness":1}}
                """)
        }
        let reported = error.description.split(separator: "\n")
        for place in [
            "$.title", "$.seed", "$.clock.speed", "$.faults.rain", "$.screens[0]", "$.steps[0]", "$.steps[2]",
            "$.expect.happiness",
            "$.colour",
        ] {
            #expect(reported.contains { $0.contains(place) }, "\(place): \(error)")
        }
        #expect(reported.count == 9)
    }

    @Test(
        "A script goes as it is written", arguments: ["bistro-at-the-door", "coffee-in-the-car", "flight-with-a-delay"])
    func script(name: String) throws {
        let scenario = try ShippedScenarios.scenario(name)
        let outcome = ScenarioRun.inProcess(scenario)
        #expect(outcome.violations == [])
        #expect(scenario.expectations.unmet(by: outcome) == [])
        #expect(outcome.latencies["carplay"]?.isEmpty == false)
    }

    @Test(
        "What does not come true is told with its place",
        arguments: [
            (
                #"{"at":"3s","expect":{"screen":"car","key":"order/1","shows":{"view":{"title":"gone"}},"within":"1s"}}"#,
                #""applied":1"#,
                "$.steps[1]: it was expected that car shows order/1 with {\"view\":{\"title\":\"gone\"}}"
            ),
            (
                #"{"at":"3s","expect":{"screen":"car","key":"order/1","hidden":true}}"#, #""applied":1"#,
                "$.steps[1]: it was expected that car does not show order/1 within 2000 ms"
            ),
            (#"{"at":"3s","say":"so"}"#, #""applied":2"#, "applied: 1, and at least 2 were expected"),
            (#"{"say":"so"}"#, #""applied":{"most":0}"#, "applied: 1, and at most 0 were expected"),
            (#"{"say":"so"}"#, #""states":{"order/1":"ready"}"#, "order/1 ended as unattended, and ready was expected"),
            (
                #"{"say":"so"}"#, #""never":[{"screen":"car","key":"order/1","shows":{"presentation":"small"}}]"#,
                "$.expect.never[0]: car shows order/1"
            ),
            (
                #"{"say":"so"}"#, #""eventually":[{"screen":"car","key":"order/2","shows":{}}]"#,
                "$.expect.eventually[0]: it was expected that car shows order/2"
            ),
            (#"{"say":"so"}"#, #""latency":{"carplay":{"p50":"0ms"}}"#, "latency carplay p50: "),
            (#"{"say":"so"}"#, #""latency":{"watch":{"p50":"1s"}}"#, "latency watch: no event reached a screen"),
            (#"{"press":"bell/9","on":"car"}"#, #""applied":1"#, "$.steps[1]: PRESS bell/9"),
        ])
    func unmet(step: String, expect: String, reported: String) throws {
        let scenario = try Self.scenario(
            """
            {"title":"t","population":{"producers":0,"screens":0,"fingers":0,"providers":0},
             "screens":[{"name":"car","surface":"carplay","account":"alice"}],
             "steps":[{"at":"2500ms","post":"start","key":"order/1","for":["alice"]},\(step),{"at":"4s","say":"end"}],
             "expect":{\(expect)}}
            """)
        let outcome = ScenarioRun.inProcess(scenario)
        #expect(outcome.violations == [])
        let unmet = scenario.expectations.unmet(by: outcome)
        #expect(unmet.contains { $0.hasPrefix(reported) }, "\(unmet)")
    }

    @Test func `the example in the README is a scenario that comes out as it says`() throws {
        let text = try String(
            contentsOf: repositoryRoot.appending(path: "Protocols/Scenarios/README.md"), encoding: .utf8)
        let example = try #require(text.components(separatedBy: "```json\n").dropFirst().first)
        var scenario = try Self.scenario(try #require(example.components(separatedBy: "```").first))
        scenario.setting.kinds = try ["coffee-order", "flight"].map {
            try ShippedScenarios.json(repositoryRoot.appending(path: "Protocols/Kinds/examples/\($0).json"))
        }
        scenario.climate.inputs = 700
        let outcome = ScenarioRun.inProcess(scenario)
        #expect(outcome.violations == [])
        #expect(scenario.expectations.unmet(by: outcome).filter { !$0.hasPrefix("applied") } == [])
    }

    /// The text of a file, and its message.
    static let wrong = [
        (#""title":"""#, "x: $.title takes a text"),
        (#""colour":"red""#, "x: $.colour is unknown; there are title, about, seed, clock, "),
        (#""seed":"one""#, "x: $.seed takes a whole number"),
        (#""clock":{"speed":0}"#, "x: $.clock.speed takes a whole number from 1 to 100000"),
        (#""population":[]"#, "x: $.population takes an object"),
        (#""population":{"producer":1}"#, "x: $.population.producer is unknown; there are producers, "),
        (#""population":{"kinds":{"parrot":1}}"#, "x: $.population.kinds.parrot needs its road"),
        (#""population":{"kinds":{"flight":0}}"#, "x: $.population.kinds.flight takes a weight from 1 to 1000000"),
        (#""population":{"toggles":["lamp"]}"#, "x: $.population.toggles holds lamp, which is no key"),
        (#""population":{"trace":{"file":"a.csv"}}"#, "x: $.population.trace.kind is missing"),
        (#""arrivals":{}"#, "x: $.arrivals takes a rate, bursts or a trace"),
        (#""arrivals":{"rate":-1}"#, "x: $.arrivals.rate takes a number of events a second, above 0"),
        (#""arrivals":{"bursts":[{"at":"1s"}]}"#, "x: $.arrivals.bursts[0] takes "),
        (#""faults":{"resets":1001}"#, "x: $.faults.resets takes a whole number from 0 to 1000"),
        (#""clients":{"surfaces":{"tv":1}}"#, "x: $.clients.surfaces.tv is none of phone, "),
        (#""screens":[{"surface":"watch"}]"#, "x: $.screens[0].name is missing"),
        (#""screens":[{"name":"a"},{"name":"a"}]"#, "x: $.screens[1].name is a, as that of a screen before it"),
        (#""steps":[{}]"#, "x: $.steps[0] does one thing: post, set, "),
        (#""steps":[{"at":"soon","say":"x"}]"#, "x: $.steps[0].at takes a duration such as"),
        (#""steps":[{"at":"2s","say":"x"},{"at":"1s","say":"y"}]"#, "x: $.steps[1].at is before the step before it"),
        (#""steps":[{"post":"start"}]"#, "x: $.steps[0].key is missing"),
        (#""steps":[{"lock":"phone"}]"#, "x: $.steps[0].lock is phone, and screens has no such name"),
        (
            #""steps":[{"post":"start","key":"order/1","content-state":{"eta":"@soon"}}]"#,
            "x: $.steps[0].content-state.eta has @soon, which is no offset such as"
        ),
        (
            #""screens":[{"name":"a"}],"steps":[{"expect":{"screen":"a","key":"order/1"}}]"#,
            "x: $.steps[0].expect.shows takes what the row holds"
        ),
        (#""expect":{"happiness":1}"#, "x: $.expect.happiness is unknown; there are inputs, "),
        (#""expect":{"rows":-1}"#, "x: $.expect.rows takes a whole number"),
        (#""expect":{"latency":{"car":{"p50":"1s"}}}"#, "x: $.expect.latency.car is no surface"),
        (#""expect":{"states":{"order":"ready"}}"#, "x: $.expect.states.order takes a key"),
        (
            #""population":{"producers":0,"fingers":0}"#,
            "x: $.population has nobody who does anything: name producers, fingers, a trace or steps"
        ),
    ]

    @Test("A wrong field is reported with its place and a correction", arguments: wrong)
    func fault(members: String, reported: String) {
        do {
            let title = members.contains("\"title\"") ? "" : #""title":"t","#
            _ = try Self.scenario("{\(title)\(members)}")
            Issue.record("it was read")
        } catch {
            #expect("\(error)".hasPrefix(reported), "\(error)")
        }
    }

    @Test func `events of an open model come at their rate, with or without replies`() throws {
        let scenario = try Self.scenario(
            """
            {"title":"t","seed":4,"population":{"producers":3,"screens":2,"fingers":0,"inputs":600},
             "arrivals":{"rate":20,"bursts":[{"at":"5s","events":100}]},
             "expect":{"inputs":600,"latency":{"all":{"p50":"2s"}}}}
            """)
        let outcome = ScenarioRun.inProcess(scenario)
        #expect(outcome.violations == [])
        #expect(scenario.expectations.unmet(by: outcome) == [])
        // 500 at 20 a second and a burst of 100: about 25 seconds, then a calm of 90 in each of three storms.
        #expect((285_000...310_000).contains(outcome.milliseconds), "\(outcome.milliseconds)")
    }

    @Test func `a trace's cases come at their offsets, and end as the data says`() throws {
        let json = try JSONParser.parse(
            """
            {"title":"t","population":{"producers":0,"screens":2,"fingers":0,"providers":0,
             "trace":{"file":"t.csv","kind":"ride","over":"10s"}},"expect":{"applied":2,"inputs":4}}
            """)
        func run(status: String) throws -> ScenarioOutcome {
            var scenario = try Scenario(json, name: "x")
            try scenario.readTraces { name in
                #expect(name == "t.csv")
                return Array(
                    """
                    case_id,event,timestamp,other
                    a,start,2018-01-01T00:00:00,
                    a,ride,2018-01-01T01:00:00,"{""final_status"":""\(status)""}"
                    b,start,2018-01-02T00:00:00,
                    b,ride,2018-01-03T00:00:00,"{""final_status"":""riding""}"
                    """.utf8)
            }
            let outcome = ScenarioRun.inProcess(scenario)
            #expect(scenario.expectations.unmet(by: outcome) == [])
            return outcome
        }
        #expect(try run(status: "riding").violations == [])
        #expect(
            try run(status: "arrived").violations.map(\.what) == [
                "the data says arrived of ride/a, the daemon riding"
            ])
    }

    private static func scenario(_ text: String) throws -> Scenario {
        try Scenario(JSONParser.parse(text), name: "x")
    }
}

/// The scenarios that ship, with the kinds that they need.
enum ShippedScenarios {
    static let folder = repositoryRoot.appending(path: "Tools/telltale-sim/Scenarios")

    static var names: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
                .map { String($0.dropLast(5)) }.sorted()
        }
    }

    static func scenario(_ name: String) throws -> Scenario {
        var scenario = try Scenario(json(folder.appending(path: "\(name).json")), name: name)
        scenario.setting.kinds = try scenario.kindNames.map { name in
            let files = ["examples", "widgets"].map {
                repositoryRoot.appending(path: "Protocols/Kinds/\($0)/\(name).json")
            }
            return try json(files.first { FileManager.default.fileExists(atPath: $0.path) } ?? files[0])
        }
        return scenario
    }

    static func json(_ file: URL) throws -> JSON {
        let bytes = Array(try Data(contentsOf: file))
        return try JSONParser().parse(bytes.span)
    }
}
