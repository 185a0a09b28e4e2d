/// The widgets of a simulated world. Their kinds are reloaded while the daemon runs, with a higher version each time.
enum SimulatedWidgets {
    static let keys = ["sales/Hoegi", "sales/Central", "sales/Third"]
    /// The first of the slots of `hours`, which are two minutes long, and their number. A run begins at ten in the morning.
    static let firstSlot: Int64 = 301
    static let slotCount: Int64 = 59

    static func isWidget(_ key: String) -> Bool {
        key.hasPrefix("sales/") || key.hasPrefix("weather/") || key.hasPrefix("hours/") || isCard(key) || key == queue
    }
    /// It shows an order.
    static func isCard(_ key: String) -> Bool { key.hasPrefix("card/") }
    /// It counts the orders.
    static let queue = "queue/main"
    /// Producers post its timelines.
    static func isPosted(_ key: String) -> Bool { key.hasPrefix("sales/") || key == trip }
    static func card(ofOrder key: String) -> String { "card" + key.dropFirst("order".count) }

    /// The families of a kind, and views that show one text in each of them.
    private static func inEveryFamily(_ text: String) -> String {
        """
        "families":["systemSmall","accessoryCircular","accessoryRectangular"],
         "views":{"systemSmall":{"title":"\(text)"},"accessoryCircular":{"text":"\(text)"},
                  "accessoryRectangular":{"title":"\(text)"}}
        """
    }

    /// Posted timelines. Every view says of which edition it is.
    ///
    /// - Parameter edition: How often the kinds were reloaded.
    private static func sales(edition: Int) -> String {
        let part = #""symbol":"cup.\#(edition)""#
        let rest = #""subtitle":"{{content.secret}}","private":["subtitle"]"#
        return """
            {"kind":"sales","type":"widget","version":\(edition + 1),"app":"com.example.shop","title":"Sales",
             "families":["systemSmall","accessoryCircular","accessoryRectangular"],"stale":"20s",
             "parameters":{"shop":{"title":"Shop"}},"recommended":[{"shop":"Hoegi"},{"shop":"Central"}],
             "suggest":\(edition % 3 != 1),
             "views":{
               "systemSmall":{\(part),"title":"{{content.n}}",\(rest),"background":{"tint":"green"},
                 "variants":[{"when":{"background":"removed"},"set":{"tint":"blue"}}]},
               "accessoryCircular":{\(part),"text":"{{content.n}}"},
               "accessoryRectangular":{\(part),"title":"{{content.n}}",\(rest)}}}
            """
    }

    /// The slots of `hours` in a world where they are days apart: a day, and minutes of it. A run begins at ten on a Friday, so
    /// that the first one is shown for days, and the next ones become known in the run's first minutes.
    static let weeklySlots: [(day: String, minute: Int64)] = [
        ("wed", 9 * 60), ("sat", 10 * 60 + 2), ("sat", 10 * 60 + 5),
    ]

    private static func time(ofMinute minute: Int64) -> String {
        let (hour, rest) = (minute / 60, minute % 60)
        return "\(hour < 10 ? "0" : "")\(hour):\(rest < 10 ? "0" : "")\(rest)"
    }

    /// Every two minutes of two hours another number; or nothing new for days.
    private static func hours(isWeekly: Bool) -> String {
        let slots =
            isWeekly
            ? weeklySlots.enumerated().map { index, slot in
                #"{"at":"\#(time(ofMinute: slot.minute))","days":["\#(slot.day)"],"set":{"n":"\#(index)"}}"#
            }
            : (firstSlot..<firstSlot + slotCount).map { slot in
                #"{"at":"\#(time(ofMinute: slot * 2))","set":{"n":"\#(slot)"}}"#
            }
        return """
            {"kind":"hours","type":"widget","version":1,"app":"com.example.shop","title":"Hours",
             "source":{"zone":"+00:00","schedule":[\(slots.joined(separator: ","))]},
             \(inEveryFamily("{{content.n}}"))}
            """
    }

    /// One for each order that is not collected.
    private static let cards = """
        {"kind":"card","type":"widget","version":1,"app":"com.example.shop","title":"Order",
         "source":{"each":"order","where":"not in(collected)"},
         \(inEveryFamily("{{lifecycle}} {{state.key}}"))}
        """

    /// How many orders there are, how many of them are late, and how many were collected in this hour.
    private static let queues = """
        {"kind":"queue","type":"widget","version":1,"app":"com.example.shop","title":"Queue",
         "audience":"all",
         "source":{"over":"order","where":"lifecycle != 'ended'",
           "values":{"open":"count","late":{"count":"in(unattended)"},"done":{"tally":"count","on":"collected","per":"hour"}}},
         \(inEveryFamily("{{values.open}} {{values.late}} {{values.done}}"))}
        """

    static let towns = ["weather/Oslo", "weather/Lima"]

    /// Content that a provider is asked for.
    ///
    /// - Parameter recommended: The places, in JSON.
    private static func weather(in recommended: String = #"{"town":"Oslo"},{"town":"Lima"}"#) -> String {
        """
        {"kind":"weather","type":"widget","version":1,"app":"com.example.weather","title":"Weather",
         "parameters":{"town":{"title":"Town"}},"recommended":[\(recommended)],
         "source":{"provider":true},"timeout":"8s",
         \(inEveryFamily("{{content.n}}"))}
        """
    }

    /// One order, for its people alone. It is on boards, and nothing else asks for it.
    static let status = """
        {"kind":"status","type":"widget","version":1,"app":"com.example.shop","title":"Status",
         "parameters":{"order":{"title":"Order"}},
         "source":{"one":"order/{{config.order}}"},
         \(inEveryFamily("{{lifecycle}} {{state.key}}"))}
        """
    static let trip = "trip/main"

    /// Posted timelines that matter on the way too. It is on boards, and nothing else asks for it.
    private static let trips = """
        {"kind":"trip","type":"widget","version":1,"app":"com.example.ride","title":"Trip","suggest":true,"stale":"20s",
         "relevance":[{"place":"commute"}],
         \(inEveryFamily("{{content.n}}"))}
        """

    /// The widgets that kinds of this name and version suggest, in the order of their keys.
    ///
    /// - Parameter kind: As records of kinds report it.
    static func suggested(by kind: String) -> [String] {
        if kind == "trip 1" { return [trip] }
        guard kind.hasPrefix("sales "), let version = Int(kind.dropFirst(6)), version % 3 != 2 else { return [] }
        return ["sales/Central", "sales/Hoegi"]
    }

    /// The order that a widget of the kind `status` shows; `nil` for every other widget.
    static func order(ofStatus widget: String) -> String? {
        widget.hasPrefix("status/") ? "order" + widget.drop { $0 != "/" } : nil
    }

    /// The kinds of widgets of a world.
    struct Edition {
        /// How often the kinds were reloaded.
        var number: Int
        /// There is the kind that is on boards alone.
        var hasBoards: Bool
        /// There is the kind whose widgets come and go by themselves, and many keys of one provider.
        var hasRelevantTiles: Bool
        /// The slots of `hours` are days apart.
        var hasWeeklyHours: Bool

        /// The kind files. In every third edition the schedule is taken away, and the trip.
        var texts: [String] {
            let isThird = number % 3 == 2
            var texts = [sales(edition: number)] + (isThird ? [] : [hours(isWeekly: hasWeeklyHours)])
            texts += [cards, queues]
            texts +=
                hasRelevantTiles
                ? [weather(in: SimulatedRelevantWidgets.recommendation), SimulatedRelevantWidgets.kind] : [weather()]
            return texts + (hasBoards ? [status] + (isThird ? [] : [trips]) : [])
        }
    }
}
