import Reports
import Simulation
import TelltaleModel
import Testing

struct HumanTimeTests {
    @Test(
        "Durations are written as people write them",
        arguments: [
            (0, "0.00 ms"), (830, "0.83 ms"), (996, "1.0 ms"), (1_234, "1.2 ms"), (9_949, "9.9 ms"), (9_951, "10 ms"),
            (45_400, "45 ms"), (999_499, "999 ms"), (999_500, "1.0 s"), (1_250_000, "1.3 s"), (59_949_000, "59.9 s"),
            (60_000_000, "1m 00s"), (330_000_000, "5m 30s"), (7_500_000_000, "2h 05m"), (280_800_000_000, "3d 6h"),
            (Int64.max, "106751991d 4h"), (-5, "0.00 ms"),
        ])
    func durations(microseconds: Int64, text: String) {
        #expect(HumanTime.text(microseconds: microseconds) == text)
    }
}

struct RunReportTests {
    private func report(_ outcome: ScenarioOutcome = ScenarioOutcome(), isLive: Bool = false) throws -> RunReport {
        let scenario = try Scenario(
            JSONParser.parse(#"{"title":"A rush","about":"So it is.","population":{"producers":1}}"#), name: "rush")
        return RunReport(scenario, outcome, isLive: isLive)
    }

    @Test func `it says which release made it, when, and how to make it again`() throws {
        var report = try report()
        report.origin = RunReport.Origin(
            version: "1.2.3", date: "2026-11-25T01:00:00Z", arguments: ["run", "./it's mine.json", "--seed", "7", ""])
        let html = report.html
        #expect(html.contains("telltale-sim 1.2.3") && html.contains("2026-11-25T01:00:00Z"))
        #expect(
            html.contains(
                "<code>telltale-sim run &#39;./it&#39;\\&#39;&#39;s mine.json&#39; --seed 7 &#39;&#39;</code>"))
        #expect(html.contains("rush, seed 1, in process, on virtual time"))
        #expect(!report.json.description.contains("1.2.3"), "the same run gives the same bytes")
    }

    @Test func `it has nothing from elsewhere, and lets no script run`() throws {
        let html = try report().html
        #expect(html.contains("default-src 'none'"))
        for outside in ["http:", "https:", "<script", "<link", "src=", "@import", "url("] {
            #expect(!html.contains(outside), "\(outside)")
        }
    }

    @Test func `its charts have whole labels, within the axis, at any length of a run`() throws {
        for inputs in [3, 40, 150] {
            let scenario = try Scenario(
                JSONParser.parse(
                    #"{"title":"t","seed":2,"population":{"producers":2,"screens":5,"fingers":0,"inputs":\#(inputs)}}"#),
                name: "t")
            let html = RunReport(scenario, ScenarioRun.inProcess(scenario), isLive: false).html
            // Labels are text beside the picture: they are not scaled with it, and a box of SVG cannot cut them.
            #expect(!html.contains("<text"))
            #expect(HTMLCheck.faults(of: html) == [])
            for place in html.matches(of: #/style="(?:left|top):(-?[0-9.]+)%"/#) {
                #expect((0...100).contains(Double(place.1) ?? -1), "\(place.0)")
            }
            for heading in ["Acknowledged events a second", "Rows on screens a second", "Event to view", "Over time"] {
                #expect(html.contains(heading), "\(heading)")
            }
        }
    }

    @Test func `faults stand first, one by one`() throws {
        var outcome = ScenarioOutcome()
        outcome.violations = [Violation(promise: "P3", what: "a rev goes back", time: 4)]
        outcome.unmetViews = ["$.steps[1]: it was expected"]
        let html = try report(outcome).html
        #expect(html.contains("✗ 2 things are not as they should be."))
        #expect(
            html.contains("<li>P3 at 4 ms: a rev goes back</li>")
                && html.contains("<li>$.steps[1]: it was expected</li>"))
    }

    @Test func `screens are drawn as their rows are`() throws {
        let scenario = try Scenario(
            JSONParser.parse(
                """
                {"title":"t","population":{"providers":1,"toggles":["lamp/1"]},
                 "screens":[{"name":"car","surface":"carplay"},{"name":"bar","surface":"desktop"},{"name":"wrist","surface":"watch"},
                            {"name":"mine","surface":"phone"},{"name":"all"}],
                 "steps":[{"say":"Ordered","post":"start","key":"order/1","attributes":{"item":"Flat white"}},
                          {"expect":{"screen":"car","key":"order/1","shows":{}}},
                          {"at":"9s","say":"Nothing changes"}]}
                """), name: "t")
        let html = RunReport(scenario, ScenarioRun.inProcess(scenario), isLive: false).html
        for part in [
            "CarPlay · car", "Mac menu bar · bar", "Watch · wrist", "iPhone · mine", "Full view · all",
            "<h3>Ordered</h3>",
            "<b>Flat white</b>", "<span class=\"switch\"></span>", "<i style=\"width:10%\"></i>", "post start order/1",
            "<li>car shows order/1 with {}</li>", "Unchanged: car, bar, wrist, mine, all",
        ] {
            #expect(html.contains(part), "\(part)")
        }
    }
}

struct ReportComparisonTests {
    private func report(
        p99: Int = 10_000, faults: [JSON] = [], regressions: Int64 = 0, scenario: String = "rush",
        view: String = "carplay"
    ) -> JSON {
        let times: JSON = ["p50": 1_000, "p99": .integer(Int64(p99)), "max": .integer(Int64(p99) * 9), "rows": 10]
        var views = JSONObject()
        views[view] = times
        return [
            "scenario": .string(scenario), "seed": "1", "faults": .array(faults), "regressions": .integer(regressions),
            "inputs": 10, "event_to_view_us": .object(views),
        ]
    }

    private func compare(_ after: JSON, percent: Double = 10, least: Double = 1_000) -> ReportComparison? {
        ReportComparison(before: report(), after: after, percent: percent, leastMicroseconds: least)
    }

    @Test func `each threshold decides, and the table says what it allowed`() throws {
        #expect(compare(report())?.isGood == true)
        let slower = try #require(compare(report(p99: 11_500)))
        #expect(!slower.isGood)
        #expect(
            slower.text == """
                                          before       after      change     allowed
                faults                         0           0                       0
                regressions                    0           0                       0
                inputs                        10          10
                carplay p50               1.0 ms      1.0 ms                  2.0 ms
                carplay p99                10 ms       12 ms       +15 %       11 ms  worse
                carplay max                90 ms      104 ms       +15 %
                Worse than is allowed: carplay p99.
                """)
        #expect(compare(report(p99: 11_500), percent: 15)?.isGood == true)
        #expect(compare(report(p99: 11_500), least: 1_500)?.isGood == true)
        #expect(compare(report(p99: 9_000))?.isGood == true)
        #expect(compare(report(faults: ["a"]))?.isGood == false)
        #expect(compare(report(regressions: 1))?.isGood == false)
    }

    @Test func `a view that is gone is worse, a new one is a note, and another scenario is no comparison`() throws {
        let other = try #require(compare(report(view: "watch")))
        #expect(!other.isGood)
        #expect(other.text.contains("Note: watch is in the second report alone."))
        #expect(other.text.contains("Worse than is allowed: carplay p50, carplay p99."))
        #expect(other.json["figures"]?.array?.last?["after"] == .null)
        #expect(compare(report(scenario: "other")) == nil)
    }
}
