import Hub

/// A connection between a client and the daemon, with a socket's buffer of limited size on the way to the client.
final class SimulatedLink {
    let client: Int
    /// Of a ``Crowd``'s connections, which one.
    var number = 0
    /// In a cluster: when the client opened it.
    var openedAt: Int64 = 0
    /// The name that its `HELLO` said, where a token speaks for it.
    var name: String?
    /// The daemon has shut its side.
    var hasEnded = false
    /// On the daemon's side; `nil` before it was accepted and when it is gone.
    var session: SessionID?
    var isOpenAtClient = true
    /// Bytes that the socket did not take.
    var unsent = ByteQueue()
    /// How many bytes the socket took and the client has not read.
    var buffered = 0
    let capacity: Int
    /// Bytes that have reached the client's machine and were not read by the client.
    var received = ByteQueue()
    /// Bytes that the client takes each ``pause``; all there are when it is `nil`.
    var readingLimit: Int?
    var pause: Int64 = 0
    var isReadScheduled = false
    /// Bytes that have reached the daemon's machine and were not read by the daemon.
    var arrived = ByteQueue()
    /// The client's end has arrived behind that.
    var hasEndArrived = false
    /// The daemon does not read from it.
    var isPaused = false
    /// Since when the daemon cannot write.
    var blockedSince: Int64?
    /// When the socket last took something while blocked.
    var lastProgress: Int64 = 0
    /// The daemon sends nothing more: its side is shut when everything has left.
    var isFinishing = false
    /// The newest arrivals, so that bytes arrive in the order in which they were sent.
    private var lastArrivalAtServer: Int64 = 0
    private(set) var lastArrivalAtClient: Int64 = 0

    /// The daemon's start to which it belongs.
    let wasAcceptedIn: Int
    /// It took less than it was given, once at least.
    var wasBlocked = false
    /// The daemon cut it for taking nothing.
    var wasCut = false

    init(client: Int, capacity: Int, generation: Int) {
        self.client = client
        wasAcceptedIn = generation
        self.capacity = capacity
    }

    /// Whether its newest `MARK` said that rows may be old.
    private(set) var isMarkedStale = false

    /// Notes what a node of a cluster says of the age of its rows.
    func noteMarks(in bytes: [UInt8]) {
        for line in bytes.split(separator: UInt8(ascii: "\n")) where line.starts(with: "MARK ".utf8) {
            isMarkedStale = line.firstRange(of: " stale=".utf8) != nil
        }
    }

    /// When something gets to the daemon that is on its way until `time`, if nothing is before it.
    func arrivalAtServer(_ time: Int64) -> Int64 {
        lastArrivalAtServer = max(lastArrivalAtServer, time)
        return lastArrivalAtServer
    }

    func arrivalAtClient(_ time: Int64) -> Int64 {
        lastArrivalAtClient = max(lastArrivalAtClient, time)
        return lastArrivalAtClient
    }
}

extension [SessionID: SimulatedLink] {
    /// A client may have left one link and opened another: the order must not hang on that of a dictionary.
    var inOrder: [SimulatedLink] {
        sorted { ($0.value.client, $0.key.number) < ($1.value.client, $1.key.number) }.map(\.value)
    }
}
