import TelltaleWire

/// The numbered requests of one client: some wait to be sent, others are sent and have no reply yet.
///
/// The daemon replies to the requests of a connection in order, `HELLO` first. After a reconnect the unanswered requests
/// are sent again, before the waiting ones.
struct RequestQueue {
    enum Reply {
        /// The reply to `HELLO`.
        case greeting
        /// The reply to the request of this number.
        case answer(Int)
        /// No reply that is due; `expected` is the `id=` that is.
        case unexpected(expected: String)
    }

    /// The `id=` of a request is this letter and its number.
    let letter: String
    /// How many requests may be without a reply at a time.
    let window: Int
    private var waiting: [Int] = []
    private var unanswered: [Int] = []
    private(set) var isGreeted = false
    private var pausedUntil: Int64 = 0

    /// How long a client waits before it sends anything again, in milliseconds, when the daemon said `retry=later`.
    static let retryDelay: Int64 = 1_500

    init(letter: String, window: Int = 200) {
        self.letter = letter
        self.window = window
    }

    var hasWaiting: Bool { !waiting.isEmpty }
    var unansweredCount: Int { unanswered.count }
    var isIdle: Bool { waiting.isEmpty && unanswered.isEmpty }
    /// Whether the daemon has a reply pending, or a request was not sent yet.
    var hasPending: Bool { !isIdle || !isGreeted }

    func id(of number: Int) -> String { "\(letter)\(number)" }

    mutating func append(_ number: Int) { waiting.append(number) }
    mutating func append(contentsOf numbers: [Int]) { waiting += numbers }

    /// A new connection begins with `HELLO`.
    ///
    /// - Parameter isRepeatable: Whether a request may be sent a second time; others are dropped.
    mutating func reconnect(where isRepeatable: (Int) -> Bool = { _ in true }) {
        isGreeted = false
        waiting = unanswered.filter(isRepeatable) + waiting
        unanswered = []
    }

    /// The next request to send at `now`; it counts as sent.
    mutating func next(at now: Int64) -> Int? {
        guard pausedUntil <= now, unanswered.count < window, !waiting.isEmpty else { return nil }
        let number = waiting.removeFirst()
        unanswered.append(number)
        return number
    }

    /// Takes an `OK` or an `ERR`.
    mutating func matchReply(_ line: ServerLine) -> Reply {
        guard isGreeted else {
            isGreeted = true
            return line["id"] == "hello" ? .greeting : .unexpected(expected: "hello")
        }
        let expected = unanswered.first.map { id(of: $0) } ?? "nothing"
        guard let number = unanswered.first, line["id"] == expected else { return .unexpected(expected: expected) }
        unanswered.removeFirst()
        return .answer(number)
    }

    /// Sends the request again after ``retryDelay``, and no other one before.
    ///
    /// - Returns: Whether a pause begins with it, so that the client has to wake up at its end.
    mutating func postpone(_ number: Int, at now: Int64) -> Bool {
        waiting.append(number)
        guard pausedUntil <= now else { return false }
        pausedUntil = now + Self.retryDelay
        return true
    }
}
