import TelltaleModel
import TelltaleStatechart
import Testing

struct GuardTests {
    @Test(
        "A guard is true or false",
        arguments: [
            ("content.n == 3", true), ("content.n == 3.0", true), ("content.n != 3", false),
            ("content.n == '3'", false),
            ("content.n < 4", true), ("content.n <= 3", true), ("content.n > 3", false), ("content.n >= 3", true),
            ("3 < content.n", false), ("content.n > -1.5e0", true), ("content.f == 0.5", true),
            ("content.s == \"late\"", true), ("content.s == 'late'", true), ("content.s < 'latf'", true),
            ("content.s >= 'late'", true), ("content.s > 'late'", false),
            ("content.yes", true), ("content.no", false), ("not content.no", true), ("content.yes == true", true),
            ("content.nothing == null", true), ("content.nothing != null", false), ("true", true), ("false", false),
            ("content.deep.list.1 == 'b'", true), ("content.deep.list.0 == 'b'", false),
            ("attributes.shop in ['a', 'Café']", true), ("attributes.shop in [1, null]", false),
            ("content.n in [1,2,3]", true), ("content.n in [content.f, content.n]", true),
            ("event.type == 'go'", true), ("event.content.x == 1", true), ("content.quote == 'it\\'s \\u00e9'", true),
            ("'\\u0041\\ud83d\\ude00' == 'A\u{1F600}'", true),
            ("true or false and false", true), ("(true or false) and false", false), ("not true or true", true),
            ("not (true or true)", false), ("not not true", true),
            ("state == 'inner'", true), ("state == 'outer.inner'", true), ("state == 'outer'", false),
            ("state != 'inner'", false), ("'inner' == state", true), ("state in ['x', 'inner']", true),
            ("state in ['x']", false), ("state == content.key", true), ("state == content.n", false),
            ("in(outer)", true), ("in(outer.inner)", true), ("in(inner)", true), ("in(other)", false),
            ("not in(other) and in( inner )", true), ("content.n==3 and(true)", true),
        ])
    func evaluates(text: String, isTrue: Bool) throws {
        let run = try runOf(text)
        #expect((run.leaves == ["taken"]) == isTrue)
        #expect(run.last.guardErrors == nil)
    }

    /// An error is neither true nor false: no `not` makes a truth of it, and it spoils no other side.
    @Test(
        "A guard that cannot be told is false, and counted",
        arguments: [
            "content.missing", "content.missing == 1", "content.missing != 1", "content.missing == null",
            "not content.missing == 1", "not (content.missing)", "content.n", "content.s", "content.nothing",
            "content.deep.list.2 == 'b'", "content.n < 'x'", "content.s > 1", "content.yes < true",
            "content.nothing <= null", "not content.n < 'x'",
            "content.n in [1, content.missing]", "content.missing in [1]", "content.n.x == 1",
            "content.deep.list.x == 1",
            "false or content.missing == 1", "true and content.missing == 1", "state == content.missing",
            "event.missing == 1", "event.type.x == 1", "content.deep < content.deep",
        ])
    func fails(text: String) throws {
        let run = try runOf(text)
        #expect(run.leaves == ["outer.inner"])
        #expect(run.last.guardErrors?.count == 1)
        #expect(run.last.guardErrors != nil)
    }

    @Test(
        "An error beside a side that decides alone does not matter",
        arguments: [
            ("content.missing == 1 or true", true), ("true or content.missing == 1", true),
            ("content.missing == 1 and false", false), ("not (content.missing == 1 and false)", true),
            ("content.n in [content.missing, 3]", true),
        ])
    func decides(text: String, isTrue: Bool) throws {
        #expect((try runOf(text).leaves == ["taken"]) == isTrue)
    }

    @Test(
        "A fault is told with its place",
        arguments: [
            ("", 0), ("  ", 2), ("content.n ==", 12), ("content.n = 3", 10), ("content.n == 3 and", 18),
            ("(true", 5), ("true)", 4), ("foo.bar == 1", 0), ("content..n == 1", 0), ("content.n == 'x", 13),
            ("content.n == 01", 13), ("content.n == 1.", 13), ("content.n == 1e", 13), ("content.n == +1", 13),
            ("content.n in 3", 13), ("content.n in []", 14), ("content.n in [1", 15), ("in()", 3), ("in(a", 4),
            ("in a", 3), ("3", 1), ("'x'", 3), ("state", 5), ("state < 'x'", 0), ("state == state", 0),
            ("content.n in [state]", 0), ("content.n == 'a\\q'", 16), ("content.n == '\\u12'", 16),
            ("content.n == '\\ud800'", 16), ("not", 3), ("true and or false", 9), ("content.n == 3 content.n", 15),
            ("content.n == 1e999", 13), ("f()", 0), ("content.é == 1", 0),
        ])
    func faults(text: String, offset: Int) throws {
        let error = try #require(throws: GuardSyntaxError.self) { try Guard(text) }
        #expect(error.offset == offset, "\(error)")
    }

    @Test func `nesting is bounded`() {
        #expect(throws: Never.self) {
            try Guard(String(repeating: "(", count: 63) + "true" + String(repeating: ")", count: 63))
        }
        #expect(throws: GuardSyntaxError.self) {
            try Guard(String(repeating: "(", count: 64) + "true" + String(repeating: ")", count: 64))
        }
        #expect(throws: GuardSyntaxError.self) { try Guard(String(repeating: "(", count: 100_000)) }
        #expect(throws: GuardSyntaxError.self) { try Guard(String(repeating: "not ", count: 100_000)) }
    }

    @Test func `a guard lists the paths that it reads`() throws {
        let condition = try Guard("content.a == 1 and (in(x) or not attributes.b.c in [event.content.d, 2])")
        #expect(condition.paths.map(\.description) == ["content.a", "attributes.b.c", "event.content.d"])
        #expect(condition.stateNames == ["x"])
    }

    /// After the event `go`, in `taken` when the guard held.
    private func runOf(_ text: String) throws -> Run {
        var run = try Run(
            machine(
                "outer",
                states: [
                    compound("outer", "inner", on("go", "taken", if: text), states: [state("inner")]),
                    state("taken"), state("other"),
                ]),
            attributes: ["shop": "Café"],
            content: [
                "n": 3, "f": 0.5, "s": "late", "yes": true, "no": false, "nothing": .null, "key": "inner",
                "quote": "it's é", "deep": ["list": ["a", "b"]],
            ])
        try run.step("go", ["x": 1])
        return run
    }
}
