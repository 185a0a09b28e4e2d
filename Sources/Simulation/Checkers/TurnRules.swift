import Journal
import Server
import TelltaleModel

/// The rules of every turn of a daemon, and the configuration of the daemon of a run, which exercises every part of the
/// turn.
struct TurnRules {
    private let profile: FaultProfile
    let pace: Pace
    private(set) var hasFailed = false
    private var lastFlush = MonotonicTime.distantPast
    /// The moment of the world by which the next turn is to begin, because the pace allows a flush then.
    private var promise: Int64?
    private var stopRequest: Int64?

    init(profile: FaultProfile) {
        self.profile = profile
        let bound = Duration.milliseconds(profile.pace)
        pace = profile.adaptivePace == 1 ? .adaptive(upTo: bound) : .fixed(bound)
    }

    // MARK: The daemon of a run

    /// How long an action takes: nothing, little, or so much that batches are divided.
    func costOfAction(generation: Int) -> Duration {
        [.zero, .microseconds(50), .milliseconds(1)][Int((profile.seed &+ UInt64(generation)) % 3)]
    }

    /// Parts of a few records, so that a small batch has some; in every other life, batches of a few requests too.
    func configuration(generation: Int) -> ServerConfiguration {
        var configuration = ServerConfiguration()
        configuration.pace = pace
        configuration.recordsBetweenSnapshots = Int64(profile.snapshotEvery)
        configuration.recordsPerPart = 3
        // Some flushes write to all screens, some to a few, and some to one at a time.
        configuration.flushSpan = [Milliseconds(100), Milliseconds(1), .zero][generation % 3]
        if generation % 2 == 1 {
            configuration.batches.leastCount = 2
            configuration.batches.leastDuration = .zero
        }
        return configuration
    }

    /// The time that a stop may take: its own limits, and the time of the disk and of the last snapshot.
    var stopLimit: Milliseconds {
        let limits = ShutdownLimits()
        return Milliseconds(
            limits.answering.count + limits.draining.count + 20 * Int64(max(1, profile.slowestSync)) + 1_000)
    }

    // MARK: Events

    mutating func started() {
        (hasFailed, promise, stopRequest) = (false, nil, nil)
        lastFlush = .distantPast
    }

    mutating func stopRequested(at now: Int64) { stopRequest = stopRequest ?? now }
    /// A sync failed.
    mutating func failed() { hasFailed = true }
    mutating func flushed(at now: MonotonicTime) { lastFlush = now }

    /// A turn begins.
    mutating func check(turnIn world: World) {
        if let promise, world.now > promise {
            world.violated("turn", "the pace allowed a flush \(world.now - promise) ms ago, and no turn came")
        }
        promise = nil
    }

    func check(appendIn world: World) {
        if hasFailed { world.violated("turn", "something was decided after a failed sync") }
    }

    func check(readFrom link: SimulatedLink, in world: World) {
        if link.isPaused { world.violated("turn", "a connection is read from that is not to be read from") }
    }

    /// The pace delays a flush by no more than its length, counted from the flush before.
    mutating func check(_ wake: Wake, at now: MonotonicTime, in world: World) {
        promise = nil
        guard let flush = wake.flush else { return }
        if flush > max(lastFlush, now) + pace.bound {
            world.violated("turn", "a flush waits for \(flush - now), and the pace is \(pace.bound)")
        }
        promise = world.now + max(1, Int64(((flush - now) / .milliseconds(1)).rounded(.up)))
    }

    /// A stop that ends well has everything on the disk, in a snapshot.
    func check(stoppedWith disk: SimulatedDisk, in world: World) {
        if disk.writing != nil { world.violated("turn", "a stop ended before its last batch was on the disk") }
        let contents = disk.contents
        if contents.snapshotSequence ?? 0 != contents.lastSequence, !disk.refusedSnapshot {
            world.violated(
                "turn", "a stop ended with a snapshot of \(contents.snapshotSequence ?? 0) of \(contents.lastSequence)")
        }
    }
}
