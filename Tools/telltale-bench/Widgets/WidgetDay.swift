import Hub
import Server
import TelltaleModel

/// A shop's day, and the watches that follow it.
struct WidgetDay: ~Copyable {
    /// A watch, and the rows that it was sent.
    struct Watch {
        let session: SessionID
        var rowCount = 0
        var darkRowCount = 0
        var isDark = false
    }

    private var server: Server
    private let shop: SessionID
    private(set) var everyChange: Watch
    private(set) var watch: Watch
    /// The lines that the shop sends, by their dates.
    private var actions: [(time: Int64, line: String)] = []
    private var time = Self.start
    private var pendingViews: [Int64] = []

    /// Midnight.
    private static let start = Timestamp(milliseconds: 1_763_683_200_000)
    private static let viewLength: Int64 = 10_000

    init(orders: Int, looks: Int) throws {
        server = try HubLoad.server(of: Self.kinds)
        let now = HubLoad.clocks(Self.start)
        shop = server.connected(at: now)
        everyChange = Watch(session: server.connected(at: now))
        watch = Watch(session: server.connected(at: now))
        plan(orders: orders)
        if looks > 0 { pendingViews = (0..<Int64(looks)).map { 25_200_000 + $0 * 54_000_000 / Int64(looks) } }
        say("HELLO client=watch-a caps=widgets surface=watch account=ada", everyChange.session)
        say("SUB * ahead=0", everyChange.session)
        say("HELLO client=watch-b caps=widgets surface=watch account=ada unit=watch-b", watch.session)
        say("TRAIT screen=off", watch.session)
        say("SUB *", watch.session)
        watch.isDark = true
        turn()
    }

    /// The same day each time: orders at even distances from seven to seven, whose steps take what steps take.
    private mutating func plan(orders: Int) {
        for number in 0..<Int64(orders) {
            let begin = 25_200_000 + number * 43_200_000 / Int64(orders)
            let key = "coffee-order/\(number)"
            let isOwn = number % 200 == 7
            // Every tenth is forgotten for a while: nobody confirms it in time.
            let steps: [(Int64, String)] = [
                (number % 10 == 3 ? 400 : 40 + number % 60, "confirm"), (120 + number % 90, "brew"), (90, "ready"),
                (60 + number % 240, "collect"),
            ]
            actions.append(
                (
                    begin,
                    "EVT \(key) type=start\(isOwn ? " for=ada" : " for=person-\(number)") {\"attributes\":{\"item\":\"Flat white\"}}"
                ))
            var time = begin
            for (seconds, event) in steps {
                time += seconds * 1_000
                actions.append((time, "EVT \(key) type=\(event)"))
            }
        }
        actions.sort { $0.time < $1.time }
    }

    /// From midnight to midnight.
    mutating func run() {
        var next = 0
        for second in 0..<Int64(86_400) {
            time = Self.start + .seconds(second)
            turnScreen(at: second * 1_000)
            while next < actions.count, actions[next].time <= second * 1_000 {
                say(actions[next].line, shop)
                next += 1
            }
            turn()
        }
    }

    private mutating func turnScreen(at time: Int64) {
        let isLooking = pendingViews.contains { (0..<Self.viewLength).contains(time - $0) }
        guard isLooking == watch.isDark else { return }
        watch.isDark = !isLooking
        say("TRAIT screen=\(isLooking ? "on" : "off")", watch.session)
    }

    private mutating func say(_ line: String, _ session: SessionID) {
        _ = server.received(Array((line + "\n").utf8).span, from: session, at: HubLoad.clocks(time))
        turn()
    }

    private mutating func turn() {
        let now = HubLoad.clocks(time)
        var sent: [(session: SessionID, bytes: [UInt8])] = []
        repeat {
            server.turnWithoutDisk(at: now) { sent.append(($0, $1 + $2)) }
        } while !server.isIdle(at: now)
        for (session, bytes) in sent { count(bytes, to: session) }
    }

    private mutating func count(_ bytes: [UInt8], to session: SessionID) {
        let rows = bytes.split(separator: UInt8(ascii: "\n")).count { line in
            // Activities beside the widgets have rows of their own.
            line.starts(with: "UPD ".utf8) && String(decoding: line.prefix(80), as: UTF8.self).contains(" key=w-")
        }
        if session == everyChange.session { everyChange.rowCount += rows }
        if session == watch.session {
            watch.rowCount += rows
            if watch.isDark { watch.darkRowCount += rows }
        }
    }

    private static let families = #""app":"com.example.coffee","version":1,"families":["accessoryRectangular"]"#
    private static let kinds = [
        """
        {"kind":"coffee-order","type":"activity","version":1,"app":"com.example.coffee","title":"Coffee order","stale":"4m","dismiss":"15m",
         "machine":{"initial":"placed","states":{
           "placed":{"title":"Order placed","on":{"confirm":"queued"},"after":{"5m":"unattended"}},
           "queued":{"title":"In the queue","on":{"brew":"brewing"}}, "brewing":{"title":"Brewing","on":{"ready":"ready"}},
           "ready":{"title":"Ready","on":{"collect":"collected"},"after":{"3m":"waiting"}},
           "waiting":{"title":"Waits for you","on":{"collect":"collected"}},
           "unattended":{"title":"Waiting for the shop","on":{"confirm":"queued"}},
           "collected":{"title":"Collected","type":"final"}}},
         "views":{"compact":{"leading":{"symbol":"cup"},"trailing":{"text":"{{state.title}}"}},"minimal":{"symbol":"cup"},
                  "lockScreen":{"title":"{{state.title}}"},"expanded":{"center":{"title":"{{state.title}}"}}}}
        """,
        """
        {"kind":"w-card","type":"widget",\(families),"title":"Order","source":{"each":"coffee-order"},
         "views":{"accessoryRectangular":{"title":"{{state.title}}","text":"{{lifecycle}}"}}}
        """,
        """
        {"kind":"w-shop","type":"widget",\(families),"title":"Shop","audience":"all",
         "source":{"over":"coffee-order","where":"lifecycle != 'ended'",
           "values":{"open":"count","late":{"count":"in(unattended)"}}},
         "views":{"accessoryRectangular":{"title":"{{values.open}} waiting, {{values.late}} late"}}}
        """,
        """
        {"kind":"w-hours","type":"widget",\(families),"title":"Hours",
         "source":{"zone":"+00:00","schedule":[{"at":"07:00","set":{"is":"open"}},{"at":"19:00","set":{"is":"closed"}}]},
         "views":{"accessoryRectangular":{"title":"The shop is {{content.is}}"}}}
        """,
    ]
}
