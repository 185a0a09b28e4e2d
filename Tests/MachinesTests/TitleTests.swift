import Kinds
import Machines
import TelltaleModel
import Testing

/// The titles that templates read: of the innermost state, or of one in each region.
struct TitleTests {
    private static let order = """
        {"kind":"order","type":"activity","version":1,"app":"com.example","title":"Order","startsOn":["place"],
         "machine":{"initial":"placed","states":{
           "placed":{"title":"Placed, shelf {{content.shelf | default:\\"?\\"}}","on":{"go":"preparing"}},
           "preparing":{TITLE"regions":[
             {"id":"kitchen","initial":"cooking","states":{
               "cooking":{"title":"Cooking for {{attributes.name}}","on":{"cooked":"plated"}},
               "plated":{"title":"Plated","type":"final"}}},
             {"id":"courier","initial":"away","states":{
               "away":{"title":"Courier on the way","on":{"arrived":"here"}},"here":{"type":"final"}}}],
             "onDone":"done"},
           "done":{"type":"final","title":"Done"}}},
         "views":{"lockScreen":{"title":"{{state.title}}","subtitle":"{{states.kitchen.title}}",
                                "text":"{{states.preparing.courier.title}}|{{states.courier.key}}"}}}
        """

    /// The texts of the lock screen after some events.
    private func shown(title: String = #""title":"Being prepared","#, _ events: String...) throws -> [String] {
        let source = try JSONParser.parse(Self.order.replacing("TITLE", with: title))
        let (kind, diagnostics) = Kind.read(source, file: "order.json")
        #expect(diagnostics.filter { $0.severity == .error } == [])
        guard case .activity(let definition)? = kind?.body else { throw NoActivity() }
        let key = try #require(Key(kind: "order", id: "1"))
        let settings = ActivitySettings()
        let moment = Timestamp(milliseconds: 1_763_719_200_000)
        var start = ActivityEvent(.started)
        start.details.attributes = ["name": "Ana"]
        var (activity, _) = try Activity.start(
            key: key, kind: definition, event: start, accounts: [], settings: settings, at: moment)
        for event in events {
            _ = try activity?.apply(ActivityEvent(.happened(event)), settings: settings, at: moment)
        }
        let context = try #require(activity).templateContext
        return [
            "{{state.title}}", "{{states.kitchen.title}}", "{{states.preparing.courier.title}}",
            "{{states.courier.key}}",
        ]
        .compactMap { try? Template($0).rendered(in: context) }
    }

    private struct NoActivity: Error {}

    @Test func `a state's title is filled in`() throws {
        #expect(try shown() == ["Placed, shelf ?", "", "", ""])
    }

    @Test func `each region has a title, and the parallel state around them its own`() throws {
        #expect(try shown("go") == ["Being prepared", "Cooking for Ana", "Courier on the way", "away"])
        #expect(try shown("go", "cooked") == ["Being prepared", "Plated", "Courier on the way", "away"])
        #expect(try shown("go", "cooked", "arrived") == ["Done", "", "", ""])
    }

    @Test func `a parallel state without a title has its key for one`() throws {
        #expect(try shown(title: "", "go").first == "preparing")
    }
}
