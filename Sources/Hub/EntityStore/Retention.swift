internal import DequeModule
internal import TelltaleModel

/// A sample: at `wall` the newest record was `sequence`.
struct AgeMark: Hashable, Sendable {
    var sequence: Int64
    var wall: Timestamp
}

/// (wall time, sequence) samples, oldest first. Retention uses them to find the records older than a moment.
struct AgeMarks: Sendable {
    private var marks: Deque<AgeMark>

    private static let interval = Milliseconds.minutes(10)

    init(_ marks: [AgeMark] = []) {
        self.marks = Deque(marks)
    }

    var all: [AgeMark] { Array(marks) }

    /// Takes a sample, unless the newest one is younger than the interval.
    mutating func note(_ sequence: Int64, at wall: Timestamp) {
        if let last = marks.last, wall - last.wall < Self.interval { return }
        marks.append(AgeMark(sequence: sequence, wall: wall))
    }

    /// Drops the samples that are older than `retention` at `wall`.
    ///
    /// - Returns: The newest record among them; 0 = there was none.
    mutating func takePrunable(olderThan retention: Milliseconds, at wall: Timestamp) -> Int64 {
        var sequence: Int64 = 0
        while let oldest = marks.first, wall - oldest.wall > retention {
            sequence = oldest.sequence
            marks.removeFirst()
        }
        return sequence
    }
}

/// What retention has removed, and what it may remove next.
struct Retention: Sendable {
    /// A resume from before this sequence cannot be complete, because deletions were forgotten.
    private(set) var resumeFloor: Int64 = 0
    private(set) var ageMarks = AgeMarks()
    /// The last records of keys forgotten since ``takePrunedChains()``.
    private var prunedChains: [Int64] = []

    mutating func setResumeFloor(_ floor: Int64) { resumeFloor = floor }

    mutating func restore(resumeFloor: Int64, _ marks: [AgeMark]) {
        (self.resumeFloor, ageMarks) = (resumeFloor, AgeMarks(marks))
    }

    mutating func note(_ sequence: Int64, at wall: Timestamp) { ageMarks.note(sequence, at: wall) }

    mutating func endChain(at sequence: Int64) { prunedChains.append(sequence) }
    mutating func rollBack(to durable: Int64) { prunedChains.removeAll { $0 > durable } }

    mutating func takePrunedChains() -> [Int64] {
        defer { prunedChains = [] }
        return prunedChains
    }

    mutating func takePrunable(olderThan retention: Milliseconds, at wall: Timestamp) -> Int64 {
        ageMarks.takePrunable(olderThan: retention, at: wall)
    }
}
