import Kinds
import TelltaleModel
import TelltaleStatechart
import Testing

struct MachinePreviewTests {
    /// The output of a preview of this machine for this input.
    private func output(
        _ machine: String, _ input: String, format: MachinePreview.Format = .text
    ) throws -> (lines: [String], complaints: Int) {
        var source = goodKind.object ?? JSONObject()
        source["machine"] = try json(machine)
        let (kind, diagnostics) = Kind.read(.object(source), file: "a.json")
        guard case .activity(let activity)? = kind?.body else {
            Issue.record("\(diagnostics)")
            return ([], 0)
        }
        var preview = try MachinePreview(activity, format: format)
        var (lines, complaints) = ([preview.start], 0)
        for line in input.split(separator: "\n") {
            let answer = preview.answerWord(String(line))
            lines.append(answer.text)
            complaints += answer.complaints.count
            #expect(!answer.isMalformed || answer.complaints.count == 1)
        }
        return (lines, complaints)
    }

    private let order = #"""
        {"initial":"placed","states":{
          "placed":{"on":{"confirm":"brewing"},"after":{"5m":"late"}},
          "late":{"after":{"PT1M":"later"},"on":{"confirm":"brewing"}},"later":{"on":{"confirm":"brewing"}},
          "brewing":{"initial":"grind","states":{"grind":{"on":{"ground":{"target":"pour","guard":"content.beans > 3"}}},"pour":{}},
                     "on":{"ready":"done","again":"brewing"}},
          "done":{"type":"final","reopen":{"complain":"brewing"}}}}
        """#

    @Test func `events move the machine, and content counts where the event is taken`() throws {
        let input =
            "confirm\nagain\nground\nground {\"content-state\":{\"beans\":4}}\nnothing\nready\nconfirm\ncomplain"
        let (lines, complaints) = try output(order, input)
        #expect(
            lines == [
                "placed", "confirm applied brewing brewing.grind", "again noop brewing brewing.grind",
                "ground ignored brewing brewing.grind", "ground applied brewing brewing.pour",
                "nothing ignored brewing brewing.pour", "ready applied done", "confirm ignored done",
                "complain applied brewing brewing.grind",
            ])
        #expect(complaints == 0)
    }

    @Test func `the clock moves, and timers that fall due fire in order`() throws {
        let (lines, _) = try output(order, "after 59s4m\nafter 4m\nafter 1m\nafter 59s\nafter 1s\nafter 1h\nafter PT1H")
        #expect(
            lines == [
                "placed", "after 59s4m bad_line placed", "after 4m noop placed", "after 1m applied late",
                "after 59s noop late", "after 1s applied later", "after 1h noop later", "after PT1H noop later",
            ])
        #expect(try output(order, "after 2h").lines == ["placed", "after 2h applied later"])
    }

    @Test func `JSON has both nulls first, paths and leaves`() throws {
        let parallel = #"""
            {"initial":"on","states":{"on":{"regions":[
              {"id":"b","initial":"x","states":{"x":{"on":{"go":"y"}},"y":{}}},{"id":"a","initial":"z","states":{"z":{}}}]}}}
            """#
        let (lines, _) = try output(parallel, "go\n\"quoted\"", format: .json)
        #expect(
            lines == [
                #"{"event":null,"verdict":null,"configuration":["on","on.b","on.b.x","on.a","on.a.z"],"leaves":["on.b.x","on.a.z"]}"#,
                #"{"event":"go","verdict":"applied","configuration":["on","on.b","on.b.y","on.a","on.a.z"],"leaves":["on.b.y","on.a.z"]}"#,
                #"{"event":"\"quoted\"","verdict":"bad_line","configuration":["on","on.b","on.b.y","on.a","on.a.z"],"leaves":["on.b.y","on.a.z"]}"#,
            ])
    }

    @Test func `a machine that does not settle is reported, and stays as it was`() throws {
        let loop = #"""
            {"initial":"a","states":{"a":{"on":{"go":"b","send":"c"}},
              "b":{"always":{"target":"b2","guard":"state == 'b' or true"}},"b2":{"always":{"target":"b","guard":"true"}},
              "c":{"after":{"0s":{"target":"d","guard":"true"}}},
              "d":{"after":{"0s":{"target":"c","guard":"true"}},"on":{"leave":"a"}}}}
            """#
        let (lines, complaints) = try output(loop, "go\nsend\nafter 1s\n")
        #expect(lines[1] == "go machine_error a")
        #expect(lines[2] == "send applied c")
        #expect(lines[3] == "after 1s machine_error c")
        #expect(complaints >= 2)
    }

    @Test(
        "A line that is none is told, and changes nothing",
        arguments: ["a b", "é", "a {", #"a {"beans":4}"#, #"a {"content-state":4}"#, "after x", "after"])
    func malformed(line: String) throws {
        let (lines, complaints) = try output(order, line + "\nconfirm")
        #expect(lines.count == 3)
        // Without a time behind it, `after` is a name like others.
        #expect(lines[1] == "\(line) \(line == "after" ? "ignored" : "bad_line") placed")
        #expect(lines[2] == "confirm applied brewing brewing.grind")
        #expect(complaints == (line == "after" ? 0 : 1))
    }

    @Test func `a client may not send an event that only the machine raises`() throws {
        #expect(try output(order, "done.brewing").lines.last == "done.brewing ignored placed")
    }
}

struct MachineDrawingTests {
    private func drawing() throws -> MachineDrawing {
        var source = goodKind.object ?? JSONObject()
        source["title"] = "An \"odd\" order"
        source["machine"] = try json(
            #"""
            {"initial":"on","on":{"stop":"off"},"states":{
              "on":{"title":"Under \"way\"; here","on":{"back":"on.b.x","self":"on"},"regions":[
                {"id":"b","initial":"x","states":{"x":{"progress":0.5,"on":{"go":{"target":"y","guard":"content.n > 3 and content.s == \"a:b\""}}},"y":{"entry":[{"raise":"z"}]}}},
                {"id":"a","initial":"z","states":{"z":{"after":{"90s":{"target":"w","actions":[{"send":"late","delay":"1h"}]}}},"w":{},
                  "h":{"type":"history","history":"deep","target":"z"}}}]},
              "off":{"type":"final","milestone":true,"reopen":{"again":"a.h"}}}}
            """#.replacing("a.h", with: "on.a.h"))
        let (kind, diagnostics) = Kind.read(.object(source), file: "a.json")
        return try #require(kind.flatMap { MachineDrawing($0) }, "\(diagnostics)")
    }

    @Test func `the tree shows every state and transition`() throws {
        #expect(
            try drawing().text() == """
                order: An "odd" order
                │     stop → off
                ├─▶ ∥ on  “Under "way"; here”
                │  │     back → on.b.x
                │  │     self → on
                │  ├── b
                │  │  ├─▶ x  50%
                │  │  │        go [content.n > 3 and content.s == "a:b"] → on.b.y
                │  │  └── y
                │  └── a
                │     ├─▶ z
                │     │        after 90s / send late in 1h → on.a.w
                │     ├── w
                │     └── H* h
                │              default → on.a.z
                └── ■ off  ★
                         reopen: again → on.a.h

                """)
    }

    @Test func `DOT nests its clusters, and quotes names and titles`() throws {
        let dot = try drawing().dot()
        #expect(dot.hasPrefix("digraph \"order\" {\n") && dot.hasSuffix("}\n"))
        #expect(dot.count { $0 == "{" } == dot.count { $0 == "}" })
        #expect(dot.contains(#"label="An \"odd\" order""#))
        #expect(dot.contains(#"label="go [content.n > 3 and content.s == \"a:b\"]""#))
        #expect(dot.contains(#"label="H*""#))
        #expect(dot.split(separator: "\n").count { $0.contains("subgraph cluster_") } == 3)
    }

    @Test func `Mermaid escapes characters that would end a label`() throws {
        let mermaid = try drawing().mermaid()
        #expect(mermaid.contains("stateDiagram-v2\n"))
        #expect(mermaid.contains(#"state "Under #34;way#34;#59; here" as s2"#))
        #expect(mermaid.contains(" : go [content.n #62; 3 and content.s == #34;a#58;b#34;]"))
        #expect(mermaid.split(separator: "\n").count { $0.hasSuffix("--") && !$0.hasPrefix("--") } == 1)
    }

    @Test func `a control has no machine to draw`() {
        #expect(Kind.read(goodToggle, file: "a.json").kind.map { MachineDrawing($0) == nil } == true)
    }
}
