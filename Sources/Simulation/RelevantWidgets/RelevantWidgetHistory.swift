import Journal
import Machines
import TelltaleModel

/// The kinds and the boards of what comes and goes by itself in a simulated world.
enum SimulatedRelevantWidgets {
    /// One for each order that is ready, on the watch that is on its way.
    static let kind = """
        {"kind":"nudge","type":"widget","version":1,"app":"com.example.shop","title":"Nudge",
         "families":["accessoryRectangular"],"source":{"each":"order","where":"in(ready)"},
         "relevance":[{"place":"commute"}],"views":{"accessoryRectangular":{"title":"{{id}} {{state.key}}"}}}
        """

    /// Many keys that one provider is asked for.
    static let townKeys = ["Bern", "Lima", "Oslo", "Pisa", "Riga", "Rome"].map { "weather/\($0)" }
    static let towns = "weather/*"
    static let recommendation = townKeys.map { #"{"town":"\#($0.dropFirst(8))"}"# }.joined(separator: ",")

    /// The boards, and whose each is; `nil` = everybody's.
    static let boards: [(name: String, account: String?)] = [
        ("@nudges-alice", "alice"), ("@nudges-bob", "bob"), ("@nudges-hall", nil),
    ]
    static func isOnBoard(_ key: String) -> Bool { key.hasPrefix("@nudges-") }

    static func widget(ofOrder key: String) -> String { "nudge" + key.dropFirst("order".count) }
    static func order(ofWidget key: String) -> String? {
        key.hasPrefix("nudge/") ? "order" + key.dropFirst("nudge".count) : nil
    }
    static func id(ofOrder key: String) -> String? { Key(widget(ofOrder: key)).map { Board.relevantTileID(of: $0) } }
}

/// The widgets that come and go by themselves on the boards of a run (W43), by the records that became durable.
final class RelevantWidgetHistory {
    /// An order that the kind `nudge` shows while it is ready.
    struct Host {
        /// Empty = everybody's; `nil` = not known.
        var accounts: [String]?
        var isThere = false
        var isReady = false
        /// The accounts whose people dismissed it.
        var dismissers: Set<String> = []
        /// When its next deadline is due.
        var due: Int64?
        /// The world's time of its newest record.
        var changedAt: Int64 = 0
        /// Whose it was in all of its lives; `nil` stands for everybody.
        var former: Set<String?> = []
        /// It was forgotten once: a later life knows nothing of its revs.
        var wasForgotten = false
    }

    /// The orders that a board shows at a moment: those that are surely there, and those that may be.
    struct View {
        var due: Set<String> = []
        var possible: Set<String> = []
    }

    /// How many widgets a watch shows.
    static let limit = 10

    private(set) var hosts: [String: Host] = [:]
    private var orders: [String: String] = [:]
    private var boardNames: Set<String> = []
    /// The newest commit.
    private(set) var sequence: Int64 = 0
    private(set) var reloads = ReferenceReloads()

    func beginReload() -> Int { reloads.begin(at: sequence) }
    func endReload(_ number: Int) { reloads.end(number, at: sequence) }

    /// The order whose widget has this id on every board.
    func order(ofID id: String) -> String? { orders[id] }

    // MARK: Records

    func begin(_ record: JournalRecord) { sequence = record.sequence }

    /// Takes a record of a key, whatever it is of.
    func recordRow(_ record: HistoryRecord, of key: String) {
        if SimulatedRelevantWidgets.isOnBoard(key) { boardNames.insert(String(key.prefix { $0 != "/" })) }
        if record.type == "reload", key.hasPrefix("weather/") { reloads.note(key, at: record.sequence) }
    }

    /// - Parameters:
    ///   - account: Whose people dismissed it.
    ///   - now: The world's time.
    func recordRow(
        _ record: HistoryRecord, ofOrder key: String, _ order: ReferenceOrder, accounts: [String]?,
        dismissedBy account: String?, at now: Int64
    ) {
        var host = hosts[key] ?? Host()
        let isThere = order.isListed == true
        if isThere, !host.isThere { host.dismissers = [] }
        if record.type == "dismissed", let account { host.dismissers.insert(account) }
        if record.type == "pruned" { host.wasForgotten = true }
        (host.accounts, host.isReady, host.isThere) = (accounts, order.isReady, isThere)
        (host.due, host.changedAt) = (order.nextDue, now)
        if order.isReady, let accounts { host.former.formUnion(accounts.isEmpty ? [nil] : accounts.map { $0 }) }
        hosts[key] = host
        if order.isReady, let id = SimulatedRelevantWidgets.id(ofOrder: key) { orders[id] = key }
    }

    // MARK: Boards

    static func owner(of board: String) -> String? {
        SimulatedRelevantWidgets.boards.first { $0.name == board }?.account
    }

    /// Whether a device of `account` may see a board.
    func isVisible(_ board: String, to account: String?) -> Bool {
        guard boardNames.contains(board) else { return false }
        guard let owner = Self.owner(of: board), let account else { return true }
        return owner == account
    }

    /// Gives the orders that a board shows to a device that is on its way.
    ///
    /// - Parameters:
    ///   - time: The daemon's.
    ///   - since: What changed behind it, in the world's time, may be there or not: boards of what is everybody's are looked
    ///     at one by one.
    func view(_ board: String, for account: String?, at time: Int64, since: Int64) -> View {
        var view = View()
        guard isVisible(board, to: account) else { return view }
        let owner = Self.owner(of: board)
        for (key, host) in hosts {
            let isOwn = host.accounts.map { $0.isEmpty || owner.map($0.contains) == true }
            if isOwn == false { continue }
            let isDismissed = owner.map(host.dismissers.contains) == true
            let isCertain =
                isOwn == true && host.changedAt < since && host.due ?? .max > time
                && account.map(host.dismissers.contains) != true
            let isThere = host.isReady && !isDismissed
            if isCertain, !isThere { continue }
            view.possible.insert(key)
            if isCertain { view.due.insert(key) }
        }
        return view
    }

    /// The fault of a row of what comes by itself, if it has one: whose it is, and what it shows.
    func fault(ofRow reported: ReceivedTile, id: String, on board: String, for account: String?) -> String? {
        guard reported.isSuggested, let order = SimulatedRelevantWidgets.order(ofWidget: reported.widget) else {
            return "shows \(reported.widget), which does not come by itself"
        }
        if SimulatedRelevantWidgets.id(ofOrder: order) != id { return "shows \(reported.widget), which has another id" }
        guard isVisible(board, to: account) else { return "is of a board that it may not see" }
        guard let host = hosts[order], let accounts = host.accounts else { return nil }
        let owner = Self.owner(of: board)
        if !accounts.isEmpty, owner.map(accounts.contains) != true {
            return "shows \(order), which is for \(accounts.joined(separator: ", ")) alone"
        }
        return nil
    }

    /// The fault of a deletion of a widget that came by itself, if it has one: a device gets none of a widget that was never for its board.
    func fault(ofDeletion id: String, on board: String, for account: String?) -> String? {
        guard isVisible(board, to: account) else { return "is of a board that it may not see" }
        guard let order = orders[id], let host = hosts[order] else { return "is of nothing that was ever there" }
        if host.accounts == nil || host.former.contains(nil) { return nil }
        return host.former.contains(Self.owner(of: board)) ? nil : "is of \(order), which never was for that board"
    }
}
