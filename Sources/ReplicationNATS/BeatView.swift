internal import Replication
internal import TelltaleModel

/// The state of asking for the newest beat of each node, one question at a time.
struct BeatView {
    private var asked: MonotonicTime?
    /// Another node was heard meanwhile: it is asked again behind the answer.
    private var isDue = false
    /// Counts the questions: an answer to another one means nothing.
    private(set) var number: Int64 = 0
    /// The own beat that the answer under way has, and the newest one that any had.
    private var own: Int64?
    private var newestOwn = Int64.min
    /// The beats of other nodes in the answer under way.
    private var others: [Beat] = []

    /// Begins a question, or remembers that one is due.
    ///
    /// - Returns: Whether to ask now.
    mutating func begin(at now: MonotonicTime) -> Bool {
        guard asked == nil else {
            isDue = true
            return false
        }
        (asked, isDue, own, others) = (now, false, nil, [])
        number += 1
        return true
    }

    /// The answer has an own beat. A replica of the beats is a beginning of what is stored, so all that is stored before that
    /// one is in the answer too.
    mutating func shows(_ number: Int64) { own = number }

    mutating func has(_ beat: Beat) {
        guard others.count < Self.limit else { return }
        others.append(beat)
    }

    private static let limit = 64

    /// The answer has ended.
    ///
    /// - Returns: The beats of the others, the own one that was seen together with them, and whether another question is due. A replica that
    ///   is behind another one that has answered tells nothing: its beats may be of a process that is gone.
    mutating func ended(isWhole: Bool) -> (others: [Beat], own: Int64?, isDue: Bool) {
        defer { reset() }
        guard isWhole, let own, own >= newestOwn else { return ([], nil, isDue) }
        newestOwn = own
        return (others, own, isDue)
    }

    /// Nothing that was asked is answered any more.
    mutating func reset() { (asked, own, others) = (nil, nil, []) }

    func deadline(patience: Milliseconds) -> MonotonicTime? { asked.map { $0 + patience } }
}
