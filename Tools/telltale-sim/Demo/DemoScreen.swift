import Cards
import Foundation
import Recordings
import TelltaleClient
import TelltaleEventLoop
import TelltaleModel
import TelltaleWire
import ToolSupport

/// One screen of the demo: a connection of its own, which follows everything as its surface shows it.
final class DemoScreen {
    /// The newest row of one case.
    struct Shown {
        var rev: Int64
        /// `nil` when it took the case away.
        var body: JSONObject?
        /// The body before that.
        var lastBody: JSONObject?
        var end = EndOnScreen()
    }

    /// `nil` for the whole state.
    let surface: Surface?
    private(set) var shown: [String: Shown] = [:]
    /// The row of the widget beside the activities; `nil` where this screen has none, or the daemon does not know it.
    private(set) var widget: JSONObject?
    /// Whether it follows the widget.
    let showsWidget: Bool
    /// From an event's leaving its sender to its view on this screen, in µs; events that were folded have no row.
    private(set) var latency = Latencies()
    /// The key of the newest change.
    private(set) var latestKey: String?
    private(set) var isLive = false
    private var clock: ServerClock?
    private var orders: Shelf
    private var flights: Shelf
    private var client: Client?
    private var notice: (key: String, notice: Notice, until: Int64)?
    /// When each commit got here, and when its event was sent.
    private var arrivals: [Int64: UInt64] = [:]
    private var sends: [Int64: UInt64] = [:]
    private let onTrouble: (String) -> Void
    /// In a cluster: connections end with their node, and go on at another one.
    var takeover: DemoTakeover?
    /// In a cluster: at which of its nodes the screen begins; `nil` = at the leader.
    var place: Int?
    /// The subscriptions that were reported `LIVE` since the connection began.
    private var current: Set<SubscriptionID> = []
    /// The clients of the demo are few: they need not spread over two seconds when they come back to a cluster.
    static let longestPause = Milliseconds(300)

    init(_ surface: Surface?, orders: Int, flights: Int, onTrouble: @escaping (String) -> Void) {
        self.surface = surface
        showsWidget = surface == .carplay || surface == .watch
        let patience = Milliseconds.seconds(6)
        let over = Milliseconds(1500)
        self.orders = Shelf(places: orders, patience: patience, patienceWhenOver: over)
        self.flights = Shelf(places: flights, patience: patience, patienceWhenOver: over)
        self.onTrouble = onTrouble
    }

    /// The time on the server's clock; 1970 before its greeting.
    var now: Timestamp { clock?.now ?? Timestamp(milliseconds: 0) }

    var name: String { surface?.rawValue ?? "the full view" }

    func connect(to link: ToolClient, on loop: EventLoop, onLive: @escaping () -> Void) throws {
        var configuration = ClientConfiguration(name: "demo-\(surface?.rawValue ?? "full")", eventIDPrefix: "demo")
        configuration.surface = surface
        configuration.keepsRows = false
        configuration.reconnects = takeover != nil
        configuration.backoff.longest = Self.longestPause
        configuration = configuration.through(link)
        var endpoints = link.endpoint
        if takeover != nil, let place {
            configuration.nodes = .serving
            endpoints = Self.endpoints(endpoints, from: place)
        }
        let client = try Client(to: endpoints, configuration: configuration, on: loop, random: FirstAddress()) {
            [weak self] _, event in
            self?.heard(event, onLive)
        }
        for kind in ["parcel", "flight"] {
            if let pattern = Pattern("\(kind)/*") { _ = client.subscribe(SubscribeCommand(pattern: pattern)) }
        }
        if showsWidget { _ = client.subscribe(SubscribeCommand(pattern: .kind(DemoWidget.kind))) }
        client.start()
        self.client = client
    }

    /// The client begins at the first address.
    private struct FirstAddress: RandomNumberGenerator {
        func next() -> UInt64 { 0 }
    }

    /// The same circle of addresses from another one on.
    private static func endpoints(_ list: EndpointList, from place: Int) -> EndpointList {
        let (endpoints, first) = (list.endpoints, place % list.endpoints.count)
        return EndpointList(Array(endpoints[first...] + endpoints[..<first])) ?? list
    }

    func close() {
        client?.close()
        client = nil
    }

    private var liveCount = 0
    private var patternCount: Int { showsWidget ? 3 : 2 }

    private func heard(_ event: ClientEvent, _ onLive: () -> Void) {
        switch event {
        case .ready(let greeting, _):
            clock = ServerClock(greeting)
            current = []
            takeover?.connected(name, to: greeting)
        case .subscription(let id, let event):
            if case .live = event {
                liveCount += 1
                current.insert(id)
                isLive = liveCount >= patternCount
                if isLive { onLive() }
                if current.count == patternCount { takeover?.isCurrent(name) }
            }
            heard(event, isResuming: takeover != nil && !current.contains(id))
        case .refused(let reason, _): onTrouble(reason)
        case .disconnected(let reason, let retryAfter):
            takeover?.disconnected(name)
            if retryAfter == nil { onTrouble(reason) }
        case .violation(let text): onTrouble("the daemon broke the protocol: \(text)")
        case .item, .reply, .restarted, .lost, .traitsRefused, .serviceRefused, .action, .farewell: break
        }
    }

    /// - Parameter isResuming: The subscription says what has changed while there was no connection.
    private func heard(_ event: SubscriptionEvent, isResuming: Bool) {
        switch event {
        case .snapshot(let row), .update(let row):
            if row.key.kind == DemoWidget.kind {
                widget = row.body
                return
            }
            arrived(row.rev)
            latestKey = row.key.text
            var end = shown[row.key.text]?.end ?? EndOnScreen()
            end.wasShown(row.rev)
            shown[row.key.text] = Shown(rev: row.rev, body: row.body, lastBody: row.body, end: end)
            let isOver = row.body["lifecycle"]?.string == "ended"
            let now = Milliseconds(EventLoop.monotonicMilliseconds())
            if row.key.kind == "parcel" {
                orders.changed(row.key.text, isOver: isOver, at: now)
            } else {
                flights.changed(row.key.text, isOver: isOver, at: now)
            }
        case .deletion(let key, let rev, _):
            arrived(rev)
            var end = shown[key.text]?.end ?? EndOnScreen()
            end.wasRemoved(rev, isResuming: isResuming)
            shown[key.text] = Shown(rev: rev, body: nil, lastBody: shown[key.text]?.lastBody, end: end)
            orders.removed(key.text)
            flights.removed(key.text)
        case .alert(let key, _, let body):
            let now = EventLoop.monotonicMilliseconds()
            guard notice.map({ $0.until <= now }) ?? true else { return }
            let text = Notice(title: body["title"]?.string ?? "", body: body["body"]?.string ?? "")
            notice = (key.text, text, now + 1500)
        case .refused(let line): onTrouble(line.message ?? "a subscription was refused")
        case .reset: takeover?.wasReset(name)
        case .milestone, .changed, .live: break
        }
    }

    // MARK: Event to view

    static func clock() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

    private func arrived(_ rev: Int64) {
        guard arrivals[rev] == nil else { return }
        let now = Self.clock()
        arrivals[rev] = now
        if let sentAt = sends[rev] { record(sentAt, now) }
    }

    /// An event whose commit is `rev` was sent at `time`. Reported when its reply is there; the view may be there before it.
    func sent(_ rev: Int64, at time: UInt64) {
        sends[rev] = time
        if let arrivedAt = arrivals[rev] { record(time, arrivedAt) }
    }

    private func record(_ sentAt: UInt64, _ arrivedAt: UInt64) {
        latency.record((arrivedAt > sentAt ? arrivedAt - sentAt : 0) / 1000)
    }

    // MARK: Drawing

    /// The cards that the display has room for.
    func cards() -> [Card] {
        let now = Milliseconds(EventLoop.monotonicMilliseconds())
        let keys = orders.arranged(at: now) + flights.arranged(at: now)
        let beside = widget.map { [Card(key: DemoWidget.kind, body: $0)] } ?? []
        return beside
            + keys.enumerated().compactMap { place, key in
                guard let key, var body = shown[key]?.body else { return nil }
                // Where a card stands on the demo's small display is the shelf's to say.
                body["order"] = .integer(Int64(place))
                return Card(key: key, body: body)
            }
    }

    var notices: [Notice] {
        guard let notice, notice.until > EventLoop.monotonicMilliseconds() else { return [] }
        return [notice.notice]
    }
}
