/// Counts the rows of widgets that leave for devices whose screens are off, as they leave: none is sent more than its
/// budget, and what waits for one leaves when the screen goes on.
struct BudgetCheck {
    /// The budget of the simulated daemon: small, so that minutes bring to it what days bring to a real one.
    static let rowsPerDay = 8_640
    static let burst = 3
    /// The cost of a row, in milliseconds.
    static let cost: Int64 = 10_000
    /// By so much, in milliseconds, a row may leave behind the moment at which it was paid.
    private static let latitude: Int64 = 200

    /// The credit of a device for a widget, by a count of its own.
    private struct Credit {
        var milliseconds = BudgetCheck.cost * Int64(BudgetCheck.burst)
        var time: Int64
        /// The connections that had a row for the last payment.
        var users: Set<ObjectIdentifier> = []
    }

    private struct Place: Hashable {
        var unit: String
        var key: String
    }

    private struct Connection {
        /// Held, so that no other link is taken for it: the place of one that is gone is given to the next.
        let link: SimulatedLink
        var isOff = false
        var onSince: Int64 = 0
    }

    private var credits: [Place: Credit] = [:]
    private var connections: [ObjectIdentifier: Connection] = [:]
    private(set) var heldCount = 0

    /// The fault of what a device is sent, if it has one.
    ///
    /// - Parameter isSlow: What is pending may wait for other reasons than a budget.
    mutating func fault(in bytes: [UInt8], unit: String, on link: SimulatedLink, isSlow: Bool, at time: Int64)
        -> String?
    {
        let id = ObjectIdentifier(link)
        var connection = connections[id] ?? Connection(link: link)
        defer { connections[id] = connection }
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let head = String(decoding: line.prefix(200), as: UTF8.self).split(separator: " ").prefix(8)
            if head.contains("id=off") { connection.isOff = true }
            if head.contains("id=on") { connection = Connection(link: link, isOff: false, onSince: time) }
            guard head.first == "UPD", let key = head.first(where: { $0.hasPrefix("key=") }),
                SimulatedWidgets.isWidget(String(key.dropFirst(4)))
            else { continue }
            let isHeld = head.contains("why=budget")
            if isHeld { heldCount += 1 }
            if !connection.isOff {
                if isHeld, !isSlow, time > connection.onSince + 1_000 {
                    return "is sent \(key) that was held back, \(time - connection.onSince) ms after its screen went on"
                }
                continue
            }
            if head.contains("why=resume") { continue }
            guard pays(Place(unit: unit, key: String(key)), id, at: time) else {
                return "is sent more rows of \(key) than its budget"
            }
        }
        return nil
    }

    /// Whether a row may wait for credit, or be on its way: a while ago one was paid.
    func mayHold(_ key: String, of unit: String, at time: Int64) -> Bool {
        credits[Place(unit: unit, key: "key=" + key)].map { time < $0.time + Self.cost + 5_000 } ?? false
    }

    private mutating func pays(_ place: Place, _ payer: ObjectIdentifier, at time: Int64) -> Bool {
        var credit = credits[place] ?? Credit(time: time)
        // Rows to several connections within a second cost once.
        if !credit.users.isEmpty, time <= credit.time + 1_000 + Self.latitude, credit.users.insert(payer).inserted {
            credits[place] = credit
            return true
        }
        let whole = Self.cost * Int64(Self.burst)
        credit.milliseconds = min(whole, credit.milliseconds + time - credit.time)
        guard credit.milliseconds >= Self.cost - Self.latitude else { return false }
        credit.milliseconds -= Self.cost
        (credit.time, credit.users) = (time, [payer])
        credits[place] = credit
        return true
    }
}
