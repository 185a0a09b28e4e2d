import Model

/// What everybody has seen, and what of it cannot be.
final class Ledger {
    struct KeyRev: Hashable {
        var key: String
        var rev: Int64
    }

    var violations: [Violation] = []
    /// The full view of each key at each rev: there is only one (P3).
    var bodies: [KeyRev: JSONObject] = [:]
    /// The newest commit that anybody was told of (P2).
    var newestSeen: Int64 = 0
    /// What each `src/eid` did, as it was first acknowledged (P6).
    var effects: [String: Effect] = [:]
    /// Operations that a provider has said are done.
    var doneOperations: Set<String> = []
    /// What a provider reported of a control, and after which operation was asked for.
    var reportedKeys: Set<String> = []
    var rows = 0
    var folded = 0
    var resets = 0
    var resumes = 0
    /// Rows whose rev went back.
    var regressions = 0
    /// Operations of controls, and how they ended.
    var operations: [String: String] = [:]
    /// Where somebody wants to know it.
    var latency: LatencyBook?
    var verdicts: [String: Int] = [:]
    var errors: [String: Int] = [:]

    struct Effect {
        var key: String
        var verdict: String
        var rev: Int64
    }

    /// Of every byte that any client was given, with its time (P10).
    private(set) var hash = StableHash()
    private(set) var byteCount = 0

    func heard(_ bytes: [UInt8], client: Int, at time: Int64) {
        hash.combine(UInt64(truncatingIfNeeded: time) &* 31 &+ UInt64(client))
        hash.combine(bytes.span)
        byteCount += bytes.count
    }

    /// A full row, as somebody was shown it.
    ///
    /// - Returns: What is wrong with it.
    func saw(_ body: JSONObject, of key: String, rev: Int64) -> String? {
        let place = KeyRev(key: key, rev: rev)
        if let known = bodies[place] {
            return known == body
                ? nil : "two bodies of \(key) for rev \(rev): \(JSON.object(known)) and \(JSON.object(body))"
        }
        bodies[place] = body
        return nil
    }
}

/// What leaves the daemon must be durable by then (P2).
enum EmissionCheck {
    private static let mark = Array(" rev=".utf8)

    static func check(_ bytes: [UInt8], world: World) {
        let newest = newestRev(in: bytes)
        if newest > world.daemon.disk.durableSequence {
            world.violated(
                "P2", "rev \(newest) is shown while the disk is at \(world.daemon.disk.durableSequence)")
        }
        world.ledger.newestSeen = max(world.ledger.newestSeen, newest)
    }

    /// The newest rev in the heads of lines.
    private static func newestRev(in bytes: [UInt8]) -> Int64 {
        var newest: Int64 = 0
        var index = 0
        var isHead = true
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\n") {
                isHead = true
            } else if byte == UInt8(ascii: "{") {
                isHead = false
            } else if isHead, byte == UInt8(ascii: " "), bytes[index...].starts(with: mark) {
                index += mark.count
                var rev: Int64 = 0
                while index < bytes.count, (0x30...0x39).contains(bytes[index]) {
                    rev = rev &* 10 &+ Int64(bytes[index] &- 0x30)
                    index += 1
                }
                newest = max(newest, rev)
                continue
            }
            index += 1
        }
        return newest
    }
}
