import Kinds
import TelltaleModel
import Testing

struct TemplateTests {
    @Test(
        "Templates are filled in",
        arguments: [
            ("plain", "plain"), ("", ""), ("{{id}}", "1042"), ("{{ id }}", "1042"), ("{{kind}}/{{id}}", "order/1042"),
            ("{{state.title}} ({{state.key}})", "In the queue (queued)"), ("{{progress}}", "0.256"),
            ("{{progress | percent}}", "26%"), ("{{attributes.shop}}", "Höegi ☕"),
            ("{{attributes.shop | upper}}", "HÖEGI ☕"), ("{{attributes.shop | lower}}", "höegi ☕"),
            ("{{content.shelf | lower | capitalize}}", "Bottom left"), ("{{content.gap | trim}}", "x"),
            ("{{attributes.shop | truncate:4}}", "Höe…"), ("{{attributes.shop | truncate:7}}", "Höegi ☕"),
            ("[{{content.missing}}]", "[]"), ("[{{content.shelf.deeper}}]", "[]"), ("[{{content.nothing}}]", "[]"),
            (#"{{content.missing | default:"—"}}"#, "—"),
            ("{{content.missing | default:'a \"b\" }} c'}}", "a \"b\" }} c"),
            ("{{content.empty | default:none}}", "none"), ("{{content.nothing | default:none}}", "none"),
            ("{{content.zero | default:none}}", "0"), ("{{content.price}}", "3.456"),
            ("{{content.price | round}}", "3"),
            ("{{content.price | round:2}}", "3.46"), ("{{content.cents | round:2}}", "0.05"),
            ("{{content.minus | round:1}}", "-2.5"), ("{{content.zero | round:2}}", "0.00"),
            ("{{content.text | round:1}}", "2.5"), ("{{content.shelf | round}}", "BOTTOM LEFT"),
            ("{{content.flag}}", "true"), ("{{content.list}}", #"["a",{"b":1}]"#), ("{{content.list.1.b}}", "1"),
            ("{{content.list.7}}", ""), ("{{content.seconds | date}}", "2025-11-21"),
            ("{{content.seconds | time}}", "10:00"), ("{{content.seconds | time:'+05:30'}}", "15:30"),
            ("{{content.seconds | time:-11}}", "23:00"), ("{{content.seconds | datetime}}", "2025-11-21 10:00"),
            ("{{content.iso | date}}", "2018-07-17"), ("{{content.shelf | date}}", "BOTTOM LEFT"),
            ("{{event.x}}|{{state.path}}|{{nonsense}}", "||"), ("{{content.shelf | shout}}", "BOTTOM LEFT"),
            ("a } b }} c { d", "a } b }} c { d"),
            // Decimal text is rounded as decimal, although the nearest binary number is a little less.
            ("{{content.share | percent}}", "29%"), ("{{content.shareText | percent}}", "29%"),
            ("{{content.half | round:2}}", "1.01"), ("{{content.halfText | round:2}}", "1.01"),
            ("{{content.longText | round:2}}", "1.00"), ("{{content.debt | round:2}}", "-1.01"),
            ("{{content.power | round:2}}", "1.01"), ("{{content.little | round:2}}", "0.00"),
            ("{{content.little | round}}", "0"), ("{{content.almost | round:1}}", "10.0"),
            ("{{content.almost | percent}}", "1000%"), ("{{content.tinyText | round:3}}", "0.001"),
            ("{{content.endless | round:2}}", "0.00"),
        ])
    func filled(text: String, expected: String) throws {
        let content = try json(
            #"""
            {"shelf":"BOTTOM LEFT","gap":"  x ","empty":"","nothing":null,"zero":0,"price":3.456,"cents":0.05,"minus":-2.45,
             "text":"2.5","share":0.285,"shareText":"0.285","half":1.005,"halfText":"1.005","longText":"1.00499999999999999999999",
             "debt":"-1.005","power":"+100.5e-2","little":-0.004,"almost":"9.996","tinyText":"0.0005","endless":"1e-9223372036854775808","flag":true,"list":["a",{"b":1}],"seconds":1763719200,"iso":"2018-07-17 00:00:00"}
            """#)
        let context = context(attributes: ["shop": "Höegi ☕"], content: content, progress: 0.256)
        #expect(try Template(text).rendered(in: context) == expected)
    }

    @Test(
        "Numbers as large as they come are filled in",
        arguments: [
            ("{{content.huge | percent}}", "1e+307"), ("{{content.text | percent}}", "-1e308"),
            ("{{content.large | percent}}", "1e+20%"), ("{{content.huge | round:9}}", "1e+307"),
            ("{{content.tiny | round:9}}", "0.000000000"), ("{{content.endless | percent}}", "1e999"),
            ("{{content.word | percent}}", "inf"), ("{{content.word | round:2}}", "inf"),
            ("{{content.most | round:9}}", "9.223372036854776e+18"),
            ("{{content.most | date}}", "9.223372036854776e+18"),
            ("{{content.least | datetime}}", "-9.3e+18"), ("{{content.huge | time:\"-23:59\"}}", "1e+307"),
            ("{{content.whole | round:2}}", "9007199254740991.00"), ("{{content.whole | round}}", "9007199254740991"),
            ("{{content.whole | percent}}", "900719925474099100%"),
            ("{{content.below | round:1}}", "-9007199254740991.0"),
            ("{{content.first | date:\"-23:59\"}}", "0000-12-31"),
            ("{{content.last | date:\"+23:59\"}}", "10000-01-01"),
        ])
    func large(text: String, expected: String) throws {
        let content = try json(
            #"""
            {"huge":1e307,"text":"-1e308","large":1e18,"tiny":5e-324,"endless":"1e999","word":"inf",
             "most":9.223372036854775807e18,"least":-9.3e18,
             "whole":9007199254740991,"below":-9007199254740991,"first":"0001-01-01","last":"9999-12-31T23:59:59.999Z"}
            """#)
        #expect(try Template(text).rendered(in: context(attributes: [:], content: content, progress: nil)) == expected)
    }

    @Test(
        "What is no date is shown as it is",
        arguments: [
            "2023-02-29", "2100-02-29", "2024-2-29", "2024-02-29T24:00", "2024-02-29T10", "2024-02-29T1:30",
            "2024-02-29T10:30:5", "2024-02-29T10:30:005Z", "2024-02-29T10:30:005.5Z", "2024-02-29T10:30:00.Z",
            "2024-02-29T10:30:61Z", "2024-02-29T10:30Z ", "2024-02-29T10:30+24:00", "2024-02-29T10:30 Europe/Berlin",
        ])
    func noDate(text: String) throws {
        let context = context(attributes: [:], content: ["d": .string(text)], progress: nil)
        #expect(try Template("{{content.d | datetime}}").rendered(in: context) == text)
    }

    @Test(
        "A date is told in the zone that is asked for",
        arguments: [
            ("2024-02-29", "2024-02-29 09:00"), ("2000-02-29T23:59:60Z", "2000-03-01 09:00"),
            ("2024-03-31T02:30:00.250+02:00", "2024-03-31 09:30"), ("2024-12-31t23:59:59,9-1130", "2025-01-01 20:29"),
        ])
    func date(text: String, expected: String) throws {
        let context = context(attributes: [:], content: ["d": .string(text)], progress: nil)
        #expect(try Template("{{content.d | datetime:'+09:00'}}").rendered(in: context) == expected)
    }

    @Test func `a text that reads much many times is cut between two letters`() throws {
        let content: JSON = ["n": .string(String(repeating: "é", count: 1_500))]
        let template = try Template("x" + String(repeating: "{{content.n}}", count: 70))
        let text = template.rendered(in: context(attributes: [:], content: content, progress: nil))
        #expect(text.utf8.count == 2_047 && text.hasPrefix("xé") && text.hasSuffix("é"))
    }

    @Test(
        "A broken template is refused, with its place",
        arguments: [
            ("{{", 2), ("a {{}}", 4), ("{{ id", 0), ("{{id}", 4), ("{{id |}}", 6), ("{{id | default:}}", 15),
            ("{{id | default:\"x}}", 15), ("{{a b}}", 4), ("{{content..eta}}", 2), ("{{.x}}", 2), ("{{content.}}", 2),
            ("{{id}} {{", 9), ("{{(id)}}", 2),
        ])
    func broken(text: String, offset: Int) {
        #expect { try Template(text) } throws: { ($0 as? TemplateSyntaxError)?.offset == offset }
    }
}
