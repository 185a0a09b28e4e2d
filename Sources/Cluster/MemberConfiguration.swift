public import Hub
public import Kinds
public import Replication
public import Server
internal import TelltaleWire

/// The settings of a daemon of a cluster, beside those of its replica.
public struct MemberConfiguration: Sendable {
    public var hub: HubConfiguration
    public var server: ServerConfiguration
    /// Of its folder: the kinds of a history that has none yet.
    public var kinds: [Kind]
    /// Milliseconds from which clients pick a random point before they go to the next leader.
    public var reconnectPause = 0...500

    public var bases = BaseSettings()
    /// So many steps of a base may be on their way to the local copy before more of it is asked for. A step is a chunk of about
    /// half a megabyte.
    public var baseStepLimit = 16

    public init(hub: HubConfiguration, server: ServerConfiguration, kinds: [Kind]) {
        (self.hub, self.server, self.kinds) = (hub, server, kinds)
    }
}

/// The last line to connections of a server that serves no more.
enum Farewell {
    static func bytes(wait: ClosedRange<Int>, leader: String?) -> [UInt8] {
        var writer = LineWriter()
        writer.bye(.notLeader, wait: wait, leader: leader)
        return writer.bytes
    }
}
