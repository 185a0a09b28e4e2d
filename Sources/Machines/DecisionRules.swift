internal import TelltaleStatechart

/// The edition of the rules by which a history is decided.
///
/// A replay recomputes each record and compares the result. So a release that decides differently must not do so within an
/// existing history. The number is a journaled setting: a new history starts with the newest number, and an existing one gets it
/// when an operator requests it (`telltaled --rules`). A record is replayed by the number that was in force before it.
public struct DecisionRules: Hashable, Comparable, Sendable {
    /// From 1.
    public let number: Int64

    /// The edition of the releases that journaled no number.
    public static let first = DecisionRules(1)
    /// Rules 2 changed ``deferral``, ``raisesForPresser`` and ``keepsDismissers``.
    public static let newest = DecisionRules(2)

    private init(_ number: Int64) { self.number = number }

    /// - Returns: `nil` for a number unknown to this release.
    public init?(number: Int64) {
        guard (Self.first.number...Self.newest.number).contains(number) else { return nil }
        self.number = number
    }

    /// From rules 2 on, an activity keeps digests of the accounts that dismissed it beyond its marks.
    public var keepsDismissers: Bool { number >= 2 }

    /// From rules 2 on, a region that defers an event takes precedence over the transitions around it.
    var deferral: Deferral { number < 2 ? .behindAnyTransition : .overOuterTransitions }

    /// From rules 2 on, the event raised by a press is for the account that pressed, unless the kind says otherwise.
    public var raisesForPresser: Bool { number >= 2 }

    public static func < (left: DecisionRules, right: DecisionRules) -> Bool { left.number < right.number }
}
