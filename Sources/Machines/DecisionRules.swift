internal import TelltaleStatechart

/// Which edition of the rules a history is decided by.
///
/// A replay computes each record again and compares, so a release that decides otherwise than the one before must not do so in
/// a history that has begun. The number is one of the journaled settings: a new history begins with the newest number, and a
/// running one gets it when an operator asks for it (`telltaled --rules`). A record replays by the number that was in force
/// before it.
public struct DecisionRules: Hashable, Comparable, Sendable {
    /// From 1.
    public let number: Int64

    /// Those of the releases that journaled no number.
    public static let first = DecisionRules(1)
    public static let newest = DecisionRules(2)

    private init(_ number: Int64) { self.number = number }

    /// - Returns: `nil` for a number that this release does not know.
    public init?(number: Int64) {
        guard (Self.first.number...Self.newest.number).contains(number) else { return nil }
        self.number = number
    }

    /// From rules 2 on, a region that defers an event is heard before the transitions around it.
    var deferral: Deferral { number < 2 ? .behindAnyTransition : .overOuterTransitions }

    /// From rules 2 on, what a press raises is for the account that pressed, unless the kind says otherwise.
    public var raisesForPresser: Bool { number >= 2 }

    public static func < (left: DecisionRules, right: DecisionRules) -> Bool { left.number < right.number }
}
