import ArgumentParser
import TelltaleModel

/// `telltale-bench widgets`: the rows that a watch is sent in a day, by a clock that is set by hand.
struct WidgetsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "widgets", abstract: "How often a day of widgets wakes a watch.",
        discussion: """
            A shop's day goes through a hub in this process: --orders orders from seven to seven, each confirmed, brewed, \
            ready and collected, some of them late; every two hundredth is that of the watch's owner. Two watches of that account follow the same \
            widgets: a card of each own order, the count of the shop, and the opening hours.

            `each change` is told every change when it comes, as by a server that only knows the present (ahead=0). The \
            other one has entries, and the budget of a device whose screen is off but for --looks moments of the day, ten \
            seconds each. Rows that a screen asks for by going on count as well.
            """)

    @Option(help: "Orders of the day.") var orders = 600
    @Option(help: "How often the owner looks at the watch.") var looks = 80
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        guard (1...20_000).contains(orders), (0...1_000).contains(looks) else {
            throw ValidationError("orders: 1 to 20000; looks: 0 to 1000")
        }
    }

    func run() throws {
        var day = try WidgetDay(orders: orders, looks: looks)
        day.run()
        let (every, few) = (day.everyChange, day.watch)
        let share = Double(few.rowCount) / Double(max(1, every.rowCount))
        if json {
            var report = JSONObject()
            report["orders"] = .integer(Int64(orders))
            report["rows_each_change"] = .integer(Int64(every.rowCount))
            report["rows"] = .integer(Int64(few.rowCount))
            report["rows_while_dark"] = .integer(Int64(few.darkRowCount))
            report["share"] = Sample.json(share)
            return print(JSON.object(report))
        }
        print("a server that sends at each change: \(every.rowCount) rows in a day")
        print(
            "entries and a budget: \(few.rowCount) rows, \(few.darkRowCount) of them to a dark screen; "
                + "\(Sample.text(100 * share, 1)) % of that")
    }
}
