import Journal
import Replication
import TelltaleModel
import Testing

/// A maker of checkpoints by itself.
struct CheckpointKeeperTests {
    private static let now = MonotonicTime(milliseconds: 1_000_000)

    /// A node that has read a term record and one record, alone.
    private static func situation() -> CheckpointSituation {
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
        return CheckpointSituation(
            reader: reader, isLeading: true, isCurrent: true, standbys: [], wall: Timestamp(milliseconds: 1))
    }

    private static func actions(_ keeper: inout CheckpointKeeper) -> [CheckpointKeeper.Action] {
        var actions: [CheckpointKeeper.Action] = []
        while let action = keeper.nextAction() { actions.append(action) }
        return actions
    }

    /// A keeper that stores a checkpoint, with one piece of it stored.
    private static func making() -> CheckpointKeeper {
        var settings = CheckpointSettings()
        (settings.every, settings.turn) = (.zero, .zero)
        var keeper = CheckpointKeeper(node: "n1", instance: 3, settings: settings, at: now)
        keeper.tick(situation(), at: now + settings.checkInterval)
        keeper.handleAnswer(.list([], LogExtent(first: 1, byteCount: 0)), situation(), at: now + settings.checkInterval)
        keeper.began(at: 1, now: now)
        keeper.offer([1, 2, 3], at: now)
        let asked = actions(&keeper)
        #expect(asked.contains(.ask(.store([1, 2, 3], number: 0, of: "2-3-1"))), "\(asked)")
        keeper.handleAnswer(.stored(number: 0, of: "2-3-1"), situation(), at: now)
        return keeper
    }

    @Test func `a checkpoint that is given up in its middle is removed`() {
        var keeper = Self.making()
        keeper.giveUp()
        #expect(Self.actions(&keeper).contains(.ask(.remove("2-3-1"))))
        #expect(!keeper.isMaking)
    }

    @Test func `a checkpoint whose head was sent stays when it is given up, because it may be whole`() {
        var keeper = Self.making()
        keeper.offer(nil, at: Self.now)
        keeper.giveUp()
        let asked = Self.actions(&keeper)
        #expect(!asked.contains(.ask(.remove("2-3-1"))), "\(asked)")
        #expect(asked.contains(.made(id: "2-3-1", isWhole: false)))
        #expect(!keeper.isMaking)
    }
}
