import Kinds
import TelltaleModel
import TelltaleStatechart
import TestSupport
import Testing

/// No content of a kind file may trap, and every accepted kind must run.
struct HostileKindTests {
    @Test(
        "Files with bytes changed, cut and doubled are read or refused", arguments: Lane.some(0..<8, atEveryChange: 3))
    func bytes(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed) + 1)
        let files = try Shipped.files()
        for _ in 0..<100 {
            guard var bytes = files.randomElement(using: &random)?.bytes else { continue }
            for _ in 0..<Int.random(in: 1...3, using: &random) { Mutation.change(&bytes, &random) }
            let (kind, diagnostics) = KindSet.read(bytes, file: "hostile.json")
            #expect(kind != nil || diagnostics.contains { $0.severity == .error })
            try exercise(kind, &random)
        }
    }

    @Test("Files with values in each other's place are read or refused", arguments: Lane.some(0..<8, atEveryChange: 3))
    func values(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed) + 100)
        let kinds =
            try Shipped.files().map { try JSONParser().parse($0.bytes.span) } + [goodKind, goodToggle, goodButton]
        let pool = kinds.flatMap { Mutation.values(in: $0) } + Self.odd
        for _ in 0..<100 {
            guard var source = kinds.randomElement(using: &random) else { continue }
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                source = Mutation.replacing(source, with: pool.randomElement(using: &random) ?? .null, &random)
            }
            let (kind, diagnostics) = Kind.read(source, file: "hostile.json")
            #expect(kind != nil || diagnostics.contains { $0.severity == .error })
            try exercise(kind, &random)
        }
    }

    @Test("Guards and templates of random pieces parse or are refused", arguments: 0..<4)
    func texts(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed) + 200)
        let context = context(attributes: ["a": "x"], content: ["n": 3, "list": [1, ["b": "c"]], "late": .null])
        for _ in 0..<2_000 {
            let count = Int.random(in: 0...10, using: &random)
            let text = (0..<count).map { _ in Self.pieces.randomElement(using: &random) ?? "" }.joined()
            _ = try? Guard(text)
            _ = (try? Template(text))?.rendered(in: context)
            _ = (try? Template("{{content.n | \(text)}}"))?.rendered(in: context)
            _ = Milliseconds(duration: text)
        }
        #expect(throws: GuardSyntaxError.self) { try Guard(String(repeating: "(", count: 100_000)) }
        #expect(throws: GuardSyntaxError.self) { try Guard(String(repeating: "not ", count: 100_000)) }
        _ = Milliseconds(duration: String(repeating: "9", count: 400) + "d")
    }

    // MARK: Changes to a file

    private static let odd: [JSON] = [
        .null, true, 0, -1, 1.5, .init(9.007199254740991e15), .init(1e300), "", "*", "..", "a.b", ".", "{{", "\u{0}",
        "9999999999999999999999d", "PT", "P999999999999W", [], [[]], [:], ["": ""], ["target": "*"], ["on": ["*": "*"]],
        ["type": "history"], ["type": "final", "states": [:]], ["regions": [[:]]],
        ["initial": [], "states": ["a": [:]]],
        ["after": ["0ms": "a"]], ["always": [["actions": [["raise": "x"]]]]],
        ["entry": [["send": "x", "delay": "0s"]]], ["guard": "in(", "target": "x"], ["rank": .init(-9.0e15)],
    ]

    private static let pieces = [
        "content.n", "content.list.1.b", "content.list.99999999999999999999", "attributes.a", "event",
        "event.content.x",
        "state", " ", " and ", " or ", "not ", "==", "!=", "<", "<=", ">", ">=", " in ", "[", "]", "(", ")", ",", "in(",
        "\"", "'", "\\", "1", "-", "1e999", "1e", ".", "true", "null", "{{", "}}", "|", "truncate:", "round:", "time:",
        "+25:99", "default:", "percent", "date", "99999999999999999999", "é", "\u{0}", "P", "T", "D", "m", "ms",
    ]

    // MARK: Previews of accepted kinds

    private func exercise(_ kind: Kind?, _ random: inout SeededGenerator) throws {
        guard let kind, case .activity(let activity) = kind.body else { return }
        let drawing = MachineDrawing(kind)
        _ = (drawing?.dot(), drawing?.mermaid(), drawing?.text())
        guard var preview = try? MachinePreview(activity, format: .json) else { return }
        let names = ["confirm", "brew", "ready", "collect", "cancel", "depart", "x", "", "done.a"]
        for _ in 0..<8 {
            let name = names.randomElement(using: &random) ?? ""
            for line in ["\(name) {\"shelf\":\"B\",\"n\":3}", "after 6m"] {
                #expect(!preview.answerWord(line).text.isEmpty)
            }
        }
    }
}
