import Replication
import TelltaleModel

/// A bug that the simulation of a cluster plants, to see that its checkers find it.
///
/// Each stands for a mistake that a node could make. It is made in the performer and in what it passes on, so the code of
/// the cluster itself is unchanged.
public enum ClusterBug: String, PlantedBug {
    case pipelinedFence = "a batch goes as several messages at once"
    case refusalTakenForStored = "a refused append is taken for stored by an attempt before"
    case silenceTakenForLost = "an append without an answer is taken for lost"
    case strangersAck = "an acknowledgement of another message counts"
    case staleReadLeads = "a candidate appends its term behind messages that it has not read"
    case leaseTakenForFence = "a leader appends without a condition, because it has the lease"
    case oldLeaderShows = "a leader in limbo writes rows and replies"
    case doAfterDeposal = "a leader in limbo asks providers"
    case standbyFiresTimers = "a standby fires deadlines"
    case copiedBeforeStored = "the local copy has a batch before the log has it"
    case chainUnchecked = "a stranger's message is replayed"
    case epochAtTakeover = "a new leader begins a new epoch"
    case behindCursorServed = "a new leader serves before it has replayed the last message"
    case shorterLogAccepted = "a node throws its copy away for a log that is shorter"
    case ownKindsAtTakeover = "a new leader puts the kinds of its own folder in force"
    case halfBatchReplayed = "a part of a batch is replayed without the rest"
    case incompleteBaseUsed = "a base is loaded that is not whole, or of which a bit has changed"
    case purgedBeyondBase = "the log is purged up to the newest base"
    case foreignBaseTaken = "a base of another epoch is loaded"
    case chainUncheckedAtBase = "a node goes on behind a base wherever the log goes on"
    case baseOfOtherRecord = "a base is told to be of a newer record than its state"
    case clocksOfLastTurn =
        "the snapshot of a leader has the clocks of its last turn, and not those of its newest record"
    case prunedBeforeSnapshot = "a local copy forgets records before the snapshot that holds them is finished"
    case oldBeatsTakenForSilence = "a standby whose view of the beats is behind deposes a leader that lives"
    case restartsUnheard = "behind the end of all processes a node waits for a lease that none holds"
    case keptBeatsTakenForWords = "what the engine has kept of a process that is gone is taken for its word"
    case termsCountedAnew = "terms begin at 1 in the log that a history goes into"
    case leftWithoutTail = "a folder that leaves the log goes without what only the log has"
    case restoreBegunAnew = "a restore that was interrupted wants another epoch when it is run again"
    case lossForgotten = "the folder of a node that has told a loss does not remember it"
    case silentLeaderNamed = "a standby sends clients to a leader that it has not heard for long"
    case refutedSyncTrusted = "a node leads on over a server of the engine that says that it does not sync"
    case silenceTakenForSync = "a server that did not sync is taken for mended because it says nothing more"
    case namesakesLive = "a node does not hear that another process has its name"
    case settledThoughAbsent = "a leader that stands down answers its last batch, which the log may not have"
    case readingNeverGoesOn = "a node whose disk has kept up again reads the log no further"
    case limitUnheard = "a node does not hear that the engine takes no messages of this length"
    case neverGivenUp = "a leader whose messages the engine does not take waits for it without end"
    case publishedByRecord = "a follower shows a batch record by record"
    case replayedUnpublished = "a follower replays as a recovery does, and owes its screens nothing for it"
    case followersClockInReplay = "a follower replays by its own clock where that is ahead"
    case clocksKeptAtRollBack = "a batch that is undone leaves the clocks of the node ahead of its newest record"
    case afterIgnored = "a standby answers a client that has seen more than it, although the client says so"
    case resetBehind = "a standby resets a client whose cursor is ahead of it"
    case staleServedSilently = "a standby that is cut off does not say that its rows are old"
    case idleTakenForStale = "a standby whose log has nothing new says that its rows are old"
    case ownWriteUnseen = "a node answers a write before it has applied the commit"
    case forwardedTwice = "a write whose fate is not known is sent to the next leader"
    case unknownFateRefused = "a write whose fate is not known is refused"
    case guestsUnnamed = "the leader does not learn who the client of another node is"
    case providerOutlivesNode = "the leader takes the providers of a node that is gone for present"
    case providersUnnamed = "a node does not name its providers to the next leader"
    case doBehindTime = "a node asks its provider long after the operation is over"
    case observerVolunteers = "an observer tries to lead"
    case drainedAtOnce = "a node that drains sends all of its clients away at once"
    case denialIgnored = "a node leads although the engine has told it that it has no right to append"
}

/// The faults of a run of a cluster, which a seed picks. Spans are in milliseconds, shares of a thousand.
struct ClusterClimate {
    enum LogStoreBug: CaseIterable {
        case tailLost, messageChanged, streamDeleted
    }

    var seed: UInt64
    var span: Int64 = 90_000
    /// A batch of more bytes goes in parts.
    var messageBytes = 1_000
    var slowestLogStore: Int64 = 5
    var lostAcks = 0
    var lateAcks = 0
    var doubleAcks = 0
    var oldReads = 0
    /// Heartbeats that other nodes are not notified of, although they are acknowledged.
    var lostHeartbeats = 0
    /// So many of each within the span.
    var elections = 0
    var kills = 0
    /// All nodes and all servers of the log store at once.
    var blackouts = 0
    /// Of the history into another log, while no node runs.
    var moves = 0
    var pauses = 0
    var cuts = 0
    var handovers = 0
    var terminations = 0
    var wipes = 0
    var checkpointDamages = 0
    var lostCheckpointAnswers = 0
    var lateCheckpointRequests = 0
    var checkpoints = CheckpointSettings()
    var recordsBetweenSnapshots = Int64.max
    /// From an order to a node's own disk to its end.
    var slowestDisk: Int64 = 5
    var fullDisks = 0
    /// Of nodes, for a while: what is read waits for them in memory.
    var hungDisks = 0
    /// Of the messages that are refused for want of room, behind a proposal that the other servers store.
    var storedThoughFull = 0
    var strangers = 0
    var heartbeatLies = 0
    /// The log store comes to take messages of another length at most.
    var limits = 0
    /// For a while the log store takes nothing that a node appends, and takes its heartbeats.
    var refusals = 0
    /// A server of the log store does not sync for a while.
    var syncLapses = 0
    /// Another machine is given the name of a node.
    var duplicateNodes = 0
    /// Which one, where there is one.
    var sharedName = 0
    /// The node that never leads; `nil` = each may.
    var observer: Int?
    var processCount: Int { SimulatedCluster.nodeCount + duplicateNodes }
    /// By how much each node's clock is ahead.
    var skews: [Int64] = [0, 0, 0]
    var logStoreBug: LogStoreBug?
    /// An operator takes a node out of service, and back or ends it.
    var drains = 0
    /// From the end of a node that has reported a loss to its next start.
    var stops: ClosedRange<Int64> = 500...20_000
    /// Of the clients and their wires.
    var crowd: FaultProfile

    init(seed: UInt64) {
        self.seed = seed
        var random = SimulationRandom(seed: seed ^ 0xC105_7E12)
        func maybe(_ value: Int) -> Int { random.chance(600) ? value : 0 }
        messageBytes = [300, 1_000, 10_000][random.below(3)]
        slowestLogStore = [1, 5, 40][random.below(3)]
        lostAcks = maybe(1 + random.below(150))
        lateAcks = maybe(1 + random.below(100))
        doubleAcks = maybe(1 + random.below(200))
        oldReads = maybe(1 + random.below(500))
        lostHeartbeats = maybe(1 + random.below(300))
        elections = maybe(1 + random.below(3))
        kills = 1 + random.below(3)
        pauses = maybe(1 + random.below(3))
        cuts = maybe(1 + random.below(3))
        handovers = maybe(1)
        wipes = maybe(1 + random.below(3))
        fullDisks = maybe(1)
        strangers = maybe(1 + random.below(2))
        heartbeatLies = maybe(1 + random.below(3))
        let widest: Int64 = random.chance(200) ? 90_000 : 2_000
        skews = (0..<3).map { _ in random.pick(-widest...widest) }
        if random.chance(200) { logStoreBug = random.pick(of: LogStoreBug.allCases) }
        checkpointDamages = maybe(1 + random.below(3))
        lostCheckpointAnswers = maybe(1 + random.below(100))
        checkpoints.every = Milliseconds(random.pick(3_000...20_000))
        checkpoints.logBytes = random.chance(300) ? 5_000 : 1 << 40
        checkpoints.retention = Milliseconds(random.pick(1_000...40_000))
        checkpoints.logLimit = random.chance(300) ? 20_000 : .max
        (checkpoints.checkInterval, checkpoints.turn) = (.seconds(1), .seconds(2))
        (checkpoints.patience, checkpoints.longPatience) = (.seconds(2), .seconds(15))
        checkpoints.pieceBytes = [200, 2_000, 50_000][random.below(3)]
        recordsBetweenSnapshots = [20, 100, .max][random.below(3)]
        terminations = maybe(1 + random.below(2))
        slowestDisk = [1, 20, 500, 10_000][random.below(4)]
        crowd = FaultProfile(calmWithSeed: seed)
        crowd.producers = 2
        crowd.screens = 4
        crowd.providers = 2
        crowd.fingers = 1
        // In the short one local journals forget records, and nodes event ids.
        crowd.retention = random.chance(200) ? 20 : 3_000
        crowd.slowestWire = [1, 10, 100][random.below(3)]
        crowd.resets = maybe(30)
        crowd.duplicates = maybe(60)
        crowd.disorder = maybe(200)
        crowd.lies = maybe(200)
        crowd.doubleTaps = maybe(200)
        lateCheckpointRequests = maybe(1 + random.below(50))
        blackouts = random.chance(300) ? 1 : 0
        moves = random.chance(300) ? 1 + random.below(2) : 0
        // Of numbers of its own, so that the rest of a seed is as it was.
        var late = SimulationRandom(seed: seed ^ 0x5E_1A7E)
        let isMoved = moves > 0
        syncLapses = !isMoved && late.chance(200) ? 1 : 0
        duplicateNodes = !isMoved && late.chance(200) ? 1 : 0
        sharedName = late.below(SimulatedCluster.nodeCount)
        hungDisks = late.chance(300) ? 1 + late.below(3) : 0
        storedThoughFull = late.chance(300) ? 100 + late.below(800) : 0
        limits = late.chance(300) ? 1 + late.below(3) : 0
        refusals = late.chance(300) ? 1 + late.below(2) : 0
        // A log that is purged while a node is stopped shows that node no more what it has lost.
        if logStoreBug == .tailLost || logStoreBug == .streamDeleted, late.chance(500) {
            stops = 15_000...45_000
            (checkpoints.every, checkpoints.retention) = (.seconds(3), .seconds(1))
        }
        if late.chance(250) { observer = late.below(SimulatedCluster.nodeCount) }
        // Likewise. What an operator does has a third.
        var operators = Self.operators(seed)
        if operators.chance(250), !isMoved { drains = 1 + operators.below(3) }
    }

    /// The numbers of the operators.
    static func operators(_ seed: UInt64) -> SimulationRandom { SimulationRandom(seed: seed ^ 0xD2A1_07E4) }
}
