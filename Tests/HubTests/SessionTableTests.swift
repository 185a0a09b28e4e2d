import TelltaleModel
import Testing

@testable import Hub

struct SessionTableTests {
    private func at(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(milliseconds: milliseconds) }

    private func receive(_ text: String, from session: Session, in table: inout SessionTable) {
        table.received(Array(text.utf8).span, from: session, at: at(0))
    }

    @Test func `a slot is used again, and the id of the session before it finds none`() {
        var table = SessionTable(limits: Limits())
        let first = table.opened(at: at(0))
        let second = table.opened(at: at(0))
        holds((first.id.slot, second.id.slot) == (0, 1))
        table.closed(first)
        let third = table.opened(at: at(0))
        holds(third.id.slot == 0 && table[first.id] == nil && table[third.id] === third)
        holds(table.openCount == 2 && table.acceptedCount == 3 && table.slotCount == 2)
    }

    @Test func `requests are decided in the order of their arrival, one entry each`() {
        var table = SessionTable(limits: Limits())
        let (one, two) = (table.opened(at: at(0)), table.opened(at: at(0)))
        receive("PING\nPING\n", from: one, in: &table)
        receive("PING\n", from: two, in: &table)
        receive("PING\n", from: one, in: &table)
        holds(table.waitingCount == 4 && table.requestCount == 4)
        var order: [SessionID] = []
        while let id = table.popArrival() { order.append(id) }
        holds(order == [one.id, one.id, two.id, one.id])
        table.putBack([two.id])
        holds(table.popArrival() == two.id && !table.hasWork)
    }

    @Test func `a session with as many requests as it may have is not read from, and read on later`() {
        var limits = Limits()
        limits.requestsInFlight = 2
        var table = SessionTable(limits: limits)
        let session = table.opened(at: at(0))
        // Its greeting is on its way, and counts.
        session.outbox.removeAll()
        receive("PING\nPING\nPING\n", from: session, in: &table)
        holds(table.waitingCount == 2 && !table.wantsInput(session.id))
        _ = session.popRequest()
        table.readOn(session)
        holds(table.waitingCount == 3 && session.unread.isEmpty)
    }

    /// A line of 60,000 bytes.
    private static let longLine = "PING {\"a\":\"" + String(repeating: "x", count: 59_984) + "\"}\n"

    @Test
    func `a turn reads no more long lines than its share, of all sessions together, and short lines wait for none`() {
        var table = SessionTable(limits: Limits())
        let hostile = (0..<6).map { _ in table.opened(at: at(0)) }
        let calm = table.opened(at: at(0))
        for session in hostile + [calm] { session.outbox.removeAll() }
        let text = String(repeating: Self.longLine, count: 17)
        for session in hostile { receive(text, from: session, in: &table) }
        // The first one had the share, which ends with its fifth line. That others send long lines shows with their first.
        holds(table.requestCount == 5 + 5)
        receive("PING\nPING\n", from: calm, in: &table)
        holds(table.requestCount == 12 && calm.inbox.count == 2 && table.wantsInput(calm.id))
        var turns = 0
        while table.requestCount < 6 * 17 + 2, turns < 100 {
            turns += 1
            let before = table.requestCount
            holds(table.hasWork && table.beginTurn())
            holds((1...5).contains(table.requestCount - before))
        }
        holds(turns == 19)
        holds(hostile.allSatisfy { $0.inbox.count == 17 && $0.unread.isEmpty && table.wantsInput($0.id) })
        holds(!table.beginTurn())
    }

    @Test func `sessions that wait for the share take turns, and one that is gone holds up none`() {
        var table = SessionTable(limits: Limits())
        let sessions = (0..<4).map { _ in table.opened(at: at(0)) }
        for session in sessions { session.outbox.removeAll() }
        for session in sessions { receive(String(repeating: Self.longLine, count: 16), from: session, in: &table) }
        table.closed(sessions[1])
        holds(table.beginTurn() && sessions[0].inbox.count == 10)
        holds(table.beginTurn() && sessions[2].inbox.count == 6)
        holds(table.beginTurn() && sessions[3].inbox.count == 6)
        holds(table.beginTurn() && sessions[0].inbox.count == 15)
        holds(sessions[1].inbox.count == 1)
    }

    @Test func `a turn looks at no more keys than its share, but answers what costs next to nothing`() {
        var table = SessionTable(limits: Limits())
        table.beginReading()
        holds(table.takeShare(of: 1_000_000) && !table.takeShare(of: 17) && table.takeShare(of: 16))
        let (one, two) = (table.opened(at: at(0)), table.opened(at: at(0)))
        table.postpone(one)
        table.postpone(two)
        holds(table.hasWork && table.takePostponed() == [one.id, two.id] && !one.isPostponed)
        table.postpone(one)
        table.postpone(two)
        table.rotatePostponed()
        holds(table.takePostponed() == [two.id, one.id])
    }

    @Test func `a reader that takes nothing is cut, and one that is idle gets a sign of life`() {
        var limits = Limits()
        limits.heartbeat = .seconds(20)
        var table = SessionTable(limits: limits)
        var subscriptions = SubscriptionRegistry()
        let (stuck, idle) = (table.opened(at: at(0)), table.opened(at: at(0)))
        table.becameBlocked(stuck, at: at(1_000))
        table.expire(at: at(20_000), &subscriptions)
        holds(idle.hasMarkPending && !stuck.hasMarkPending && table.takeEnded() == [])
        table.expire(at: at(31_000), &subscriptions)
        holds(table.takeEnded() == [stuck.id] && table.stuckReaderCount == 1)
    }

    @Test func `taps count among those of an account, else of a client, else of a connection of this process`() {
        var table = SessionTable(limits: Limits())
        let session = table.opened(at: at(0))
        table.began(after: 77)
        holds(table.tapSender(session) == "connection:77.1")
        session.client = "kitchen"
        holds(table.tapSender(session) == "client:kitchen")
        session.account = "ana"
        holds(table.tapSender(session) == "account:ana")
    }
}
