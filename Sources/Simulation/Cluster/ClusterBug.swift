/// A bug that the simulation of a cluster plants, to see that its checkers find it.
///
/// Each stands for a mistake that a node could make. It is made in the performer and in what it passes on, so the code of
/// the cluster itself is unchanged.
public enum ClusterBug: String, CaseIterable, Sendable {
    case pipelinedFence, refusalTakenForStored, silenceTakenForLost, strangersAck, staleReadLeads, leaseTakenForFence
    case oldLeaderShows, doAfterDeposal, standbyFiresTimers, copiedBeforeStored, chainUnchecked, epochAtTakeover
    case behindCursorServed, shorterLogAccepted, ownKindsAtTakeover, halfBatchReplayed

    public var summary: String {
        switch self {
        case .pipelinedFence: "a batch goes as several messages at once"
        case .refusalTakenForStored: "a refused append is taken for stored by an attempt before"
        case .silenceTakenForLost: "an append without an answer is taken for lost"
        case .strangersAck: "an acknowledgement of another message counts"
        case .staleReadLeads: "a candidate appends its term behind messages that it has not read"
        case .leaseTakenForFence: "a leader appends without a condition, because it has the lease"
        case .oldLeaderShows: "a leader in limbo writes rows and replies"
        case .doAfterDeposal: "a leader in limbo asks providers"
        case .standbyFiresTimers: "a standby fires deadlines"
        case .copiedBeforeStored: "the local copy has a batch before the log has it"
        case .chainUnchecked: "a stranger's message is replayed"
        case .epochAtTakeover: "a new leader begins a new epoch"
        case .behindCursorServed: "a new leader serves before it has replayed the last message"
        case .shorterLogAccepted: "a node throws its copy away for a log that is shorter"
        case .ownKindsAtTakeover: "a new leader puts the kinds of its own folder in force"
        case .halfBatchReplayed: "a part of a batch is replayed without the rest"
        }
    }
}

/// The faults of a run of a cluster, which a seed picks. Spans are in milliseconds, shares of a thousand.
struct ClusterClimate {
    enum EngineBug: CaseIterable {
        case tailLost, messageChanged, streamDeleted
    }

    var seed: UInt64
    var span: Int64 = 90_000
    /// A batch of more bytes goes in parts.
    var messageBytes = 1_000
    var slowestEngine: Int64 = 5
    var lostAcks = 0
    var lateAcks = 0
    var doubleAcks = 0
    var oldReads = 0
    /// Beats that other nodes are not told of, although they are acknowledged.
    var lostBeats = 0
    /// So many of each within the span.
    var elections = 0
    var kills = 0
    var pauses = 0
    var cuts = 0
    var handovers = 0
    var wipes = 0
    var fullDisks = 0
    var strangers = 0
    var beatLies = 0
    /// By how much each node's clock is ahead.
    var skews: [Int64] = [0, 0, 0]
    var engineBug: EngineBug?
    /// Of the clients and their wires.
    var crowd: FaultProfile

    init(seed: UInt64) {
        self.seed = seed
        var random = SimulationRandom(seed: seed ^ 0xC105_7E12)
        func maybe(_ value: Int) -> Int { random.chance(600) ? value : 0 }
        messageBytes = [300, 1_000, 10_000][random.below(3)]
        slowestEngine = [1, 5, 40][random.below(3)]
        lostAcks = maybe(1 + random.below(150))
        lateAcks = maybe(1 + random.below(100))
        doubleAcks = maybe(1 + random.below(200))
        oldReads = maybe(1 + random.below(500))
        lostBeats = maybe(1 + random.below(300))
        elections = maybe(1 + random.below(3))
        kills = 1 + random.below(3)
        pauses = maybe(1 + random.below(3))
        cuts = maybe(1 + random.below(3))
        handovers = maybe(1)
        wipes = maybe(1)
        fullDisks = maybe(1)
        strangers = maybe(1 + random.below(2))
        beatLies = maybe(1 + random.below(3))
        let widest: Int64 = random.chance(200) ? 90_000 : 2_000
        skews = (0..<3).map { _ in random.pick(-widest...widest) }
        if random.chance(200) { engineBug = random.pick(of: EngineBug.allCases) }
        crowd = FaultProfile(calmWithSeed: seed)
        crowd.producers = 2
        crowd.screens = 4
        crowd.providers = 1
        crowd.fingers = 1
        crowd.retention = 3_000
        crowd.slowestWire = [1, 10, 100][random.below(3)]
        crowd.resets = maybe(30)
        crowd.duplicates = maybe(60)
        crowd.disorder = maybe(200)
        crowd.lies = maybe(200)
        crowd.doubleTaps = maybe(200)
    }
}
