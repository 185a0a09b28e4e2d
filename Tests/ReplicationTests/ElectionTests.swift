import Replication
import TelltaleModel
import Testing

struct ElectionTests {
    private static func time(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(milliseconds: milliseconds) }

    private static func heartbeat(_ number: Int64) -> Heartbeat {
        Heartbeat(node: "n1", role: .leading, term: 1, position: 1, address: "a:1", release: "1", number: number)
    }

    /// When a standby may try, with an own heartbeat in its view of the heartbeats each second.
    private static func due(_ election: inout Election, from begin: Int64) -> Int64? {
        for now in stride(from: begin, through: begin + 20_000, by: 1_000) {
            election.viewed(sentAt: time(now), at: time(now))
            if election.moment(position: 1, skew: .zero) != nil { return now }
        }
        return nil
    }

    @Test func `a lease ages from the last sign of life, and not from the answer before it`() {
        var election = Election(node: "n2", settings: ReplicaSettings())
        election.viewed(sentAt: Self.time(0), at: Self.time(0))
        election.heard(Self.heartbeat(1), isOfLeader: true, at: Self.time(990))
        #expect(Self.due(&election, from: 1_000) == 4_000)
        // A new leader has a whole lease too.
        election = Election(node: "n2", settings: ReplicaSettings())
        election.viewed(sentAt: Self.time(0), at: Self.time(0))
        election.leaderBegan(at: Self.time(990))
        #expect(Self.due(&election, from: 1_000) == 4_000)
    }

    @Test func `a lease that ran out long ago is no reason to try when nothing was seen since`() {
        var election = Election(node: "n2", settings: ReplicaSettings())
        election.heard(Self.heartbeat(1), isOfLeader: true, at: Self.time(0))
        #expect(Self.due(&election, from: 0) == 3_000)
        election.passed(to: Self.time(5_000))
        #expect(election.moment(position: 1, skew: .zero) != nil)
        election.passed(to: Self.time(5_001))
        #expect(election.moment(position: 1, skew: .zero) == nil)
        // The leader's heartbeat is in the next view.
        election.heard(Self.heartbeat(2), isOfLeader: true, at: Self.time(6_000))
        election.viewed(sentAt: Self.time(5_990), at: Self.time(6_000))
        #expect(election.moment(position: 1, skew: .zero) == nil)
    }
}
