internal import FanOut
public import Surfaces
public import TelltaleModel
internal import TelltaleWire

/// The settings of a hub. All of it is data; the settings that decisions depend on are journaled.
public struct HubConfiguration: Sendable {
    /// Sent in the greeting.
    public var serverVersion = Release.version
    public var limits = Limits()
    /// Take effect with the first commit, and are journaled.
    public var decisions = DecisionSettings()
    public var surfaces = SurfaceSettings()
    /// Rows per day of one widget for a device whose screen is off, 1 to 86,400; `nil` = unlimited, for developers of widgets. No
    /// record depends on it.
    public var widgetRowsPerDay: Int? = 48
    /// How many of them may be sent at once, 1 to 1,000.
    public var widgetBurst = 8

    var widgetBudget: RowBudget? { widgetRowsPerDay.map { RowBudget(rowsPerDay: $0, burst: widgetBurst) } }

    public init() {}
}

/// Bounds of line-protocol.md §11, each with its default.
public struct Limits: Hashable, Sendable {
    /// The longest line, in bytes without its ending.
    public var lineLength = 65_536
    public var subscriptionsPerConnection = 256
    /// Requests of one connection that wait for replies. At this limit its socket is not read.
    public var requestsInFlight = 1_024
    /// The same in bytes.
    public var requestBytesInFlight = 1_048_576
    /// A batch ends with the request that brings it to this many bytes of records. The hub's own records do not count.
    ///
    /// It exceeds any batch of small events, so it bounds the memory and the transaction of large events only. A cluster node
    /// uses ``batchBytesInMessage``.
    public var batchBytes = 4_194_304
    /// With the largest request added, a batch of this size still fits one message of a replicated log, 896 KiB.
    public static let batchBytesInMessage = 851_968
    /// The server sends `MARK` after this long without output.
    public var heartbeat = Milliseconds.seconds(20)
    /// A reader that accepts no byte for this long is disconnected.
    public var stuckReader = Milliseconds.seconds(30)
    /// Bytes rendered for one session in one turn; the rest stays pending.
    public var bytesPerFlush = 32_768
    /// A subscription to more keys than this is filled by a scan over the table, and not key by key.
    public var keysFilledAtOnce = 1_024
    /// Keys examined for one session in one turn, if nothing is written for most of them.
    public var keysPerCheck = 1_024
    /// Keys that one batch processes for a `RELOAD` of many, and again as many for a provider that came or went.
    public var keysPerScan = 256
    /// Boards that one batch re-examines because a relevant widget came or went for everybody.
    public var boardsPerBatch = 64
    /// Memory of milestones and alerts waiting for one connection, in bytes.
    public var announcementBytes = 1_048_576
    /// Sources of event ids (`src=`) whose ids are remembered.
    public var sources = 100_000
    /// Accounts that activities are for.
    public var accounts = 1_000_000
    /// How many activities of a kind compete for a view of an account, and how many such a view shows
    /// (Protocols/Surfaces/rules.md C10).
    public var activitiesPerView = 64
    /// Tiles and stacks of one board.
    public var tilesPerBoard = 64
    /// Boards per account, and boards that belong to everybody.
    public var boardsPerAccount = 32
    public var sharedBoards = 1_024
    /// Keys that exist or are followed. At this limit, no subscription may name another.
    public var keys = 4_000_000

    public init() {}
}
