/// The clients of other nodes, at the leader: each is a session without a connection, whose replies leave on the link of its node.
///
/// Invariants:
/// - A guest ends with its link.
/// - A guest has the number of its connection at its node, so a record names the same client on every node. Numbers contain the
///   process of the node, so two links share none.
struct GuestTable: ~Copyable {
    /// The guests of each link, by their numbers.
    private var guestsOfLink: [SessionID: [Int64: SessionID]] = [:]
    private var linkOfGuest: [SessionID: SessionID] = [:]

    func isLink(_ session: SessionID) -> Bool { guestsOfLink[session] != nil }
    /// The link of a guest; `nil` = it is a client of this node.
    func link(of session: SessionID) -> SessionID? { linkOfGuest[session] }
    func guest(_ number: Int64, of link: SessionID) -> SessionID? { guestsOfLink[link]?[number] }
    /// In the order of their numbers.
    var links: [SessionID] { guestsOfLink.keys.sorted { $0.number < $1.number } }
    var isEmpty: Bool { guestsOfLink.isEmpty }

    mutating func opened(link: SessionID) { guestsOfLink[link] = [:] }

    mutating func opened(_ guest: SessionID, of link: SessionID) {
        guestsOfLink[link]?[guest.number] = guest
        linkOfGuest[guest] = link
    }

    mutating func closed(guest: SessionID) {
        guard let link = linkOfGuest.removeValue(forKey: guest) else { return }
        guestsOfLink[link]?[guest.number] = nil
    }

    /// - Returns: Its guests, in the order of their numbers; they end with it.
    mutating func closed(link: SessionID) -> [SessionID] {
        guard let guests = guestsOfLink.removeValue(forKey: link) else { return [] }
        for guest in guests.values { linkOfGuest[guest] = nil }
        return guests.values.sorted { $0.number < $1.number }
    }

    /// The guests of a link, in the order of their numbers.
    func guests(of link: SessionID) -> [SessionID] { guestsOfLink[link]?.values.sorted { $0.number < $1.number } ?? [] }
}
