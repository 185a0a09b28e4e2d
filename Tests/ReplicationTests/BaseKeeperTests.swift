import Journal
import Replication
import TelltaleModel
import Testing

/// A maker of bases by itself.
struct BaseKeeperTests {
    private static let now = MonotonicTime(milliseconds: 1_000_000)

    /// A node that has read a term record and one record, alone.
    private static func situation() -> BaseSituation {
        var reader = LogReader(cluster: "shop", epoch: nil)
        let head = LogMessage(
            cluster: "shop", epoch: 7, term: 1, node: "n1", instance: 3, sequence: 0, link: 0,
            body: .term(address: "", release: "1"))
        _ = reader.read(head.encoded())
        var batch = head
        batch.body = .batch([
            JournalRecord(
                sequence: 1, time: Timestamp(milliseconds: 1), entity: "tea/1", previous: 0, body: [1])
        ])
        _ = reader.read(batch.encoded())
        return BaseSituation(
            reader: reader, isLeading: true, isCurrent: true, standbys: [], wall: Timestamp(milliseconds: 1))
    }

    private static func actions(_ keeper: inout BaseKeeper) -> [BaseKeeper.Action] {
        var actions: [BaseKeeper.Action] = []
        while let action = keeper.nextAction() { actions.append(action) }
        return actions
    }

    /// A keeper that stores a base, with one piece of it stored.
    private static func making() -> BaseKeeper {
        var settings = BaseSettings()
        (settings.every, settings.turn) = (.zero, .zero)
        var keeper = BaseKeeper(node: "n1", instance: 3, settings: settings, at: now)
        keeper.tick(situation(), at: now + settings.look)
        keeper.take(.list([], LogExtent(first: 1, byteCount: 0)), situation(), at: now + settings.look)
        keeper.began(at: 1, now: now)
        keeper.offer([1, 2, 3], at: now)
        let asked = actions(&keeper)
        #expect(asked.contains(.ask(.store([1, 2, 3], number: 0, of: "2-3-1"))), "\(asked)")
        keeper.take(.stored(number: 0, of: "2-3-1"), situation(), at: now)
        return keeper
    }

    @Test func `a base that is given up in its middle is removed`() {
        var keeper = Self.making()
        keeper.giveUp()
        #expect(Self.actions(&keeper).contains(.ask(.remove("2-3-1"))))
        #expect(!keeper.isMaking)
    }

    @Test func `a base whose head was sent stays when it is given up, because it may be whole`() {
        var keeper = Self.making()
        keeper.offer(nil, at: Self.now)
        keeper.giveUp()
        let asked = Self.actions(&keeper)
        #expect(!asked.contains(.ask(.remove("2-3-1"))), "\(asked)")
        #expect(asked.contains(.made(id: "2-3-1", isWhole: false)))
        #expect(!keeper.isMaking)
    }
}
