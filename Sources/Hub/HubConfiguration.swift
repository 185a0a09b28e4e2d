internal import FanOut
public import Surfaces
public import TelltaleModel
internal import TelltaleWire

/// The settings of a hub. All of it is data; the settings that decisions depend on are journaled.
public struct HubConfiguration: Sendable {
    /// Told in the greeting.
    public var serverVersion = Release.version
    public var limits = Limits()
    /// These take effect with the first commit, and are journaled.
    public var decisions = DecisionSettings()
    public var surfaces = SurfaceSettings()
    /// Rows a day of one widget to a device whose screen is off, 1 to 86,400; `nil` = as many as there are, for developers
    /// of widgets. No record depends on it.
    public var widgetRowsPerDay: Int? = 48
    /// How many of them may leave at once, 1 to 1,000.
    public var widgetBurst = 8

    var widgetBudget: RowBudget? { widgetRowsPerDay.map { RowBudget(rowsPerDay: $0, burst: widgetBurst) } }

    public init() {}
}

/// Bounds of line-protocol.md §11, each with its default.
public struct Limits: Hashable, Sendable {
    /// The longest line, in bytes without its ending.
    public var lineLength = 65_536
    public var subscriptionsPerConnection = 256
    /// Requests of one connection that wait for their replies; past it, its socket is not read.
    public var requestsInFlight = 1_024
    /// The same in bytes.
    public var requestBytesInFlight = 1_048_576
    /// A batch ends with the request that makes it so many bytes of records; the hub's own do not count.
    ///
    /// Above all batches of small events, so that it bounds the memory and the transaction of large ones alone. A node of a cluster
    /// has ``batchBytesInMessage``.
    public var batchBytes = 4_194_304
    /// With the largest request behind it, a batch of so many bytes is one message of a replicated log, 896 KiB.
    public static let batchBytesInMessage = 851_968
    /// Without a sign of life for so long the server says `MARK`.
    public var heartbeat = Milliseconds.seconds(20)
    /// A reader that accepts no byte for so long is cut.
    public var stuckReader = Milliseconds.seconds(30)
    /// Bytes rendered for one session in one turn; the rest stays dirty keys.
    public var bytesPerFlush = 32_768
    /// A subscription to more keys than this is owed a position in the table of keys, and not each of them.
    public var keysFilledAtOnce = 1_024
    /// Keys that are looked at for one session in one turn, where nothing is written for most of them.
    public var keysPerLook = 1_024
    /// Keys for which one batch makes records of `RELOAD` of many, and as many because a provider came or went.
    public var keysPerWalk = 256
    /// Boards that are looked at in one batch because of what comes and goes for everybody.
    public var boardsPerBatch = 64
    /// Milestones and alerts that wait for one connection, in bytes of memory.
    public var announcementBytes = 1_048_576
    /// Names of sources of event ids (`src=`), whose ids are remembered.
    public var sources = 100_000
    /// Accounts that activities are for.
    public var accounts = 1_000_000
    /// Activities of a kind that take part in a view of an account, and that such a view shows (Protocols/Surfaces/rules.md C10).
    public var activitiesPerView = 64
    /// Tiles and stacks of one board.
    public var tilesPerBoard = 64
    /// Boards of one account, and boards that are everybody's.
    public var boardsPerAccount = 32
    public var sharedBoards = 1_024
    /// Keys that exist or that a subscription follows; with so many, no subscription names another.
    public var keys = 4_000_000

    public init() {}
}
