import Reports
import Simulation
import TelltaleModel
import TestSupport
import Testing

/// Whatever events, scenarios and commands say, the report's markup is its own.
struct HostileReportTests {
    private static let hostile = [
        "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='alert(1)",
        "</style><script>x</script>",
        "</title><b>", "<!--", "-->", "]]>", "&lt;b&gt;", "&#60;b&#62;", "\u{202e}txt.exe", "javascript:alert(1)",
        "<svg/onload=x>", "{{attributes.item}}", "\u{1b}[2J", "<", ">", "\"", "'", "&", "=", " ", "/", "a", "é", "☕",
    ]

    @Test("No text becomes markup", arguments: Lane.some(0..<40, atEveryChange: 8))
    func markup(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed) + 1)
        func text() -> String {
            (0..<Int.random(in: 1...4, using: &random)).map { _ in Self.hostile.randomElement(using: &random) ?? "" }
                .joined()
        }
        let (screen, other) = (text() + "1", text() + "2")
        let source: JSON = [
            "title": .string(text()), "about": .string(text()),
            "screens": [
                ["name": .string(screen), "surface": "phone"], ["name": .string(other), "surface": "carplay"],
                ["name": "all"],
            ],
            "steps": [
                [
                    "say": .string(text()), "post": "start", "key": "order/1",
                    "attributes": ["item": .string(text()), "<i>": .string(text())],
                    "content-state": ["eta": .string("x" + text()), "\"><b>": [.string(text())]],
                ],
                [
                    "say": .string(text()),
                    "expect": [
                        "screen": .string(screen), "key": "order/1", "shows": ["lockScreen": .string(text())],
                        "within": "1ms",
                    ],
                ],
                ["at": "5s", "post": "confirm", "key": "order/1"],
            ],
            "expect": ["states": ["order/1": .string(text())]],
        ]
        let scenario = try Scenario(source, name: text())
        var outcome = ScenarioRun.inProcess(scenario)
        outcome.verdicts[text()] = 3
        outcome.errors[text()] = 1
        outcome.operations[text()] = 2
        outcome.screens[text()] = 2
        outcome.latencies[text()] = [1, 2_000, 3_000_000]
        outcome.violations.append(Violation(promise: text(), what: text(), time: 1))
        var report = RunReport(scenario, outcome, isLive: false)
        report.notes = [text()]
        report.origin = RunReport.Origin(version: text(), date: text(), arguments: ["run", text(), "--seed", text()])
        #expect(HTMLCheck.faults(of: report.html) == [])
    }

    @Test func `the check finds markup that got through`() {
        for bad in [
            "<img src=x>", "<b onclick=\"x\">", "<p style=\"width:1px;background:url(x)\">", "<a href=\"x\">", "a < b",
        ] {
            #expect(HTMLCheck.faults(of: "<p>\(bad)</p>") != [], "\(bad)")
        }
    }
}

/// The elements and attributes of a report. Anything else in it is a fault.
enum HTMLCheck {
    private static let elements: Set<String> = [
        "html", "head", "meta", "title", "style", "body", "header", "section", "footer", "h1", "h2", "h3", "p", "div",
        "span",
        "b", "i", "ul", "ol", "li", "dl", "dt", "dd", "table", "tr", "th", "td", "figure", "figcaption", "code", "svg",
        "line",
        "polyline", "polygon",
    ]
    private static let attributes: Set<String> = [
        "lang", "charset", "http-equiv", "content", "name", "class", "style", "scope", "viewBox", "preserveAspectRatio",
        "role",
        "aria-label", "data-name", "x1", "x2", "y1", "y2", "points",
    ]

    static func faults(of html: String) -> [String] {
        var faults: [String] = []
        var rest = html[...]
        if rest.hasPrefix("<!doctype html>") { rest = rest.dropFirst("<!doctype html>".count) }
        while let start = rest.firstIndex(of: "<") {
            rest = rest[start...]
            guard let tag = rest.prefixMatch(of: #/<(/?)([a-z0-9]+)((?: [A-Za-z0-9-]+="[^"<>]*")*)/?>/#) else {
                faults.append("this is no tag: \(rest.prefix(60))")
                rest = rest.dropFirst()
                continue
            }
            if !elements.contains(String(tag.2)) { faults.append("there is an element \(tag.2)") }
            for attribute in tag.3.matches(of: #/ ([A-Za-z0-9-]+)="([^"]*)"/#) {
                if !attributes.contains(String(attribute.1)) { faults.append("there is an attribute \(attribute.1)") }
                if attribute.1 == "style", attribute.2.wholeMatch(of: #/(width|left|top):-?[0-9.]+%/#) == nil {
                    faults.append("there is a style \(attribute.2)")
                }
            }
            rest = rest[tag.range.upperBound...]
            // The style sheet has > and no <.
        }
        return faults
    }
}
