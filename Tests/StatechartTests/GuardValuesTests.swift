import TelltaleModel
import TelltaleStatechart
import Testing

/// Guards where there is no machine: they hold as they do in one.
struct GuardValuesTests {
    private static let values = MachineValues(
        attributes: ["shop": "Hoegi"], content: ["count": 3, "open": true, "tags": ["a", "b"], "note": "x"])

    @Test(arguments: [
        ("content.count == 3", true), ("content.count > 3", false), ("content.open", true), ("not content.open", false),
        ("content.tags.1 == 'b'", true), ("attributes.shop in ['Hoegi', 'Other']", true),
        ("content.count in [1, 2]", false), ("content.nothing == 1 or content.open", true),
        ("content.nothing == 1 and content.count == 4", false),
    ])
    func `it holds, or does not`(text: String, holds: Bool) throws {
        #expect(try Guard(text).holds(for: Self.values) == holds)
    }

    @Test(arguments: [
        "content.nothing == 1", "not content.nothing", "content.note > 1", "content.count", "in(brewing)",
        "state == 'x'",
        "content.nothing == 1 and content.open", "content.nothing == 1 or content.count == 4",
        "content.count in [content.nothing]",
    ])
    func `what cannot be reported is neither`(text: String) throws {
        #expect(try Guard(text).holds(for: Self.values) == nil)
    }
}
