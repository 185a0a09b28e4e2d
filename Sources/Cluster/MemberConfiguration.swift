public import Hub
public import Kinds
public import Replication
public import Server
public import TelltaleModel
internal import TelltaleWire

/// The settings of a daemon of a cluster, beside those of its replica.
public struct MemberConfiguration: Sendable {
    public var hub: HubConfiguration
    public var server: ServerConfiguration
    /// The kinds of this node's folder, for a history that has none yet.
    public var kinds: [Kind]
    /// The range, in milliseconds, from which clients pick a random delay before they connect to the next leader.
    public var reconnectPause = 0...500

    /// The longest time for which a standby's records wait for the local journal, and the size, in bytes, at which they wait no
    /// longer. After a crash they are read from the log again.
    public var localJournalPause = Milliseconds(250)
    public var localJournalByteCount = 4 << 20

    public var checkpoints = CheckpointSettings()
    /// How many steps of a checkpoint may wait for the local journal before more is read. A step is a chunk of
    /// about half a megabyte.
    public var checkpointStepLimit = 16

    public init(hub: HubConfiguration, server: ServerConfiguration, kinds: [Kind]) {
        (self.hub, self.server, self.kinds) = (hub, server, kinds)
    }
}

/// The last line to the connections of a server that is being replaced.
enum Farewell {
    static func bytes(wait: ClosedRange<Int>, leader: String?) -> [UInt8] {
        var writer = LineWriter()
        writer.bye(.notLeader, wait: wait, leader: leader)
        return writer.bytes
    }
}
