/// Reloads of a process, one at a time. All that are requested during one become a single reload after it.
public struct ReloadTurns: Sendable {
    private var isUnderWay = false
    private var isAskedAgain = false

    public init() {}

    /// A reload is asked for.
    ///
    /// - Returns: Whether it begins now.
    public mutating func ask() -> Bool {
        isAskedAgain = isUnderWay
        defer { isUnderWay = true }
        return !isUnderWay
    }

    /// The reload that was under way is done.
    ///
    /// - Returns: Whether another one begins now.
    public mutating func ended() -> Bool {
        isUnderWay = isAskedAgain
        isAskedAgain = false
        return isUnderWay
    }
}
