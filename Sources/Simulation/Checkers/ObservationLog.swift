import TelltaleModel

/// The effect of a request, as it was recorded or reported.
struct Effect {
    var verdict: String
    var rev: Int64
}

/// Everything that the clients have seen, and the violations among it.
final class ObservationLog {
    struct KeyRev: Hashable {
        var key: String
        var rev: Int64
    }

    var violations: [Violation] = []
    /// The full view of each key at each rev: there is only one (P3).
    var bodies: [KeyRev: [UInt8]] = [:]
    /// The newest commit that any client was notified of (P2).
    var newestSeen: Int64 = 0
    /// The effect of each `src/eid`, as it was first acknowledged (P6).
    var effects: [String: Effect] = [:]
    /// Every `src/eid` that was ever sent.
    private(set) var sent: Set<String> = []
    /// The accounts that the line of an event names (`for=`).
    private(set) var audiences: [String: [String]] = [:]
    /// Operations that a provider has reported as done.
    var doneOperations: Set<String> = []
    /// Operations of buttons that a provider was asked for: each is asked for once.
    private var pressesAsked: Set<String> = []
    /// Controls that a provider has reported.
    var reportedKeys: Set<String> = []
    var rows = 0
    var folded = 0
    var resets = 0
    var resumes = 0
    /// Rows whose rev went back.
    var regressions = 0
    /// Operations of controls, and how they ended.
    var operations: [String: String] = [:]
    /// Set where latencies are measured.
    var latency: LatencyBook?
    var verdicts: [String: Int] = [:]
    var errors: [String: Int] = [:]

    /// Of every byte that any client was given, with its time (P10).
    private(set) var hash = StableHash()
    private(set) var byteCount = 0

    func willSend(_ id: String, _ line: String) {
        guard sent.insert(id).inserted else { return }
        for word in line.prefix(while: { $0 != "{" }).split(separator: " ") where word.hasPrefix("for=") {
            audiences[id] = word.dropFirst(4).split(separator: ",").map(String.init)
        }
    }

    /// A provider is asked for a press.
    ///
    /// - Returns: `false` if one was asked for it before.
    func askedForPress(_ operation: String) -> Bool { pressesAsked.insert(operation).inserted }

    func heard(_ bytes: [UInt8], client: Int, at time: Int64) {
        hash.combine(UInt64(truncatingIfNeeded: time) &* 31 &+ UInt64(client))
        hash.combine(bytes.span)
        byteCount += bytes.count
    }

    /// Notes a full row that a client was shown.
    ///
    /// - Returns: Whether the row is new, and its fault if it differs from an earlier one of this rev.
    func saw(_ body: [UInt8], of key: String, rev: Int64) -> (isNew: Bool, fault: String?) {
        let place = KeyRev(key: key, rev: rev)
        guard let known = bodies[place] else {
            bodies[place] = body
            return (true, nil)
        }
        guard known != body else { return (false, nil) }
        let (first, second) = (String(decoding: known, as: UTF8.self), String(decoding: body, as: UTF8.self))
        return (false, "two bodies of \(key) for rev \(rev): \(first) and \(second)")
    }
}

/// Checks every write of the daemon: its commits must be durable (P2), and a key has at most one row in it (bounds).
enum EmissionCheck {
    private static let mark = Array(" rev=".utf8)
    /// Milestones, and alerts, that wait for one subscription.
    private static let announcementLimit = 64

    static func check(_ bytes: [UInt8], limit: Int, world: World) {
        var newest: Int64 = 0
        var keys: Set<String> = []
        // By verb and subscription.
        var announcements: [String: Int] = [:]
        var start = 0
        while start < bytes.count {
            let head = readHead(of: bytes, from: start)
            newest = max(newest, head.rev)
            switch bytes[start] {
            case UInt8(ascii: "U"):
                let key = words(3, in: bytes[start..<head.end])
                if !keys.insert(key).inserted { world.violated("bounds", "one write has two rows of \(key)") }
            case UInt8(ascii: "M") where bytes[start + 1] == UInt8(ascii: "I"), UInt8(ascii: "A"):
                announcements[words(2, in: bytes[start..<head.end]), default: 0] += 1
            case _: break
            }
            start = (bytes[head.end...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count) + 1
        }
        if newest > world.daemon.disk.durableSequence {
            world.violated(
                "P2", "rev \(newest) is shown while the disk is at \(world.daemon.disk.durableSequence)")
        }
        if let most = announcements.values.max(), most > announcementLimit {
            world.violated("bounds", "\(most) milestones or alerts waited for one subscription")
        }
        if bytes.count > limit { world.violated("bounds", "one write has \(bytes.count) bytes") }
        world.ledger.newestSeen = max(world.ledger.newestSeen, newest)
    }

    /// The rev in a line's head, and where its tail or its end is.
    private static func readHead(of bytes: [UInt8], from start: Int) -> (rev: Int64, end: Int) {
        var rev: Int64 = 0
        var index = start
        while index < bytes.count, bytes[index] != UInt8(ascii: "\n"), bytes[index] != UInt8(ascii: "{") {
            if bytes[index] == UInt8(ascii: " "), bytes[index...].starts(with: mark) {
                rev = 0
                index += mark.count
                while index < bytes.count, (0x30...0x39).contains(bytes[index]) {
                    rev = rev &* 10 &+ Int64(bytes[index] &- 0x30)
                    index += 1
                }
            } else {
                index += 1
            }
        }
        return (rev, min(index, bytes.count))
    }

    /// The first words of a line: its verb, its subscription, its key.
    private static func words(_ count: Int, in head: ArraySlice<UInt8>) -> String {
        var spaces = 0
        let text = head.prefix { byte in
            if byte == UInt8(ascii: " ") { spaces += 1 }
            return spaces < count
        }
        return String(decoding: text, as: UTF8.self)
    }
}
